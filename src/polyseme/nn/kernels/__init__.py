"""Native kernels: C++ compiled on the machine it runs on and called on plain tensors; `nn.backend` says when."""
