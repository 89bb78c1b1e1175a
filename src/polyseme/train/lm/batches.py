"""Batches of training text: sentences of similar length, or rows of running text."""

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice, pairwise

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.train.engine.job import Group
from polyseme.train.lm.case_noise import CaseNoise
from polyseme.train.lm.settings import LmSettings
from polyseme.train.lm.text_store import TextPart, pieces

WINDOW_BATCHES = 64
"""Sentences are sorted by length within this many batches of shuffled text."""

Types = NDArray[np.int32]


@dataclass(frozen=True)
class SentenceBatch:
    """Whole sentences, read from both ends."""

    types: Types
    """(N,) sentence after sentence, markers included."""
    lengths: tuple[int, ...]
    noisy: Types | None = None
    """(N,) what is read instead."""


@dataclass(frozen=True)
class RowBatch:
    """A segment of each row for the forward direction, and another one for the backward direction.

    The forward direction reads a row from its start, the backward direction from its end, so the segments differ.
    """

    slot: int
    """The number of this set of rows; state is carried from one batch of a slot to the next."""
    ahead: Types
    """(R, T) what is read, in reading order."""
    ahead_next: Types
    """(R, T) the token after each."""
    back: Types
    """(R, T) in the backward direction's reading order: from the end of the row."""
    back_next: Types
    """(R, T) the token before each in the text."""


Batch = SentenceBatch | RowBatch


class Batches(ABC):
    """The batches of an epoch, in an order that depends only on the seed and the epoch.

    An update takes a group of ``processes * accumulate`` batches; each process computes its own.
    """

    def __init__(self, part: TextPart, settings: LmSettings, group: int, noise: CaseNoise | None = None) -> None:
        self.part = part
        self.settings = settings
        self.group = group
        self.noise = noise

    @abstractmethod
    def groups(self, epoch: int, start: int) -> Iterator[Group["BatchPlace"]]:
        """Yield the groups from number ``start`` on."""

    @abstractmethod
    def read(self, place: "BatchPlace") -> Batch:
        """Read one batch of a group."""


@dataclass(frozen=True)
class BatchPlace:
    """The position of a batch in the text; the process that computes the batch reads it."""

    numbers: NDArray[np.int64]
    """The numbers of the sentences; or the slot and the step of the rows."""
    epoch: int


class SentenceBatches(Batches):
    """Shuffled sentences, each without context, as in embedding."""

    def __init__(self, part: TextPart, settings: LmSettings, group: int, noise: CaseNoise | None = None) -> None:
        super().__init__(pieces(part, settings.max_sentence), settings, group, noise)

    def groups(self, epoch: int, start: int) -> Iterator[Group[BatchPlace]]:
        """See `Batches`."""
        batches = self._batches(epoch)
        done, number = 0, 0
        while some := list(islice(batches, self.group)):
            done += sum(int(self._lengths(numbers).sum()) for numbers in some)
            if number >= start:
                yield Group(done / len(self.part.types), [BatchPlace(numbers, epoch) for numbers in some])
            number += 1

    def read(self, place: BatchPlace) -> SentenceBatch:
        """See `Batches`."""
        types = np.concatenate([self.part.sentence(int(number)) for number in place.numbers])
        lengths = self._lengths(place.numbers)
        noisy = None
        if self.noise is not None:
            noisy = self.noise.read(types, np.repeat(self.noise.choices(place.numbers, place.epoch), lengths))
        return SentenceBatch(types, tuple(lengths.tolist()), noisy)

    def _batches(self, epoch: int) -> Iterator[NDArray[np.int64]]:
        generator = np.random.default_rng([self.settings.seed, epoch])
        count = len(self.part.starts) - 1
        # The smallest integer type: only this and the start of each sentence are in memory for a long text.
        order = np.arange(count, dtype=np.min_scalar_type(count))
        generator.shuffle(order)
        for first, last in pairwise(self._windows(order)):
            yield from self._window(order[first:last].astype(np.int64), generator)

    def _lengths(self, numbers: NDArray[np.integer]) -> NDArray[np.int64]:
        """The number of tokens of some sentences, markers included."""
        lengths: NDArray[np.int64] = self.part.starts[1:][numbers]
        lengths -= self.part.starts[:-1][numbers]
        return lengths

    def _windows(self, order: NDArray[np.integer]) -> list[int]:
        """The boundaries of the windows of an epoch, which have about the same number of tokens."""
        window = self._lengths(order)
        np.cumsum(window, out=window)
        window //= WINDOW_BATCHES * self.settings.batch_tokens
        return [0, *(np.flatnonzero(window[1:] != window[:-1]) + 1).tolist(), len(order)]

    def _window(self, numbers: NDArray[np.int64], generator: np.random.Generator) -> list[NDArray[np.int64]]:
        numbers = numbers[np.argsort(-self._lengths(numbers), kind="stable")]
        cuts, tokens = [0], 0
        for position, length in enumerate(self._lengths(numbers).tolist()):
            if tokens and tokens + length > self.settings.batch_tokens:
                cuts.append(position)
                tokens = 0
            tokens += length
        cuts.append(len(numbers))
        batches = [numbers[a:b] for a, b in pairwise(cuts)]
        return [batches[index] for index in generator.permutation(len(batches))]


