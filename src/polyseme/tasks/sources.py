"""The vector sources of a task model: opened by name, and recognised again when the model is loaded."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from polyseme.embed.embedder import Embedder
from polyseme.embed.load import load
from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError
from polyseme.models.bilm import BiLM
from polyseme.models.model import Model, ModelPath
from polyseme.tasks.inputs import SourceShape

Rows = NDArray[np.int64]


class SourceRecord(BaseModel):
    """How the folder of a task model names a source."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    path: str | tuple[str, str]
    fingerprint: str
    static: bool
    layers: int
    dim: int
    rows: int = 0
    """Rows of a static source that learnt with the task."""
    tuned: bool = False
    """Whether it learnt with the task, and is in the folder of the model."""


@dataclass(frozen=True)
class TaskSource:
    """A vector source as a task uses it.

    Attributes:
        source: What gives the vectors.
        trained: The rows of a static table that learn with the task, ascending.
        tuned: Whether a contextual network learns with the task.
    """

    source: VectorSource
    trained: Rows | None = None
    tuned: bool = False

    def model(self) -> Model:
        """The contextual model behind it; refused for sources that cannot be tuned."""
        if isinstance(self.source, Embedder) and isinstance(self.source.model.network, BiLM):
            return self.source.model
        raise InputError(f"{self.source.name}: only a biLM can learn with the task; leave out --fine-tune")

    @property
    def is_static(self) -> bool:
        """Whether a word has one vector, whatever its context."""
        return isinstance(self.source, StaticVectors)

    def shape(self) -> SourceShape:
        """What the network is built for."""
        rows = 0 if self.trained is None else len(self.trained)
        return SourceShape(0 if self.is_static else self.source.layers, self.source.dim, rows)

    def record(self) -> SourceRecord:
        """What the folder of a model says of it."""
        path = self.source.path
        if path is None:
            raise InputError(
                f"{self.source!r}: was made in memory; save it and give its path, so that it is found again"
            )
        named = (str(path[0]), str(path[1])) if isinstance(path, tuple) else str(path)
        return SourceRecord(
            path=named,
            fingerprint=self.source.fingerprint(),
            static=self.is_static,
            layers=self.source.layers,
            dim=self.source.dim,
            rows=0 if self.trained is None else len(self.trained),
            tuned=self.tuned,
        )

    def vectors_of(self, words: Sequence[str]) -> tuple[NDArray[np.float32], Rows]:
        """The vectors of words in a static table (U, D), and which of the rows that learn each has, or -1: (U,)."""
        assert isinstance(self.source, StaticVectors)
        vectors = self.source.embed([words])[0]
        if self.trained is None or not len(self.trained):
            return vectors, np.full(len(words), -1, dtype=np.int64)
        rows = static_rows(self.source, words)
        place = np.searchsorted(self.trained, rows).clip(max=len(self.trained) - 1)
        return vectors, np.where(self.trained[place] == rows, place, -1)

    def with_trained(self, words: Iterable[str]) -> "TaskSource":
        """The source with those rows of its static table learning that these words have."""
        if not isinstance(self.source, StaticVectors):
            return self
        rows = static_rows(self.source, list(words))
        return replace(self, trained=np.unique(rows[rows >= 0]))

    def initial_rows(self) -> NDArray[np.float32]:
        """The vectors that the rows that learn begin with."""
        assert isinstance(self.source, StaticVectors)
        assert self.trained is not None
        rows: NDArray[np.float32] = self.source.table.matrix[self.trained]
        return rows


def static_rows(vectors: StaticVectors, words: Sequence[str]) -> Rows:
    """The row of each word in a static table; -1 for a word that is not in it."""
    found = (vectors.table.find(word, case_backoff=vectors.case_backoff) for word in words)
    return np.array([-1 if row is None else row for row in found], dtype=np.int64)


def open_sources(paths: Iterable[ModelPath | VectorSource]) -> list[TaskSource]:
    """Open vector sources of any known format."""
    return [TaskSource(path if isinstance(path, VectorSource) else load(path)) for path in paths]


def reopen(record: SourceRecord, path: ModelPath | None, *, where: str) -> VectorSource:
    """The source that a model was trained with.

    Args:
        record: How the model names it.
        path: Where it is now; by default where it was.
        where: The model, for messages.

    Raises:
        InputError: It is another one by now.
    """
    named: ModelPath = record.path if path is None else path
    if path is None and isinstance(named, str) and not Path(named).is_absolute() and Path(where, named).exists():
        named = Path(where, named)
    source = load(named)
    if not record.tuned and source.fingerprint() != record.fingerprint:
        raise InputError(
            f"{where}: was trained with the vectors {record.path} ({record.fingerprint}), but {named} holds others "
            f"now ({source.fingerprint()}); give the old ones with --vectors, or train again"
        )
    return source
