"""The pairs as numbers on disk: read once, then opened by every process."""

from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict

from polyseme.errors import FormatError, OutputError
from polyseme.files.json_file import read_record
from polyseme.files.plain_zip import check_plain_zip
from polyseme.files.whole import reason, whole_file, write_json
from polyseme.models.static import WordVectors
from polyseme.text.choices import Tokenizer
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary

RECORD, ARRAYS = "pairs.json", "pairs.npz"
_ARRAYS = ("source", "source_starts", "target", "target_starts")


class PairRecord(BaseModel):
    """What ``pairs.json`` holds; the arrays beside it are whole if it exists."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    source_words: list[str]
    """Those that have a vector."""
    target_words: list[str]
    source_tokenize: Tokenizer | None
    target_tokenize: Tokenizer | None
    heldout_sources: list[list[str]]
    """The tokens of each held-out source sentence."""
    heldout_references: list[str]
    """The translation of each as it stands in the text."""


@dataclass(frozen=True)
class Pairs:
    """Sentences of both sides, one after the other, without markers."""

    source: NDArray[np.int32]
    """(N,) rows of the table of vectors, -1 for a word without one."""
    source_starts: NDArray[np.int64]
    """(S + 1,) where each sentence begins, and the end."""
    target: NDArray[np.int32]
    """(M,) words of the vocabulary."""
    target_starts: NDArray[np.int64]

    def __len__(self) -> int:
        return len(self.source_starts) - 1

    @property
    def source_lengths(self) -> NDArray[np.int64]:
        """(S,) source tokens of each pair."""
        return np.diff(self.source_starts)

    @property
    def target_lengths(self) -> NDArray[np.int64]:
        """(S,) target tokens of each pair."""
        return np.diff(self.target_starts)


@dataclass(frozen=True)
class PairStore:
    """Parallel text that was read and split."""

    training: Pairs
    heldout: Pairs
    heldout_sources: list[list[str]]
    heldout_references: list[str]
    table: WordVectors
    vocabulary: Vocabulary
    source: Segmentation
    target: Segmentation


def is_whole(folder: Path) -> bool:
    """Whether pairs were written to their end here."""
    return (folder / RECORD).exists()


def write_store(
    folder: Path, training: Pairs, heldout: Pairs, vectors: NDArray[np.float32], record: PairRecord
) -> None:
    """Write everything that `open_store` reads.

    Raises:
        OutputError: The system refused.
    """
    arrays = {f"{part}_{name}": getattr(pairs, name) for part, pairs in _parts(training, heldout) for name in _ARRAYS}
    try:
        folder.mkdir(parents=True, exist_ok=True)
        with whole_file(folder / ARRAYS) as temporary, temporary.open("wb") as file:
            np.savez(file, vectors=vectors, **arrays)
        write_json(folder / RECORD, record.model_dump())
    except OSError as error:
        raise OutputError(f"{folder}: the pairs could not be written ({reason(error)})") from error


def open_store(folder: Path) -> PairStore:
    """Open what `write_store` wrote.

    Raises:
        FormatError: A file is missing or damaged.
    """
    advice = f"delete {folder} and begin again"
    record = read_record(folder / RECORD, PairRecord, advice=advice)
    vocabulary = Vocabulary(record.target_words, where=str(folder / RECORD))
    try:
        "".join([*record.source_words, *record.target_words]).encode()
    except UnicodeEncodeError as error:  # half of a surrogate pair, as JSON can hold
        raise FormatError(f"{folder / RECORD}: a word that is no text ({reason(error)}); {advice}") from error
    try:
        check_plain_zip(folder / ARRAYS)
        with (folder / ARRAYS).open("rb") as file, np.load(file, allow_pickle=False) as arrays:
            table = WordVectors(record.source_words, arrays["vectors"])
            training, heldout = (
                Pairs(*(arrays[f"{part}_{name}"] for name in _ARRAYS)) for part in ("training", "heldout")
            )
    except Exception as error:  # numpy and zipfile raise almost anything on a damaged file
        raise FormatError(f"{folder / ARRAYS}: not as it was written ({reason(error)[:200]}); {advice}") from error
    sound = all(_is_sound(one, len(table.words), len(vocabulary)) for one in (training, heldout))
    if not sound or not len(heldout) == len(record.heldout_sources) == len(record.heldout_references):
        raise FormatError(f"{folder}: the pairs are not as they were written; {advice}")
    return PairStore(
        training,
        heldout,
        record.heldout_sources,
        record.heldout_references,
        table,
        vocabulary,
        Segmentation(record.source_tokenize),
        Segmentation(record.target_tokenize),
    )


def _parts(training: Pairs, heldout: Pairs) -> tuple[tuple[str, Pairs], tuple[str, Pairs]]:
    return ("training", training), ("heldout", heldout)


def _is_sound(pairs: Pairs, rows: int, words: int) -> bool:
    """Whether sentences follow each other to the end, none is empty, and every word is known."""
    arrays = [getattr(pairs, name) for name in _ARRAYS]  # numpy gives bytes for what is no array
    if not all(isinstance(one, np.ndarray) and one.dtype.kind == "i" and one.ndim == 1 for one in arrays):
        return False
    sides = ((pairs.source, pairs.source_starts, -1, rows), (pairs.target, pairs.target_starts, 0, words))
    return len(pairs.source_starts) == len(pairs.target_starts) > 1 and all(
        starts[0] == 0
        and starts[-1] == len(ids)
        and int(np.diff(starts).min()) > 0
        and least <= int(ids.min()) <= int(ids.max()) < most
        for ids, starts, least, most in sides
    )
