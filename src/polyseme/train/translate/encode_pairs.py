"""From parallel text to numbers: tokenised, split, words counted, and written for every process."""

from array import array
from collections.abc import Iterable
from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.models.static import WordVectors
from polyseme.models.translation import source_ids
from polyseme.progress import TokenCounter, Watcher
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE
from polyseme.text.parallel import Pair, ParallelText, tokens_of
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import UNKNOWN, Vocabulary
from polyseme.train.translate.pair_store import Pairs

_MARKERS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)


@dataclass
class SideText:
    """One side of the pairs as types: distinct words by number."""

    types: dict[str, int]
    ids: "array[int]" = field(default_factory=lambda: array("i"))
    starts: "array[int]" = field(default_factory=lambda: array("q", [0]))
    sentences: list[int] = field(default_factory=list)
    """The number of each sentence; equal ones have equal numbers."""

    def add(self, tokens: list[str], numbers: dict[bytes, int]) -> None:
        """Append a sentence."""
        some = array("i", (self.types.setdefault(token, len(self.types)) for token in tokens))
        self.ids.extend(some)
        self.starts.append(len(self.ids))
        self.sentences.append(numbers.setdefault(some.tobytes(), len(numbers)))

    def part(self, chosen: NDArray[np.bool_]) -> tuple[NDArray[np.int32], NDArray[np.int64]]:
        """Types and starts of some of the sentences."""
        starts = np.array(self.starts, dtype=np.int64)
        lengths = np.diff(starts)
        ids = np.array(self.ids, dtype=np.int32)[np.repeat(chosen, lengths)]
        return ids, np.concatenate([[0], np.cumsum(lengths[chosen])])


@dataclass
class ReadPairs:
    """Pairs as types, and which of the text they are."""

    source: SideText
    target: SideText
    numbers: list[int] = field(default_factory=list)
    """The place of each pair in the text, counted from 0, those that were left out included."""

    def __len__(self) -> int:
        return len(self.numbers)


class PairReader:
    """Reads parallel texts that share their types.

    Args:
        source: How the source side is tokenised.
        target: The same for the target side.
        max_length: Pairs with a longer side are left out.
        watcher: Is told how it goes, and what was left out.
    """

    def __init__(self, source: Segmentation, target: Segmentation, *, max_length: int, watcher: Watcher) -> None:
        self.segmentations = source, target
        self.max_length, self.watcher = max_length, watcher
        self.types: tuple[dict[str, int], dict[str, int]] = ({}, {})
        self.sentences: tuple[dict[bytes, int], dict[bytes, int]] = ({}, {})

    def read(self, text: ParallelText) -> ReadPairs:
        """Every pair of a text that can be used.

        Raises:
            InputError: There is none.
        """
        read = ReadPairs(SideText(self.types[0]), SideText(self.types[1]))
        empty, long = _LeftOut("an empty side"), _LeftOut(f"a side of more than {self.max_length} tokens")
        counter = TokenCounter(self.watcher, f"reading {text}")
        for number, pair in enumerate(text):
            source, target = self.tokens(pair)
            if not source or not target:
                empty.add(pair)
            elif max(len(source), len(target)) > self.max_length:
                long.add(pair)
            else:
                read.source.add(source, self.sentences[0])
                read.target.add(target, self.sentences[1])
                read.numbers.append(number)
            counter.add(len(source) + len(target), None)
        for left_out in (empty, long):
            if left_out.count:
                self.watcher.note(str(left_out))
        if text.repairs:
            self.watcher.note(f"{text}: {text.repairs}")
        if not read.numbers:
            raise InputError(
                f"{text}: no pair with tokens on both sides, of at most {self.max_length}; give parallel text"
            )
        return read

    def tokens(self, pair: Pair) -> tuple[list[str], list[str]]:
        """The tokens of both sides."""
        source, target = self.segmentations
        return tokens_of(source, pair.source), tokens_of(target, pair.target)


class _LeftOut:
    """Pairs that are left out for one reason."""

    def __init__(self, why: str) -> None:
        self.why, self.count, self.first = why, 0, ""

    def add(self, pair: Pair) -> None:
        self.count, self.first = self.count + 1, self.first or pair.place

    def __str__(self) -> str:
        pairs = "1 pair" if self.count == 1 else f"{self.count:,} pairs"
        return f"{pairs} with {self.why} left out, the first at {self.first}"


def make_vocabulary(types: Iterable[str], ids: NDArray[np.int32], *, size: int, min_count: int) -> Vocabulary:
    """The markers, then the most frequent words; of equally frequent ones those that came first."""
    words = list(types)
    counts = np.bincount(ids, minlength=len(words))
    order = np.argsort(-counts, kind="stable").tolist()
    room = max(0, size - len(_MARKERS))
    kept = [words[number] for number in order if counts[number] >= min_count and words[number] not in _MARKERS]
    return Vocabulary([*_MARKERS, *kept[:room]])


def keep_vectors(
    table: WordVectors, types: Iterable[str], ids: NDArray[np.int32], *, most: int, where: str
) -> WordVectors:
    """The part of a table that a model keeps: the vectors of the text's words, then the first of the table.

    Raises:
        InputError: No word of the text has a vector.
    """
    words = list(types)
    counts = np.bincount(ids, minlength=len(words))
    rows = source_ids(table, words)
    known = dict.fromkeys(int(rows[n]) for n in np.argsort(-counts, kind="stable") if rows[n] >= 0 and counts[n])
    if not known:
        raise InputError(
            f"{where}: has a vector for none of the {len(words):,} source words; give vectors of the source "
            "language, and the source side first"
        )
    for row in range(len(table.words)):
        if len(known) >= most:
            break
        known.setdefault(row)
    kept = np.sort(np.fromiter(known, dtype=np.int64)[:most])
    return WordVectors([table.words[row] for row in kept], table.matrix[kept], source=table.source)


def as_pairs(read: ReadPairs, chosen: NDArray[np.bool_], rows: NDArray[np.int64], words: NDArray[np.int64]) -> Pairs:
    """Some of the pairs, each source type as its row of the table and each target type as its word."""
    source, source_starts = read.source.part(chosen)
    target, target_starts = read.target.part(chosen)
    return Pairs(rows[source].astype(np.int32), source_starts, words[target].astype(np.int32), target_starts)
