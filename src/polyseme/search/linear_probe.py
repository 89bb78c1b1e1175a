"""Softmax regressions on the layers of a biLM, trained side by side."""

import math

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional

_EPOCHS = 10
_BATCH = 1024
_FEWEST_STEPS = 500  # so that a few sentences are learnt as well
_RATE = 0.01
_ROWS = 1 << 13  # converted at a time where all rows are gone through

HalfVectors = NDArray[np.float16]


class LinearProbes:
    """One linear classifier a layer, and one of the mean of all layers.

    Shapes: N words, L layers, K = L + 1 probes (the mean is last), D dim, C classes.

    Args:
        weight: (K, D, C)
        bias: (K, 1, C)
    """

    def __init__(self, weight: Tensor, bias: Tensor) -> None:
        self._weight = weight
        self._bias = bias

    @classmethod
    def fit(cls, vectors: HalfVectors, labels: NDArray[np.int64], classes: int, *, seed: int = 1) -> "LinearProbes":
        """Train by Adam on standardised vectors for a fixed number of passes, the rate falling to zero.

        Args:
            vectors: (N, L, D)
            labels: (N,) from 0 to C - 1.
            classes: C
            seed: Of the order in which the words are gone through.
        """
        mean, deviation = _moments(vectors)  # (K, 1, D) each
        weight = torch.zeros(len(mean), mean.shape[2], classes, requires_grad=True)
        bias = torch.zeros(len(mean), 1, classes, requires_grad=True)
        # Adam scales each weight by itself, so that what one probe learns does not depend on the others.
        optimizer = torch.optim.Adam([weight, bias], lr=_RATE)
        batches = math.ceil(len(vectors) / _BATCH)
        epochs = max(_EPOCHS, math.ceil(_FEWEST_STEPS / batches))
        schedule = torch.optim.lr_scheduler.LinearLR(optimizer, 1.0, 0.0, total_iters=epochs * batches)
        draw = np.random.default_rng(seed)
        for _ in range(epochs):
            for rows in np.array_split(draw.permutation(len(vectors)), batches):
                features = (_with_mean(vectors[rows]) - mean) / deviation  # (K, B, D)
                logits = torch.baddbmm(bias, features, weight)  # (K, B, C)
                targets = torch.from_numpy(labels[rows]).expand(len(logits), -1)
                loss = functional.cross_entropy(logits.flatten(0, 1), targets.flatten())
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                schedule.step()
        with torch.no_grad():  # the scaling becomes part of the weights
            scaled = weight / deviation.transpose(1, 2)
            return cls(scaled, bias - mean @ scaled)

    @torch.inference_mode()
    def predict(self, vectors: NDArray[np.floating]) -> NDArray[np.int64]:
        """The class of each word by each probe: (n, L, D) to (K, n)."""
        best: NDArray[np.int64] = torch.baddbmm(self._bias, _with_mean(vectors), self._weight).argmax(dim=2).numpy()
        return best


def _with_mean(vectors: NDArray[np.floating]) -> Tensor:
    """Vectors (n, L, D) by probe, (K, n, D)."""
    layers = torch.from_numpy(vectors.astype(np.float32)).transpose(0, 1)
    return torch.cat([layers, layers.mean(dim=0, keepdim=True)])


def _moments(vectors: HalfVectors) -> tuple[Tensor, Tensor]:
    """Mean and standard deviation of each number, (K, 1, D); 1 where a number is always the same."""
    parts = [_with_mean(vectors[start : start + _ROWS]).double() for start in range(0, len(vectors), _ROWS)]
    mean = sum((part.sum(dim=1, keepdim=True) for part in parts), torch.zeros(())) / len(vectors)
    square = sum(((part - mean).square().sum(dim=1, keepdim=True) for part in parts), torch.zeros(())) / len(vectors)
    return mean.float(), torch.where(square > 0, square.sqrt(), 1.0).float()
