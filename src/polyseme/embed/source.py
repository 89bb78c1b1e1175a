"""What turns sentences into arrays, whatever is behind it: a contextual network, or a table of static vectors.

Indexes, studies and tasks are written against `VectorSource`, so that every source can be used everywhere.
"""

from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeVar

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.choices import POOLS, Pool
from polyseme.embed.inputs import Sentences, token_lists
from polyseme.embed.layers import LayerChoice
from polyseme.errors import InputError
from polyseme.models.model import ModelPath
from polyseme.nn.choices import Precision
from polyseme.text.segmentation import Segmentation

Item = TypeVar("Item")


class VectorSource(ABC):
    """Gives every token of every sentence its vectors.

    Attributes:
        layers: The number of layers, L; static vectors have one.
        dim: The length D of a vector.
        precision: The number type that vectors are computed in.
        stateful: Whether vectors depend on what was embedded before.
        segmentation: How raw text is tokenised for it: as the text was that it learnt from.
        path: Where to find it again, as `polyseme.load` takes it; None if it came from no file.
    """

    layers: int
    dim: int
    precision: Precision
    stateful: bool
    segmentation: Segmentation
    path: ModelPath | None

    @abstractmethod
    def stream(self, sentences: Sentences, *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """The vectors of every token, lazily: reads a little ahead and holds a bounded number of tokens.

        Args:
            sentences: Lists of tokens; or one raw text, which is tokenised as in `tokenize`.
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

    def tokenize(self, text: str) -> list[list[str]]:
        """The sentences of a raw text, each a list of tokens, as the text was tokenised that the source learnt from.

        If that is not recorded (a published model), a line is a sentence and tokens are separated by spaces.
        """
        if not isinstance(text, str):
            raise InputError(f"text is a {type(text).__name__}, expected one string of raw text")
        return list(map(list, token_lists(text, self.segmentation)))

    def embed(self, sentences: Sentences, *, layers: LayerChoice = "all") -> list[Vectors]:
        """The vectors of every token; as `stream`, in a list."""
        return list(self.stream(sentences, layers=layers))

    def embed_sentences(self, sentences: Sentences, *, layers: LayerChoice = "mean", pool: Pool = "mean") -> Vectors:
        """One vector per sentence, from its own tokens only.

        Args:
            sentences: Lists of tokens, of which one without tokens gets zeros; or one raw text.
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
