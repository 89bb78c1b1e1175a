"""How many threads the kernels use."""

import torch

_chosen: int | None = None


def threads() -> int:
    """The number that was set, or as many as torch uses."""
    return torch.get_num_threads() if _chosen is None else _chosen


def set_threads(number: int | None) -> None:
    """Set the number of threads of the kernels, None for as many as torch uses; results do not depend on it."""
    global _chosen
    _chosen = number
