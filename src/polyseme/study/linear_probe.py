"""Softmax regressions on the layers of a model, trained together."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

from polyseme.arrays import HalfVectors, Numbers
from polyseme.progress import Watcher

_EPOCHS = 10
_BATCH = 512
_FEWEST_STEPS = 1000  # so that few words are learnt as well
_RATE = 0.01
_SHRINKAGE = 1e-4  # of the average variance, at least, so that directions in which nothing varies are not blown up
_ROWS = 1 << 13  # converted at a time in a loop over all rows


class LinearProbes:
    """One linear classifier per layer, and one for the mean of all layers.

    Shapes: N words, L layers, K = L + 1 probes (the mean is last), D dim, C classes.

    Args:
        weight: (K, D, C)
        bias: (K, 1, C)
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight = weight
        self._bias = bias

    @classmethod
    def fit(
        cls, vectors: HalfVectors, labels: Numbers, classes: int, *, seed: int = 1, watcher: Watcher | None = None
    ) -> "LinearProbes":
        """Train by Adam for a fixed number of passes, the rate falling to zero.

        The numbers of a vector vary together (along one direction some 50,000 times as much as along another), which
        makes gradient descent slow, so vectors are made uncorrelated first: a linear map, part of the weights then.

        Args:
            vectors: (N, L, D)
            labels: (N,) from 0 to C - 1.
            classes: C
            seed: Of the order in which the words are used.
            watcher: Is told how the stage "training the probes" goes.
        """
        watcher = watcher or Watcher()
        watcher.begin("training the probes")
        mean, whiten = _whitening(vectors)  # (K, 1, D), (K, D, D)
        weight = torch.zeros(len(mean), mean.shape[2], classes, requires_grad=True)
        bias = torch.zeros(len(mean), 1, classes, requires_grad=True)
        # Adam scales each weight by itself, so that what one probe learns does not depend on the others.
        optimizer = torch.optim.Adam([weight, bias], lr=_RATE)
        steps = _passes(len(vectors)) * math.ceil(len(vectors) / _BATCH)
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=steps)
        for step, rows in enumerate(_batches(len(vectors), seed), 1):
            # The weights are mapped rather than the vectors: there are fewer classes than vectors in a batch.
            logits = torch.baddbmm(bias, _with_mean(vectors[rows]) - mean, whiten @ weight)  # (K, B, C)
            targets = torch.from_numpy(labels[rows]).expand(len(logits), -1)
            loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            watcher.step(step / steps, {"batches": step, "loss": loss.item()})
        with torch.no_grad():
            mapped = whiten @ weight
            return cls(mapped, bias - mean @ mapped)

    @torch.inference_mode()
    def predict(self, vectors: NDArray[np.floating]) -> Numbers:
        """The class of each word by each probe: (n, L, D) to (K, n)."""
        best: Numbers = torch.baddbmm(self._bias, _with_mean(vectors), self._weight).argmax(dim=2).numpy()
        return best


def _batches(words: int, seed: int) -> Iterator[Numbers]:
    """The rows of every batch of every pass."""
    draw = np.random.default_rng(seed)
    for _ in range(_passes(words)):
        yield from np.array_split(draw.permutation(words), math.ceil(words / _BATCH))


def _passes(words: int) -> int:
    """How often all words are used: more often if they are few."""
    return max(_EPOCHS, math.ceil(_FEWEST_STEPS / math.ceil(words / _BATCH)))


def _with_mean(vectors: NDArray[np.floating]) -> Tensor:
    """Vectors (n, L, D) by probe, (K, n, D)."""
    layers = torch.from_numpy(vectors.astype(np.float32)).transpose(0, 1)
    return torch.cat([layers, layers.mean(dim=0, keepdim=True)])


def _whitening(vectors: HalfVectors) -> tuple[Tensor, Tensor]:
    """The mean (K, 1, D) of the vectors of each probe, and a map (K, D, D) after which they are uncorrelated.

    In few words most directions do not vary although they would in others: the fewer words there are beside D, the
    more of the average variance is added to all, until the map hardly changes anything.
    """
    mean = torch.zeros((), dtype=torch.float64)
    for part in _parts(vectors):
        mean = mean + part.sum(dim=1, keepdim=True, dtype=torch.float64) / len(vectors)
    centre = mean.float()
    covariance = torch.zeros((), dtype=torch.float64)
    for part in _parts(vectors):
        covariance = covariance + ((part - centre).transpose(1, 2) @ (part - centre)).double() / len(vectors)
    variance, directions = torch.linalg.eigh(covariance)  # (K, D), (K, D, D)
    shrinkage = max(_SHRINKAGE, min(1.0, (variance.shape[1] / len(vectors)) ** 2))
    least = (shrinkage * variance.mean(dim=1, keepdim=True)).clamp(min=1e-12)
    return centre, (directions * (variance.clamp(min=0) + least).rsqrt()[:, None]).float()


def _parts(vectors: HalfVectors) -> Iterator[Tensor]:
    return (_with_mean(vectors[start : start + _ROWS]) for start in range(0, len(vectors), _ROWS))
