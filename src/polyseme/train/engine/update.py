"""One update: the gradients of a group of batches, summed over the processes, and a step of the optimiser."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import numpy as np
import torch

from polyseme.errors import FormatError
from polyseme.files.whole import reason
from polyseme.train.engine.average import Average
from polyseme.train.engine.checkpoint import State
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Batch, Job
from polyseme.train.engine.optimizers import Optimizer, clip_norm
from polyseme.train.engine.row_gradient import RowGradient, sum_gradients
from polyseme.train.engine.settings import RunSettings


class NotFinite(Exception):  # noqa: N818 - it is no error for a user: the loop catches it and goes back
    """Loss, gradient or weights are infinite or not a number, or the loss has risen for long."""


@dataclass(frozen=True)
class Gradient:
    """The gradient of a group over all processes; that of the dense weights is in their ``grad``."""

    loss: float
    """Summed over the predictions."""
    predictions: int
    tokens: int
    rows: RowGradient | None


class Updater(Generic[Batch]):
    """Makes updates of a job's network.

    What is random in an update depends on the seed, the number of the update and the place of a batch in it alone, so
    that a resumed run continues as the unbroken one would, and several processes as one that computes all batches.
    """

    def __init__(self, job: Job[Batch], settings: RunSettings, world: World) -> None:
        self.job, self.settings, self.world = job, settings, world
        self.optimizer = Optimizer(job.network, settings, job.table, job.matrices, shares=job.rate_shares)
        self.average = Average([p for p in job.network.parameters() if p.requires_grad], settings.average)

    def gradient(self, batches: Sequence[Batch], *, update: int) -> Gradient:
        """The gradient of a group; each process computes its own batches and gets the sum of all."""
        settings, world, job = self.settings, self.world, self.job
        for parameter in self.optimizer.dense:
            parameter.grad = None
        job.begin_update(update)
        sums = np.zeros(3)  # loss, predictions, tokens
        rows: list[RowGradient] = []
        for number in range(world.rank, len(batches), world.size):
            # For dropout; by the place of the batch, so that it does not matter which process computes it.
            torch.manual_seed(int(np.random.SeedSequence([settings.seed, 2, update, number]).generate_state(1)[0]))
            with torch.autocast(world.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
                loss = job.loss(batches[number])
            (loss.total if loss.besides is None else loss.total + loss.besides).backward()
            if (own := loss.row_gradient()) is not None:
                rows.append(own)
            sums += loss.total.item(), loss.predictions, loss.tokens
        total, predictions, tokens = world.total(sums.tolist())
        if not math.isfinite(total):
            raise NotFinite(f"the loss became {total}")
        summed = world.reduce(self.optimizer.dense, sum_gradients(rows), by_rows=job.table is not None)
        return Gradient(total, int(predictions), int(tokens), summed)

    def step(self, gradient: Gradient, *, update: int, rate: float) -> None:
        """Clip the gradient of the mean loss and apply it; ``update`` counts those that were made before."""
        scale = self.job.loss_scale / max(1, gradient.predictions)
        norm = clip_norm(self.optimizer.dense, gradient.rows, scale=scale, limit=self.settings.clip)
        if not math.isfinite(norm):
            raise NotFinite(f"the norm of the gradient became {norm}")
        self.optimizer.step(rate, gradient.rows)
        self.average.add(update + 1)

    def check(self) -> None:
        """Refuse to save or to measure weights that are not finite."""
        if not self._is_finite():
            raise NotFinite("weights became infinite")

    def _is_finite(self) -> bool:
        return all(bool(torch.isfinite(parameter).all()) for parameter in self.job.network.parameters())

    def state(self) -> State:
        """Everything that is needed to continue."""
        return {
            "network": self.job.network.state_dict(),
            "optimizer": self.optimizer.state(),
            "average": self.average.state(),
            "job": self.job.state(),
        }

    def restore(self, state: State, *, where: str) -> None:
        """Continue from what `state` gave.

        Raises:
            FormatError: It is the state of another network, or damaged.
        """
        try:
            self.job.network.load_state_dict(state["network"])
            if not self._is_finite():
                raise ValueError("weights that hold NaN or infinity, which are never stored")
            self.optimizer.restore(state["optimizer"])
            self.average.restore(state["average"])
            self.job.restore(state["job"], self.world)
        except (LookupError, RuntimeError, ValueError, TypeError, AttributeError) as error:
            raise FormatError(
                f"{where}: does not belong to this run, or is damaged ({reason(error)[:200]}); begin again"
            ) from error
