"""Static word vectors as a beginning: in the width of a biLM, for its token encoder and its softmax."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np
import torch
from numpy.typing import NDArray

from polyseme.arrays import Vectors
from polyseme.models.bilm import BiLM
from polyseme.models.static import WordVectors
from polyseme.models.token_encoders import WordTokenEncoder
from polyseme.nn.softmax import FullSoftmax
from polyseme.text.characters import BEGIN_SENTENCE, END_SENTENCE, WholeWords
from polyseme.text.vocabulary import UNKNOWN, Vocabulary
from polyseme.train.lm.text_store import END

_MARKERS = (BEGIN_SENTENCE, END_SENTENCE, UNKNOWN)


class StaticStart:
    """Static vectors beside the words of a text.

    Vectors of D numbers come into the width P of the model by a fixed random map with orthonormal columns, which keeps
    all distances and angles; where D is P, they stay as they are. Where D is larger, their first P principal components
    are taken.

    Args:
        vectors: The static vectors.
        words: Those of the text by type.
        width: P.
        seed: Of the random map.
    """

    def __init__(self, vectors: WordVectors, words: Sequence[str], *, width: int, seed: int) -> None:
        self.vectors, self.words, self.width, self.seed = vectors, words, width, seed
        self.rows = self._rows(words)
        """(types,) the row of each word in the static vectors, -1 for a word that has none."""
        self.rows[: END + 1] = -1

    def targets(self, rows: NDArray[np.integer]) -> Vectors:
        """The vectors of some rows (n, P), centred, with 1 as the root mean square of their numbers over the text."""
        scaled: Vectors = (self.vectors.matrix[rows] - self._centre) @ self.map.T * self._scale
        return scaled

    def set_rows(self, softmax: FullSoftmax, vocabulary: Vocabulary) -> None:
        """Set the rows of the words to predict that have a vector, as long on average as those that have none."""
        rows = self._rows(vocabulary.words)
        rows[: len(_MARKERS)] = -1
        known = np.flatnonzero(rows >= 0)
        with torch.no_grad():
            softmax.weight[torch.from_numpy(known)] = torch.from_numpy(self.targets(rows[known]) / self.width**0.5)

    def input_words(self, *, tuned: bool) -> list[str]:
        """The words of a token table that is the static vectors, markers first.

        They are the words of the text, and all words of the vectors if the table stays as it is: in one that is tuned,
        a word that the text does not have would stay behind while the others move.
        """
        found = [word for word, row in zip(self.words, self.rows.tolist(), strict=True) if row >= 0]
        more = () if tuned else self.vectors.words
        words = dict.fromkeys([*_MARKERS, *found, *more])
        return list(words)

    def set_table(self, bilm: BiLM, indexer: WholeWords) -> None:
        """Set a token table to the static vectors; an unknown word is their mean, unless they have one for it."""
        assert isinstance(bilm.token_encoder, WordTokenEncoder)
        table = bilm.token_encoder.words.weight.detach()
        words = list(indexer.words)
        rows = self._rows(words)
        rows[: END + 1] = -1  # the markers stay random, at the scale of the others
        known = np.flatnonzero(rows >= 0)
        mapped = self.vectors.matrix[rows[known]] @ self.map.T
        table *= float(np.sqrt(np.square(mapped, dtype=np.float64).mean()))
        table[words.index(UNKNOWN)] = torch.from_numpy(self._centre @ self.map.T)
        table[torch.from_numpy(known)] = torch.from_numpy(mapped)

    def _rows(self, words: Sequence[str]) -> NDArray[np.int64]:
        found = (self.vectors.find(word) for word in words)
        return np.array([-1 if row is None else row for row in found], dtype=np.int64)

    @cached_property
    def map(self) -> Vectors:
        """(P, D) from a static vector into the width of the model."""
        dim, width = self.vectors.dim, self.width
        if dim == width:
            return np.eye(width, dtype=np.float32)
        generator = np.random.default_rng([self.seed, 5])
        basis, _ = np.linalg.qr(generator.standard_normal((width, min(dim, width))))
        if dim < width:
            return np.asarray(basis, dtype=np.float32)
        centred = self._known - self._centre
        _, axes = np.linalg.eigh(centred.T @ centred)  # the largest last
        return np.asarray(basis @ axes[:, -width:].T, dtype=np.float32)

    @cached_property
    def _known(self) -> Vectors:
        """The distinct vectors of the text."""
        return np.asarray(self.vectors.matrix[np.unique(self.rows[self.rows >= 0])])

    @cached_property
    def _centre(self) -> Vectors:
        return np.asarray(self._known.mean(axis=0, dtype=np.float64), dtype=np.float32)

    @cached_property
    def _scale(self) -> float:
        mapped = (self._known - self._centre) @ self.map.T
        size = float(np.sqrt(np.square(mapped, dtype=np.float64).mean()))
        return 1 / size if size else 1.0
