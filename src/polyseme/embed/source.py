"""What turns sentences into arrays, whatever is behind it: a contextual network, or a table of static vectors.

Indexes, studies and tasks are written against `VectorSource`, so that every source can be used everywhere.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from polyseme.embed.choices import POOLS, Pool
from polyseme.embed.layers import LayerChoice
from polyseme.errors import InputError
from polyseme.models.model import ModelPath
from polyseme.nn.kernels.packed import Precision

Vectors = NDArray[np.float32]
Item = TypeVar("Item")


class VectorSource(ABC):
    """Gives every token of every sentence its vectors.

    Attributes:
        layers: The number of layers, L; static vectors have one.
        dim: The length D of a vector.
        precision: The number type that vectors are computed in.
        stateful: Whether vectors depend on what was embedded before.
        path: Where to find it again, as `polyseme.load` takes it; None if it came from no file.
    """

    layers: int
    dim: int
    precision: Precision
    stateful: bool
    path: ModelPath | None

    @abstractmethod
    def stream(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """The vectors of every token, lazily: reads a little ahead and holds a bounded number of tokens.

        Args:
            sentences: Lists of tokens.
            layers: ``"all"``, ``"mean"``, ``"top"``, the number of a layer, or a `ScalarMix`.

        Yields:
            One float32 array per sentence, in input order: (L, T, D) for ``"all"``, else (T, D).
        """

    @abstractmethod
    def fingerprint(self) -> str:
        """A short checksum: sources with the same one give the same vectors."""

    @property
    def name(self) -> str:
        """What to call this source in messages: the last part of its path."""
        path = self.path[-1] if isinstance(self.path, tuple) else self.path
        return type(self).__name__ if path is None else Path(path).name

    def embed(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "all") -> list[Vectors]:
        """The vectors of every token; as `stream`, in a list."""
        return list(self.stream(sentences, layers=layers))

    def embed_sentences(
        self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "mean", pool: Pool = "mean"
    ) -> Vectors:
        """One vector per sentence, from its own tokens only.

        Args:
            sentences: Lists of tokens; a sentence without tokens gets zeros.
            layers: As in `stream`, but not ``"all"``.
            pool: Mean or maximum over tokens.

        Returns:
            (S, D)
        """
        if isinstance(layers, str) and layers == "all":
            raise InputError(
                "one vector per sentence is made of one layer or mix; choose 'mean', 'top' or a layer's number"
            )
        rows = [pool_tokens(array, pool) for array in self.stream(sentences, layers=layers)]
        return np.stack(rows) if rows else np.zeros((0, self.dim), dtype=np.float32)

    def stream_with(
        self, items: Iterable[Item], tokens: Callable[[Item], Sequence[str]], *, layers: LayerChoice
    ) -> Iterator[tuple[Item, Vectors]]:
        """Every item with the vectors of its sentence, in input order; items wait while the source reads ahead.

        Args:
            items: Anything that holds a sentence.
            tokens: The sentence of an item.
            layers: As in `stream`.
        """
        waiting: deque[Item] = deque()

        def sentences() -> Iterator[Sequence[str]]:
            for item in items:
                waiting.append(item)
                yield tokens(item)

        for vectors in self.stream(sentences(), layers=layers):
            yield waiting.popleft(), vectors


def pool_tokens(vectors: Vectors, pool: Pool) -> Vectors:
    """One vector from the vectors of the tokens: (T, D) to (D,), zeros if there is no token."""
    check_pool(pool)
    if not len(vectors):
        return np.zeros(vectors.shape[1], dtype=np.float32)
    pooled: Vectors = vectors.mean(axis=0) if pool == "mean" else vectors.max(axis=0)
    return pooled


def check_pool(pool: Pool) -> None:
    """Refuse an unknown way to make one vector per sentence."""
    if pool not in POOLS:
        raise InputError(f"unknown pool {pool!r}; expected {' or '.join(map(repr, POOLS))}")


def check_position(sentence: Sequence[str], position: int) -> None:
    """Refuse a position that is not in the sentence."""
    if not isinstance(position, int | np.integer):
        raise InputError(f"position is {position!r}, expected the number of a token, from 0")
    if not 0 <= position < len(sentence):
        raise InputError(f"position {position} is not in the sentence of {len(sentence)} tokens; count from 0")
