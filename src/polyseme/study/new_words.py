"""Which frequent words of a text, such as names, does its tokeniser not know?

A sequence of characters (Chinese) or tokens (other languages) is proposed as a word if its parts stand together far
more often than by chance, and if many different things stand before and after it: as 玄德, but not 玄德曰 or 德曰.
"""

import re
from array import array
from collections import Counter
from collections.abc import Iterator
from dataclasses import asdict, dataclass

import numpy as np
from numpy.typing import NDArray

from polyseme.arrays import Numbers
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.text.choices import BY_DICTIONARY, Tokenizer
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import within_word
from polyseme.text.graphemes import graphemes

LEAST_COHESION = 5.0
"""Bits: how much more frequent a word is than its two likeliest parts would be side by side by chance."""
LEAST_FREEDOM = 2.5
"""Bits: the entropy of what stands before it, and of what stands after it."""
Bits = NDArray[np.float64]
_NUMBER = re.compile("[〇零一二三四五六七八九十百千万亿两余数几第\\d]+")
_AROUND = 12  # characters or tokens of an example on each side


@dataclass(frozen=True)
class NewWord:
    """A word that is proposed for a dictionary.

    Attributes:
        word: The word; tokens of a language with spaces have a space between them.
        occurrences: How often it stands in the text.
        as_token: How often the tokeniser made it a token.
        cohesion: In bits, how much more often its parts stand together than by chance.
        freedom: In bits, the entropy of its neighbours, on the side where it is smaller.
        example: A place in the text.
    """

    word: str
    occurrences: int
    as_token: int
    cohesion: float
    freedom: float
    example: str

    @property
    def score(self) -> float:
        """By which words are ranked: frequent, cohesive and free."""
        return self.occurrences * (self.cohesion - 4.0) ** 2 * self.freedom

    def to_dict(self) -> dict[str, JSON]:
        """The values by name."""
        return asdict(self)


def new_words(
    corpus: Corpus, *, least: int = 10, longest: int = 5, kept: float = 0.6, most: int | None = None
) -> list[NewWord]:
    """Propose words for a dictionary, best first.

    Args:
        corpus: The text.
        least: Only words that occur at least this often.
        longest: Characters (Chinese) or tokens of the longest word.
        kept: Leave out words that the tokeniser makes a token in this share of their occurrences or more.
        most: At most this many.
    """
    if least < 2:
        raise InputError(f"least is {least}, expected at least 2 occurrences of a word")
    text = _Text(corpus)
    found = [word for word in text.words(least, longest) if word.as_token < kept * word.occurrences]
    found.sort(key=lambda one: (-one.score, one.word))
    return _without_parts(found)[:most]


