"""The spaces in which senses are compared: single layers, their mean, and whitened layers."""

from dataclasses import dataclass

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.index.vectors import unit
from polyseme.index.whitening import SpreadWithinWords, Whitening
from polyseme.study.sense_data import Lexeme
from polyseme.study.sense_occurrences import Occurrences

_ROWS = 1 << 13  # converted to float32 at a time


@dataclass(frozen=True)
class LayerSpace:
    """One layer, or several side by side, as unit vectors.

    Attributes:
        name: As it is reported.
        layers: Which.
        whitening: Maps them first; fitted on the same layers.
    """

    name: str
    layers: tuple[int, ...]
    whitening: Whitening | None = None

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors (N, L, D) to (N, D')."""
        rows = _side_by_side(vectors, self.layers)
        return unit(rows) if self.whitening is None else self.whitening(rows)


@dataclass(frozen=True)
class MeanSpace:
    """The mean of all layers."""

    name: str = "mean of layers"
    whitening: None = None

    def __call__(self, vectors: Vectors) -> Vectors:
        """Vectors (N, L, D) to (N, D)."""
        return unit(vectors.mean(axis=1))


def spaces(known: Occurrences, rows: Numbers, *, whiten: bool) -> list[LayerSpace | MeanSpace]:
    """Every layer, the mean of all and, whitened, every layer and the upper two side by side.

    Args:
        known: Occurrences with senses.
        rows: Those that whitening is fitted on.
        whiten: Whether there are whitened spaces.
    """
    layers = range(known.vectors.shape[1])
    plain: list[LayerSpace | MeanSpace] = [*(LayerSpace(f"layer {layer}", (layer,)) for layer in layers), MeanSpace()]
    if not whiten:
        return plain
    upper = [tuple(layers[-2:])] if len(layers) > 1 else []
    return [*plain, *(_whitened(known, rows, some) for some in [*((layer,) for layer in layers), *upper])]


def _whitened(known: Occurrences, rows: Numbers, layers: tuple[int, ...]) -> LayerSpace:
    lexemes: dict[Lexeme, int] = {}
    numbers = np.array([lexemes.setdefault(known.tags[row].lexeme, len(lexemes)) for row in rows])
    spread = SpreadWithinWords(len(lexemes), len(layers) * known.vectors.shape[2])
    for start in range(0, len(rows), _ROWS):
        some = known.vectors[rows[start : start + _ROWS]].astype(np.float32)
        spread.add(_side_by_side(some, layers), numbers[start : start + _ROWS])
    name = f"layer {layers[0]}" if len(layers) == 1 else f"layers {' and '.join(map(str, layers))}"
    return LayerSpace(f"{name}, whitened", layers, spread.whitening())


def _side_by_side(vectors: Vectors, layers: tuple[int, ...]) -> Vectors:
    """Some layers of vectors (N, L, D) as (N, len(layers) * D)."""
    return np.concatenate([vectors[:, layer] for layer in layers], axis=1)
