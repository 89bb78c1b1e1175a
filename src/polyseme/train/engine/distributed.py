"""Several processes that train one model: each computes its own batches, and all apply the sum of the gradients."""

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import nn

from polyseme.errors import InputError
from polyseme.train.engine.row_gradient import RowGradient

_TIMEOUT = timedelta(days=1)  # the first process reads the whole corpus while the others wait


@dataclass(frozen=True)
class World:
    """Which process this is, of how many."""

    rank: int = 0
    size: int = 1
    device: torch.device = field(default_factory=lambda: torch.device("cpu"))

    @property
    def first(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def wait(self) -> None:
        """Wait until all processes have reached this point."""
        if self.size > 1:
            dist.barrier()

    def total(self, numbers: Sequence[float]) -> list[float]:
        """The sum of each number over all processes."""
        if self.size == 1:
            return list(numbers)
        tensor = torch.tensor(numbers, dtype=torch.float64, device=self.device)
        dist.all_reduce(tensor)
        return [float(number) for number in tensor]

    def reduce(self, dense: Sequence[nn.Parameter], rows: RowGradient | None, *, by_rows: bool) -> RowGradient | None:
        """Sum all gradients over the processes, in place; gives the rows of all."""
        if self.size == 1:
            return rows
        if dense:  # none if only the rows of a sampled softmax are trained
            flat = torch.cat([(torch.zeros_like(p) if p.grad is None else p.grad).reshape(-1) for p in dense])
            dist.all_reduce(flat)
            for parameter, part in zip(dense, flat.split([p.numel() for p in dense]), strict=True):
                parameter.grad = part.reshape(parameter.shape)
        return self._reduce_rows(rows) if by_rows else None

    def _reduce_rows(self, own: RowGradient | None) -> RowGradient:
        """Every process first learns which rows the others have, then the sum over the union is made."""
        count = torch.tensor([0 if own is None else len(own.rows), 0 if own is None else own.weight.shape[1]])
        counts = [torch.zeros_like(count, device=self.device) for _ in range(self.size)]
        dist.all_gather(counts, count.to(self.device))
        longest, width = (max(int(c[i]) for c in counts) for i in (0, 1))
        padded = torch.full((longest,), -1, dtype=torch.int64, device=self.device)
        if own is not None:
            padded[: len(own.rows)] = own.rows
        everyone = [torch.empty_like(padded) for _ in range(self.size)]
        dist.all_gather(everyone, padded)
        union = torch.unique(torch.cat(everyone))
        union = union[union >= 0]
        both = torch.zeros(len(union), width + 1, device=self.device)
        if own is not None:
            both[torch.searchsorted(union, own.rows)] = torch.cat([own.weight, own.bias.unsqueeze(1)], dim=1)
        dist.all_reduce(both)
        return RowGradient(union, both[:, :-1].contiguous(), both[:, -1].contiguous())


@contextmanager
def world(device: str) -> Iterator[World]:
    """The processes that ``torchrun`` started, or this one alone."""
    size = int(os.environ.get("WORLD_SIZE", "1"))
    try:
        chosen = torch.device(device)
        if chosen.type == "cuda" and size > 1:
            chosen = torch.device("cuda", int(os.environ.get("LOCAL_RANK", "0")))
        torch.empty(0, device=chosen)
    except (RuntimeError, AssertionError) as error:
        raise InputError(f"device {device!r} cannot be used ({str(error).splitlines()[0]}); try cpu") from error
    if size == 1:
        yield World(device=chosen)
        return
    dist.init_process_group("nccl" if chosen.type == "cuda" else "gloo", timeout=_TIMEOUT)
    try:
        yield World(dist.get_rank(), size, chosen)
    finally:
        dist.destroy_process_group()
