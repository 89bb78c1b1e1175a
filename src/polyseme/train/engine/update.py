"""One update: the gradients of a group of batches, summed over the processes, and a step of the optimiser."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from polyseme.models.bilm import BiLM
from polyseme.nn.sampled_softmax import Negatives
from polyseme.train.engine.distributed import World
from polyseme.train.engine.optimizers import Optimizer, clip_norm, merge
from polyseme.train.lm.batches import Place, open_stream
from polyseme.train.lm.objective import Objective, RowGradient
from polyseme.train.lm.settings import Settings
from polyseme.train.lm.text_store import TextStore


class WentWrong(Exception):  # noqa: N818 - it says what happened; caught within the loop
    """Numbers are no longer finite, or the loss has risen for long: the run must go back."""


@dataclass(frozen=True)
class Gradient:
    """The gradient of a group, over all processes; that of the dense weights is in their ``grad``."""

    loss: float
    """Summed over the predictions of both directions."""
    predictions: int
    rows: RowGradient | None


class Updater:
    """Everything that learns: the network, what it is to predict, and its optimiser.

    What is random in an update comes from the seed, the number of the update and the place of a batch in it alone, so
    that a resumed run goes on as the unbroken one would, and several processes as one that computes all their batches.
    """

    def __init__(self, bilm: BiLM, store: TextStore, settings: Settings, world: World, *, kind: str) -> None:
        self.bilm, self.settings, self.world = bilm, settings, world
        self.sampled = kind == "sampled"
        self.words = len(store.vocabulary)
        self.stream = open_stream(store.training, settings, world.size * settings.accumulate)
        self.objective = Objective(bilm, store, dropout=settings.dropout, device=world.device)
        self.optimizer = Optimizer(bilm, settings, by_rows=self.sampled)

    def gradient(self, places: list[Place], *, update: int) -> Gradient:
        """The gradient of the group's batches; each process computes its own and gets the sum of all."""
        settings, world = self.settings, self.world
        negatives = None
        if self.sampled:  # the same for every process
            generator = np.random.default_rng([settings.seed, 1, update])
            negatives = Negatives.draw(settings.samples, self.words, generator)
        for parameter in self.optimizer.dense:
            parameter.grad = None
        total, predictions = 0.0, 0
        gradients: list[RowGradient] = []
        for number in range(world.rank, len(places), world.size):
            batch = self.stream.read(places[number])
            # For dropout; by the batch, so that it does not matter which process computes it.
            torch.manual_seed(int(np.random.SeedSequence([settings.seed, 2, update, number]).generate_state(1)[0]))
            with torch.autocast(world.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
                loss = self.objective(batch, negatives)
            loss.total.backward()
            if (rows := loss.row_gradient()) is not None:
                gradients.append(rows)
            total += loss.total.item()
            predictions += loss.predictions
        total, summed = world.total([total, predictions])
        if not math.isfinite(total):
            raise WentWrong(f"the loss became {total}")
        return Gradient(total, int(summed), world.reduce(self.optimizer.dense, merge(gradients), by_rows=self.sampled))

    def step(self, gradient: Gradient, *, rate: float) -> None:
        """Clip the gradient of the mean loss and apply it."""
        # The original recipe differentiates the loss of a row's steps, which Adagrad's first accumulator feels.
        steps = self.settings.steps_a_row if self.settings.optimizer == "adagrad" else 1
        scale = steps / max(1, gradient.predictions)
        norm = clip_norm(self.optimizer.dense, gradient.rows, scale=scale, limit=self.settings.clip)
        if not math.isfinite(norm):
            raise WentWrong(f"the norm of the gradient became {norm}")
        self.optimizer.step(rate, gradient.rows)

    def check(self) -> None:
        """Refuse to save or to measure weights that are not finite."""
        if not all(bool(torch.isfinite(parameter).all()) for parameter in self.bilm.parameters()):
            raise WentWrong("weights became infinite")

    def state(self) -> dict[str, Any]:
        """Everything to go on from."""
        return {
            "model": self.bilm.state_dict(),
            "optimizer": self.optimizer.state(),
            "carried": self.objective.carried,
        }

    def restore(self, state: dict[str, Any]) -> None:
        """Go on from a state; only the first process's rows keep what they have read."""
        self.bilm.load_state_dict(state["model"])
        self.optimizer.restore(state["optimizer"])
        self.objective.carried = _moved(state["carried"], self.world.device) if self.world.first else {}


def _moved(value: Any, device: torch.device) -> Any:
    """Nested containers of tensors on another device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: _moved(one, device) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_moved(one, device) for one in value)
    return value
