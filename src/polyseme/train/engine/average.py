"""Averaged weights: a mean over the last part of a run, which predicts better than the weights of any one update.

The mean is over the weights after every `EVERY`-th update. At each such moment t = 1, 2, ... the weights enter with the
share (e + 1) / (t + e), so that a moment's share of the mean grows as about the e-th power of its number (Shamir and
Zhang 2013). Whatever the length of the run, the mean is then as old as that over the last share s of the updates made
so far, with e = 2 / s - 2: no end has to be known, and the mean is right at every evaluation.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from polyseme.train.engine.checkpoint import State

EVERY = 8
"""Updates between two moments: the weights of neighbouring updates are almost the same, and reading all costs time."""


class Average:
    """The averaged weights of some parameters, beside the ones that are trained.

    Args:
        parameters: Those that learn.
        share: Of the updates so far, the last ones, over which about is averaged; 0 for no average.
    """

    def __init__(self, parameters: Sequence[nn.Parameter], share: float) -> None:
        self.parameters = list(parameters) if share else []
        self._exponent = 2 / share - 2 if share else 0.0
        self._moments = 0
        self._means: list[Tensor] = []

    @torch.no_grad()
    def add(self, update: int) -> None:
        """Let the weights after an update (counted from 1) enter the mean, if it is their turn."""
        if not self.parameters or update % EVERY:
            return
        self._moments += 1
        if not self._means:
            self._means = [parameter.detach().clone() for parameter in self.parameters]
            return
        own = (self._exponent + 1) / (self._moments + self._exponent)
        for mean, parameter in zip(self._means, self.parameters, strict=True):
            mean.lerp_(parameter, own)

    @contextmanager
    def in_place(self) -> Iterator[None]:
        """The parameters have their averaged values inside, and those of training again after."""
        self._exchange()
        try:
            yield
        finally:
            self._exchange()

    @torch.no_grad()
    def _exchange(self) -> None:
        for mean, parameter in zip(self._means, self.parameters, strict=bool(self._means)):
            trained = parameter.detach().clone()
            parameter.copy_(mean)
            mean.copy_(trained)

    def state(self) -> State:
        """Everything that is needed to continue."""
        return {"moments": self._moments, "means": self._means}

    def restore(self, state: State) -> None:
        """Continue from what `state` gave."""
        self._moments = int(state["moments"])
        means = zip(state["means"], self.parameters, strict=bool(state["means"]))
        self._means = [torch.empty_like(parameter).copy_(mean) for mean, parameter in means]
