"""The corpus as numbers on disk: read once, then shuffled, resumed and shared between processes at will."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from polyseme.errors import FormatError
from polyseme.files.json_file import read_record
from polyseme.files.whole import reason
from polyseme.text.vocabulary import Vocabulary

BEGIN, END = 0, 1
"""The types of the sentence markers."""
WHOLE = "whole.json"
FORMS = "forms"
CHUNK = 1 << 20
"""Tokens looked at together."""


class WholeRecord(BaseModel):
    """The content of ``whole.json``; the text in the same folder is complete if this file exists."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    width: int = Field(ge=1)
    """Number of ids per word."""
    types: int = Field(ge=2)
    """Distinct words, with the two markers and those that only letter-case noise makes."""
    forms: bool = False
    """Whether there are types in other letter cases."""


@dataclass(frozen=True)
class TextPart:
    """Sentences as types (distinct words by number), markers included, memory-mapped."""

    types: NDArray[np.int32]
    """(N,) one sentence after the other."""
    starts: NDArray[np.int64]
    """(S + 1,) where each sentence begins, and the end."""

    @property
    def lengths(self) -> NDArray[np.int64]:
        """(S,) tokens of each sentence with its markers."""
        return np.diff(self.starts)

    @property
    def tokens(self) -> int:
        """Tokens without markers."""
        return len(self.types) - 2 * (len(self.starts) - 1)

    def sentence(self, number: int) -> NDArray[np.int32]:
        """The types of one sentence."""
        return self.types[self.starts[number] : self.starts[number + 1]]


@dataclass(frozen=True)
class TextSizes:
    """How much text there is, for people."""

    training_sentences: int
    training_tokens: int
    heldout_sentences: int
    heldout_tokens: int
    types: int
    """Distinct words."""
    vocabulary: int
    """Words to predict."""
    unknown_share: float
    """Of the training tokens that are not among them."""


@dataclass(frozen=True)
class TextStore:
    """A corpus that was counted and split."""

    training: TextPart
    heldout: TextPart
    characters: NDArray[np.int32]
    """(types, width) what the token encoder reads of each type."""
    outputs: NDArray[np.int64]
    """(types,) the output word of each type, that of <UNK> if it has none."""
    vocabulary: Vocabulary
    forms: NDArray[np.int32] | None = None
    """(types of the text, 3) the types of each word in lower case, in upper case and as in a title."""

    def sizes(self) -> TextSizes:
        """How much text there is."""
        unknown = sum(
            int((self.outputs[some] == self.vocabulary.unknown).sum()) for some in chunks(self.training.types)
        )
        return TextSizes(
            training_sentences=len(self.training.starts) - 1,
            training_tokens=self.training.tokens,
            heldout_sentences=len(self.heldout.starts) - 1,
            heldout_tokens=self.heldout.tokens,
            types=len(self.outputs if self.forms is None else self.forms),
            vocabulary=len(self.vocabulary),
            unknown_share=unknown / max(1, self.training.tokens),
        )


def is_whole(folder: Path) -> bool:
    """Whether a text was written to its end here."""
    return (folder / WHOLE).exists()


def open_store(folder: Path, vocabulary: Vocabulary, id_bounds: Sequence[int]) -> TextStore:
    """Open what `polyseme.train.lm.encode_text` wrote.

    Args:
        folder: Where it is.
        vocabulary: The words to predict.
        id_bounds: What each id that the token encoder reads of a word must be below.

    Raises:
        FormatError: A file is missing, truncated or damaged.
    """
    advice = f"delete {folder.parent} and begin again"
    record = read_record(folder / WHOLE, WholeRecord, advice=advice)
    try:
        outputs = np.fromfile(folder / "outputs", dtype=np.int64)
        characters = np.memmap(folder / "characters", dtype=np.int32, mode="r")
        parts = [open_part(folder, name) for name in ("training", "heldout")]
        forms = np.fromfile(folder / FORMS, dtype=np.int32).reshape(-1, 3) if record.forms else None
    except (OSError, ValueError) as error:  # numpy raises ValueError for an empty file
        raise FormatError(f"{folder}: the text is not as it was written ({reason(error)}); {advice}") from error
    words = record.types if forms is None else len(forms)
    sound = (
        len(outputs) == record.types
        and record.width == len(id_bounds)
        and len(characters) == record.types * record.width
        and _are_ids(characters.reshape(-1, record.width), id_bounds)
        and 0 <= int(outputs.min()) <= int(outputs.max()) < len(vocabulary)
        and all(_is_sound(part, words) for part in parts)
        and (forms is None or (words and 0 <= int(forms.min()) <= int(forms.max()) < record.types))
    )
    if not sound:
        raise FormatError(f"{folder}: the text is not as it was written; {advice}")
    return TextStore(parts[0], parts[1], characters.reshape(-1, record.width), outputs, vocabulary, forms)


def open_part(folder: Path, name: str) -> TextPart:
    """The sentences in ``NAME.types`` and ``NAME.starts``."""
    starts = np.fromfile(folder / f"{name}.starts", dtype=np.int64)
    if not len(starts) or starts[-1] == 0:
        return TextPart(np.empty(0, dtype=np.int32), starts)
    return TextPart(np.memmap(folder / f"{name}.types", dtype=np.int32, mode="r"), starts)


def chunks(types: NDArray[np.int32]) -> Iterator[NDArray[np.int32]]:
    """A long text in pieces."""
    return (types[start : start + CHUNK] for start in range(0, len(types), CHUNK))


def _are_ids(characters: NDArray[np.int32], bounds: Sequence[int]) -> bool:
    """Whether the token encoder has a row for every id of every word."""
    return all(int(some.min()) >= 0 and bool((some.max(axis=0) < bounds).all()) for some in chunks(characters))


def _is_sound(part: TextPart, types: int) -> bool:
    """Whether sentences follow each other to the end of the text, and every word is known."""
    starts = part.starts
    if len(starts) < 2 or starts[0] != 0 or starts[-1] != len(part.types) or int(starts.max()) > len(part.types):
        return False  # beyond the text: even the differences might overflow
    if bool((np.diff(starts) < 2).any()):
        return False
    return all(0 <= int(some.min()) <= int(some.max()) < types for some in chunks(part.types))


def pieces(part: TextPart, longest: int) -> TextPart:
    """The same text with sentences of more than ``longest`` tokens divided into pieces."""
    long = np.flatnonzero(part.lengths > longest)
    if not len(long):
        return part
    cuts = (part.starts[long + 1] - part.starts[long] - 1) // longest  # of each long sentence
    which = np.arange(1, int(cuts.sum()) + 1) - np.repeat(np.cumsum(cuts) - cuts, cuts)
    starts = np.append(part.starts, np.repeat(part.starts[long], cuts) + which * longest)
    starts.sort()
    return TextPart(part.types, starts)


def evenly(part: TextPart, tokens: int) -> Iterator[int]:
    """Sentences spread evenly over a part that together have about this many tokens, or all of them."""
    share = min(1.0, tokens / max(1, len(part.types)))
    count = len(part.starts) - 1
    wanted = max(1, round(count * share))
    return iter(dict.fromkeys(int(number) for number in np.linspace(0, count - 1, wanted).round()))
