"""What the writer and the formats tell each other. Shapes: L layers, T tokens, D dim, S sentences."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
import numpy.typing as npt


@dataclass(frozen=True, slots=True)
class Record:
    """One embedded sentence.

    Attributes:
        tokens: The sentence, T strings.
        vectors: (L, T, D) all layers, (T, D) one layer or a mix of them, or (D,) one vector for the sentence.
        name: What the input calls the sentence: a FASTA identifier, a CoNLL-U `sent_id`.
    """

    tokens: Sequence[str]
    vectors: npt.NDArray[np.floating]
    name: str | None = None


@dataclass(frozen=True, slots=True)
class Part:
    """A whole file of the sentences `first` to `stop - 1`."""

    first: int
    stop: int
    path: Path


class Format(Protocol):
    """A kind of file. Both methods write a new file at `path` and leave its name and its safety to the caller."""

    @property
    def single_part_is_whole(self) -> bool:
        """Whether a run's only part is, as it stands, the file that `merge` would make of it."""

    def write_part(self, path: Path, first: int, records: Sequence[Record]) -> None:
        """Write a few records, at least one, as a file of its own; `first` is the number of the first."""

    def merge(self, path: Path, parts: Sequence[Part]) -> None:
        """Write one file of all parts, which may be none, holding no more than one part in memory."""
