"""Static word vectors beside the contextual ones: the same word, the same vector."""

import hashlib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Literal, get_args

import numpy as np
from numpy.typing import ArrayLike

from polyseme.errors import InputError
from polyseme.formats import word_vectors
from polyseme.models.static import Vectors, WordVectors
from polyseme.text.batching import checked

Unknown = Literal["zeros", "mean", "random"]


class StaticVectors:
    """Looks words up in a table of vectors.

    A word that is not in the table is tried in lower case, with only its first letter in upper case, and all in upper
    case; ``case_backoff=False`` takes it as it stands. ``word in vectors`` tells whether a vector is found that way.

    Args:
        table: Words and their vectors.
        unknown: The vector of a word that is not found: ``"zeros"``, the ``"mean"`` of the table, or ``"random"``
            numbers as large as the table's, which are always the same for the same word.
        case_backoff: Whether another case of a word will do.

    Example:
        >>> vectors = StaticVectors(WordVectors(["cat", "dog", "Rome"], np.eye(3, 2, dtype=np.float32)))
        >>> vectors.embed([["The", "Cat"], []])
        [array([[0., 0.],
               [1., 0.]], dtype=float32), array([], shape=(0, 2), dtype=float32)]
    """

    def __init__(self, table: WordVectors, *, unknown: Unknown = "zeros", case_backoff: bool = True) -> None:
        if unknown not in get_args(Unknown):
            raise InputError(f"unknown is {unknown!r}, expected one of {', '.join(get_args(Unknown))}")
        self.table = table
        self.unknown = unknown
        self.case_backoff = case_backoff

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        unknown: Unknown = "zeros",
        case_backoff: bool = True,
        limit: int | None = None,
    ) -> "StaticVectors":
        """Load word vectors of any known format, told by their content.

        Args:
            path: GloVe text, word2vec text or binary, or a fastText ``.vec``, each plain or compressed by gzip; or a
                folder that `save` wrote, which is mapped into memory and there at once.
            unknown: The vector of a word that is not found.
            case_backoff: Whether another case of a word will do.
            limit: Only so many words, from the beginning; files have their most frequent words first.
        """
        return cls(word_vectors.read(Path(path), limit=limit), unknown=unknown, case_backoff=case_backoff)

    def save(self, folder: str | Path) -> None:
        """Write the table as a new folder, whole or not at all."""
        word_vectors.write(self.table, Path(folder))

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in the order of the table."""
        return self.table.words

    @property
    def dim(self) -> int:
        """The length of a vector."""
        return self.table.dim

    def __len__(self) -> int:
        return len(self.table.words)

    def __contains__(self, word: str) -> bool:
        return self._find(word) is not None

    def __getitem__(self, word: str) -> Vectors:
        vector: Vectors = self._vectors([word])[0]
        return vector

    def __repr__(self) -> str:
        facts = f"words={len(self):,}, dim={self.dim}, unknown={self.unknown}, case_backoff={self.case_backoff}"
        return f"StaticVectors({self.table.source}, {facts})"

    def embed(self, sentences: Iterable[Sequence[str]]) -> list[Vectors]:
        """The vector of every token.

        Returns:
            One float32 array a sentence, (T, D).
        """
        return [self._vectors(sentence) for sentence in checked(sentences)]

    def nearest(self, query: str | ArrayLike, k: int = 10) -> list[tuple[str, float]]:
        """The words nearest by cosine.

        Args:
            query: A word, which is not its own neighbour, or a vector (D).
            k: How many.

        Returns:
            Words and cosines, nearest first.
        """
        if not isinstance(query, str):
            return self.table.nearest(_vector(query), k)
        row = self._find(query)
        if row is None:
            raise InputError(f"{query!r} is not among the {len(self):,} words; give another word")
        if not self.table.matrix[row].any():
            raise InputError(f"the vector of {query!r} is all zeros and points nowhere; give another word")
        return self.table.nearest(self.table.matrix[row], k, leave_out=row)

    def _find(self, word: str) -> int | None:
        return self.table.find(word, case_backoff=self.case_backoff)

    def _vectors(self, words: Sequence[str]) -> Vectors:
        found = [self._find(word) for word in words]
        result = self.table.matrix[np.array([row or 0 for row in found], dtype=np.intp)]  # (T, D), a copy
        for position, row in enumerate(found):
            if row is None:
                result[position] = self._vector_of_unknown(words[position])
        return result

    def _vector_of_unknown(self, word: str) -> Vectors | float:
        if self.unknown == "zeros":
            return 0.0
        if self.unknown == "mean":
            return self.table.mean
        digest = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        # RandomState rather than default_rng: numpy promises that its numbers never change.
        draw = np.random.RandomState(np.frombuffer(digest, dtype="<u4"))
        return (draw.standard_normal(self.dim) * self.table.scale).astype(np.float32)


def _vector(query: ArrayLike) -> Vectors:
    try:
        return np.asarray(query, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"got {query!r:.80}; expected a word or a vector of numbers") from error
