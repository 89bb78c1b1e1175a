"""Static word vectors with the interface of contextual ones: the same word always has the same vector."""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal, get_args

import numpy as np
import torch
from numpy.typing import ArrayLike

from polyseme.arrays import Vectors
from polyseme.embed.layers import LayerChoice, check_choice, choose
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.checksum import digest
from polyseme.files.lock import locked
from polyseme.formats import word_vectors
from polyseme.models.model import ModelPath
from polyseme.models.static import WordVectors
from polyseme.nn.scalar_mix import ScalarMix
from polyseme.text.batching import checked
from polyseme.text.segmentation import Segmentation

Unknown = Literal["zeros", "mean", "random"]


class StaticVectors(VectorSource):
    """Looks words up in a table of vectors.

    A word that is not in the table is tried in lower case, with only its first letter in upper case, and all in upper
    case; ``case_backoff=False`` takes it as it is written. ``word in vectors`` tells whether a vector is found.

    Static vectors are a `VectorSource` of one layer, layer 0, which is also the top layer and the mean. `embed` and
    `stream` give that layer alone, (T, D), unless ``layers="all"`` asks for (1, T, D).

    Args:
        table: Words and their vectors.
        unknown: The vector of a word that is not found: ``"zeros"``, the ``"mean"`` of the table, or ``"random"``
            numbers as large as the table's, which are always the same for the same word.
        case_backoff: Whether another case of a word will do.
        path: Where the table was read.

    Example:
        >>> vectors = StaticVectors(WordVectors(["cat", "dog", "Rome"], np.eye(3, 2, dtype=np.float32)))
        >>> vectors.embed([["The", "Cat"], []])
        [array([[0., 0.],
               [1., 0.]], dtype=float32), array([], shape=(0, 2), dtype=float32)]
        >>> vectors.embed([["The", "Cat"]], layers="all")[0].shape
        (1, 2, 2)
    """

    layers = 1
    precision = "float32"
    stateful = False
    segmentation = Segmentation()

    def __init__(
        self,
        table: WordVectors,
        *,
        unknown: Unknown = "zeros",
        case_backoff: bool = True,
        path: ModelPath | None = None,
    ) -> None:
        if unknown not in get_args(Unknown):
            raise InputError(f"unknown is {unknown!r}, expected one of {', '.join(get_args(Unknown))}")
        self.table = table
        self.unknown = unknown
        self.case_backoff = case_backoff
        self.path = path
        self.dim = table.dim

    @classmethod
    def load(
        cls,
        path: str | Path,
        *,
        unknown: Unknown = "zeros",
        case_backoff: bool = True,
        limit: int | None = None,
    ) -> "StaticVectors":
        """Load word vectors of any known format, which is recognised by its content.

        Args:
            path: GloVe text, word2vec text or binary, or a fastText ``.vec``, each plain or compressed by gzip; or a
                folder that `save` wrote, which is mapped into memory and needs no time to read.
            unknown: The vector of a word that is not found.
            case_backoff: Whether another case of a word will do.
            limit: Read only this many words, from the beginning; files have their most frequent words first.
        """
        table = word_vectors.read(Path(path), limit=limit)
        return cls(table, unknown=unknown, case_backoff=case_backoff, path=str(Path(path).absolute()))

    def save(self, folder: str | Path) -> None:
        """Write the table as a new folder, completely or not at all."""
        with locked(Path(folder)):
            word_vectors.write(self.table, Path(folder))

    def save_word2vec(self, path: str | Path, *, binary: bool = True) -> None:
        """Write the table as a new file in the form of word2vec, completely or not at all.

        gensim reads it: ``KeyedVectors.load_word2vec_format(path, binary=True)``.

        Args:
            path: The file.
            binary: Numbers as 32-bit floats; otherwise as text.

        Raises:
            InputError: The file exists, or a word has whitespace in it, which this form cannot hold.
        """
        with locked(Path(path)):
            if Path(path).exists():
                raise InputError(f"{path}: exists already; give the name of a new file")
            word_vectors.write_word2vec(self.table, Path(path), binary=binary)

    @property
    def words(self) -> tuple[str, ...]:
        """The words, in the order of the table."""
        return self.table.words

    def __len__(self) -> int:
        return len(self.table.words)

    def __contains__(self, word: str) -> bool:
        return self._find(word) is not None

    def __getitem__(self, word: str) -> Vectors:
        vector: Vectors = self._vectors([word])[0]
        return vector

    def __repr__(self) -> str:
        details = f"words={len(self):,}, dim={self.dim}, unknown={self.unknown}, case_backoff={self.case_backoff}"
        return f"StaticVectors({self.table.source}, {details})"

    def embed(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "top") -> list[Vectors]:
        """The vector of every token: one float32 array per sentence, (T, D), or (1, T, D) for ``"all"``."""
        return list(self.stream(sentences, layers=layers))

    def stream(self, sentences: Iterable[Sequence[str]], *, layers: LayerChoice = "top") -> Iterator[Vectors]:
        """As `embed`, one sentence at a time."""
        check_choice(layers, self.layers)
        return (self._chosen(self._vectors(sentence), layers) for sentence in checked(sentences))

    def fingerprint(self) -> str:
        """A short checksum of the table, and of what is done with unknown words."""
        return self._fingerprint

    def nearest(self, query: str | ArrayLike, k: int = 10) -> list[tuple[str, float]]:
        """The words with the highest cosine similarity.

        Args:
            query: A word, which is not among its own neighbours, or a vector (D).
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
            raise InputError(f"the vector of {query!r} is all zeros and has no direction; give another word")
        return self.table.nearest(self.table.matrix[row], k, leave_out=row)

    @cached_property
    def _fingerprint(self) -> str:
        head = f"{self.unknown} {self.case_backoff} {self.dim}\n".encode()
        words = (word.encode("utf-8", "surrogatepass") + b"\n" for word in self.words)
        return digest([head, *words, np.ascontiguousarray(self.table.matrix, dtype="<f4").data])

    def _chosen(self, vectors: Vectors, layers: LayerChoice) -> Vectors:
        """The one layer (T, D) as it is asked for."""
        if isinstance(layers, ScalarMix):
            mixed: Vectors = choose([torch.from_numpy(vectors)], layers)[0].detach().numpy()
            return mixed
        return vectors[np.newaxis] if layers == "all" else vectors

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
        seed = hashlib.blake2b(word.encode("utf-8", "surrogatepass"), digest_size=16).digest()
        # RandomState rather than default_rng: numpy promises that its numbers never change.
        draw = np.random.RandomState(np.frombuffer(seed, dtype="<u4"))
        return (draw.standard_normal(self.dim) * self.table.scale).astype(np.float32)


def _vector(query: ArrayLike) -> Vectors:
    try:
        return np.asarray(query, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise InputError(f"got {query!r:.80}; expected a word or a vector of numbers") from error
