"""Native kernels: C++ compiled on the machine it runs on, called with plain tensors; `nn.backend` decides when."""