class RowBatches(Batches):
    """Running text in rows that continue from batch to batch.

    The text is a ring that begins at a different position in each epoch and is divided into rows of equal length. The
    forward direction reads a row from its start, the backward one from its end, and both carry state as they read.
    """

    def __init__(self, part: TextPart, settings: LmSettings, group: int, noise: CaseNoise | None = None) -> None:
        super().__init__(part, settings, group, noise)
        tokens = len(part.types)
        self.rows = max(1, min(settings.rows, tokens // (group * settings.steps_a_row)))
        self.length = tokens // (self.rows * group)
        if self.length < 2:
            raise InputError(f"a corpus of {tokens} tokens cannot be divided into {group} rows; use layout sentences")
        self.steps = -(-self.length // settings.steps_a_row)

    def groups(self, epoch: int, start: int) -> Iterator[Group[BatchPlace]]:
        """See `Batches`."""
        for step in range(start, self.steps):
            places = [BatchPlace(np.array([slot, step]), epoch) for slot in range(self.group)]
            yield Group((step + 1) / self.steps, places)

    def read(self, place: BatchPlace) -> RowBatch:
        """See `Batches`."""
        slot, step = place.numbers.tolist()
        total = len(self.part.types)
        shift = int(np.random.default_rng([self.settings.seed, place.epoch]).integers(total))
        first = shift + (slot * self.rows + np.arange(self.rows)[:, None]) * self.length  # (R, 1)
        begin = step * self.settings.steps_a_row
        step_of = np.arange(begin, min(begin + self.settings.steps_a_row, self.length))  # (T,)
        ahead = first + step_of
        back = first + self.length - 1 - step_of
        take = self.part.types
        return RowBatch(
            slot,
            self._read(ahead % total, place.epoch),
            take[(ahead + 1) % total],
            self._read(back % total, place.epoch),
            take[(back - 1) % total],
        )

    def _read(self, places: NDArray[np.int64], epoch: int) -> Types:
        """What is read at places (R, T) of the text."""
        types = self.part.types[places]
        if self.noise is None:
            return types
        sentences = np.searchsorted(self.part.starts, places, side="right") - 1
        return self.noise.read(types, self.noise.choices(sentences, epoch))


def open_batches(part: TextPart, settings: LmSettings, group: int, noise: CaseNoise | None = None) -> Batches:
    """The batches of the layout in the settings."""
    return (SentenceBatches if settings.layout == "sentences" else RowBatches)(part, settings, group, noise)