class _Text:
    """A text as numbers: one for each unit (a character or token), and 0 between sentences."""

    def __init__(self, corpus: Corpus) -> None:
        tokenizer = corpus.tokenize
        self.tokens: Counter[str] = Counter()
        numbers: dict[str, int] = {"": 0}
        units = array("q", [0])
        for sentence in corpus.nonempty():
            self.tokens.update(sentence.tokens)
            for unit in _units(sentence.tokens, tokenizer):
                units.append(numbers.setdefault(unit, len(numbers)))
            units.append(0)
        self.units = np.frombuffer(units, dtype=np.int64)
        self.names = list(numbers)
        self.between = _between(self.names, tokenizer)
        self._wordlike = np.array([any(map(str.isalpha, name)) for name in self.names])
        self._ends = np.flatnonzero(self.units == 0)
        # (P,) at each position the number of the sequence of n units that begins there, -1 if it is too rare or crosses
        # punctuation; and how often each sequence occurs.
        self._at: list[Numbers] = [np.where(self._wordlike[self.units], self.units, -1)]
        self._counts: list[Numbers] = [np.bincount(self.units, minlength=len(self.names))]
        self._total = int((self._at[0] >= 0).sum())

    def words(self, least: int, longest: int) -> Iterator[NewWord]:
        """Every sequence of 2 to ``longest`` units that looks like a word."""
        for length in range(2, longest + 1):
            if not self._count(length, least):
                return
            yield from self._judged(length)

    def _count(self, length: int, least: int) -> bool:
        """Number the sequences of this length from those that are one shorter; False if none is frequent."""
        shorter = self._at[-1]
        first, second = shorter[:-1], shorter[1:]
        places = np.flatnonzero((first >= 0) & (second >= 0))
        keys = first[places] * (len(self._counts[-1]) + 1) + second[places]
        _, which, counts = np.unique(keys, return_inverse=True, return_counts=True)
        frequent = counts >= least
        number = np.where(frequent, np.cumsum(frequent) - 1, -1)
        at = np.full(len(shorter), -1, dtype=np.int64)
        at[places] = number[which]
        self._at.append(at)
        self._counts.append(counts[frequent])
        return bool(frequent.any())

    def _judged(self, length: int) -> Iterator[NewWord]:
        at, counts = self._at[-1], self._counts[-1]
        places = np.flatnonzero(at >= 0)
        _, index = np.unique(at[places], return_index=True)
        first = places[index]  # (W,) where each sequence stands first
        cohesion = self._cohesion(first, length)
        freedom = np.minimum(
            self._freedom(at[places], self.units[places - 1]), self._freedom(at[places], self.units[places + length])
        )
        for number in np.flatnonzero((cohesion >= LEAST_COHESION) & (freedom >= LEAST_FREEDOM)):
            start = int(first[number])
            word = self._written(start, start + length)
            if not _NUMBER.fullmatch(word):
                yield NewWord(
                    word,
                    int(counts[number]),
                    self.tokens[word],
                    float(cohesion[number]),
                    float(freedom[number]),
                    self._example(start, length),
                )

    def _cohesion(self, first: Numbers, length: int) -> Bits:
        """(W,) log2 P(whole) / (P(left) P(right)), for the two parts that explain the whole best."""
        whole = self._counts[-1].astype(np.float64)
        lowest = np.full(len(whole), np.inf)
        for cut in range(1, length):
            left = self._counts[cut - 1][self._at[cut - 1][first]]
            right = self._counts[length - cut - 1][self._at[length - cut - 1][first + cut]]
            lowest = np.minimum(lowest, np.log2(whole * self._total / (left.astype(np.float64) * right)))
        return lowest

    def _freedom(self, words: Numbers, neighbours: Numbers) -> Bits:
        """(W,) the entropy of the neighbours of each word; no two sentence ends or punctuation marks count as alike."""
        counts = self._counts[-1].astype(np.float64)
        width = len(self.names) + 1
        pairs, times = np.unique(words * width + neighbours, return_counts=True)
        word, neighbour = pairs // width, pairs % width
        share = times / counts[word]
        ends = ~self._wordlike[neighbour]
        bits = np.where(ends, share * np.log2(counts[word]), -share * np.log2(share))
        return np.bincount(word, weights=bits, minlength=len(counts)).astype(np.float64)

    def _written(self, start: int, stop: int) -> str:
        return self.between.join(self.names[unit] for unit in self.units[start:stop])

    def _example(self, start: int, length: int) -> str:
        after = int(np.searchsorted(self._ends, start))
        begin = max(start - _AROUND, int(self._ends[after - 1]) + 1)
        end = min(start + length + _AROUND, int(self._ends[after]))
        return self._written(begin, end)


def _units(tokens: list[str], tokenizer: Tokenizer | None) -> Iterator[str]:
    """The tokens; of Chinese, their characters, because an unknown name is often cut together with what follows it."""
    for token in tokens:
        if tokenizer in ("zh", "char") and not within_word(token[:1] * 2, 1):
            yield from graphemes(token)
        else:
            yield token


def _between(names: list[str], tokenizer: Tokenizer | None) -> str:
    """What is written between two units."""
    if tokenizer is not None:
        return "" if tokenizer in (*BY_DICTIONARY, "char") else " "
    spaced = sum(within_word(name[:1] * 2, 1) for name in names)
    return " " if 2 * spaced > len(names) else ""


def _without_parts(found: list[NewWord]) -> list[NewWord]:
    """Leave out a word that mostly stands inside a longer one, and a longer one that adds little to a shorter one."""
    occurrences = {one.word: one.occurrences for one in found}
    inside: Counter[str] = Counter()
    for word, times in occurrences.items():
        for start in range(len(word)):
            for stop in range(start + 1, len(word) + 1):
                part = word[start:stop]
                if part != word and part in occurrences:
                    inside[part] = max(inside[part], times)
    return [one for one in found if inside[one.word] < 0.6 * one.occurrences]
