"""What an index is kept in: the interface of a store, and of a run that writes into one."""

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Self

from polyseme.arrays import Numbers, Vectors
from polyseme.errors import InputError
from polyseme.index.about import About
from polyseme.index.choices import WORDS, Words
from polyseme.index.occurrence import Occurrence
from polyseme.index.places import Place
from polyseme.index.whitening import Whitening


@dataclass(frozen=True)
class Choice:
    """Which occurrences a query is about: those for which all of this is true.

    Attributes:
        words: They are of one of these words in any letter case; folded to one case here.
        but: They are of none of these words, likewise.
        document: Their sentence came from this document; or from this file, if its source names no document.
        label: The text that they are in was indexed with this label.
    """

    words: frozenset[str] | None = None
    but: frozenset[str] = frozenset()
    document: str | None = None
    label: str | None = None

    @classmethod
    def of(
        cls, word: str, words: Words, only: Collection[str] | None, document: str | None, label: str | None
    ) -> "Choice":
        """A choice as a caller gives it.

        Args:
            word: The word that is asked about.
            words: Of any word, of the same or of others.
            only: Of these words; of all by default.
            document: In this document.
            label: In the text with this label.

        Raises:
            InputError: It is not one.
        """
        if words not in WORDS:
            raise InputError(f"words is {words!r}, expected one of {', '.join(WORDS)}")
        if isinstance(only, str):
            raise InputError(f"only is the single word {only!r}, but a list of words is expected: [{only!r}]")
        folded, named = word.casefold(), None if only is None else frozenset(one.casefold() for one in only)
        if words == "same":
            named = frozenset([folded]) if named is None else named & {folded}
        return cls(named, frozenset([folded] if words == "other" else []), document, label)


class Store(ABC):
    """A finished index, open for reading. Its occurrences are numbered from 0 in the order of the text.

    Attributes:
        name: What messages call it; never with a password in it.
        about: What it was made with.
    """

    name: str
    about: About

    @abstractmethod
    def __len__(self) -> int:
        """How many occurrences it holds."""

    @property
    @abstractmethod
    def parts(self) -> str:
        """What it consists of, in a few words."""

    @abstractmethod
    def counts(self) -> Counter[str]:
        """How often each word is in it."""

    @abstractmethod
    def word_sums(self) -> Iterator[tuple[str, int, Vectors]]:
        """Words with a number of occurrences and the sum (D,) of their unit vectors; a word may come several times."""

    @abstractmethod
    def search(
        self, query: Vectors, k: int, choice: Choice, *, exact: bool, whitening: Whitening | None
    ) -> tuple[Vectors, Numbers]:
        """The occurrences nearest to a unit vector.

        Args:
            query: (D,) not whitened.
            k: How many.
            choice: Which occurrences count.
            exact: Compare with every one of them.
            whitening: Compare by it; without ``exact``, those that are nearest without it.

        Returns:
            Similarities and numbers, best first; fewer than k only if there are no more.
        """

    @abstractmethod
    def labels(self) -> list[str]:
        """The labels that texts were indexed with."""

    @abstractmethod
    def documents(self) -> list[str]:
        """The documents of its occurrences; or files, where their source names no document."""

    @abstractmethod
    def numbers(self, word: str) -> Numbers:
        """The numbers of a word's occurrences in any letter case, ascending."""

    @abstractmethod
    def words(self, numbers: Numbers) -> list[str]:
        """The word of each of some occurrences."""

    @abstractmethod
    def vectors(self, numbers: Numbers) -> Vectors:
        """The unit vectors (n, D) of some occurrences, as they are stored."""

    @abstractmethod
    def read(self, numbers: Numbers, similarities: Vectors) -> list[Occurrence]:
        """Some occurrences in their sentences, each with its similarity to what was asked."""

    @abstractmethod
    def whitening(self) -> Whitening:
        """The whitening of the index: as it is stored, or fitted now and stored if that is possible."""


class Run(ABC):
    """A run that makes an index or adds to one, open for writing; nobody else can write to it.

    Use it as a context manager: what is stored stays for a later run that resumes this one, unless `finish` or
    `discard` was called.

    Attributes:
        name: What messages call the index; never with a password in it.
        complete: Whether the run was finished before, so that nothing remains to be done.
        work: Where an unfinished run keeps its work, as messages name it.
    """

    name: str
    complete: bool
    work: str

    @property
    @abstractmethod
    def sentences(self) -> int:
        """Sentences of the text that are done: they are stored or held, or need not be."""

    @property
    @abstractmethod
    def whole(self) -> bool:
        """Whether the whole text is stored."""

    @property
    @abstractmethod
    def is_empty(self) -> bool:
        """Whether nothing is stored that could be resumed."""

    @abstractmethod
    def add(self, number: int, tokens: Sequence[str], positions: Sequence[int], rows: Vectors, place: Place) -> None:
        """Take in a sentence; now and then, what was taken in is stored.

        Args:
            number: Of the sentence in the text, from 0.
            tokens: Its tokens.
            positions: Those whose occurrences are kept; may be empty.
            rows: (len(positions), D) their vectors.
            place: Where the sentence came from.
        """

    @abstractmethod
    def save(self) -> None:
        """Store what was taken in, so that an interrupted run can continue after it."""

    @abstractmethod
    def close_text(self) -> bool:
        """Store the rest, after the last sentence; return whether the run has any occurrence."""

    @abstractmethod
    def finish(self) -> None:
        """Make everything that was stored part of the index, all at once."""

    @abstractmethod
    def discard(self) -> None:
        """Remove everything that was stored."""

    @abstractmethod
    def close(self) -> None:
        """Let others write."""

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
