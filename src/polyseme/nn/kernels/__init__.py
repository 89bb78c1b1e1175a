"""Native kernels: C++ compiled on the machine it runs on, called on plain tensors; torch serves where they cannot."""
