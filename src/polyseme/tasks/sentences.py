"""The distinct sentences of some examples as numbers, so that each is read and embedded once."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from polyseme.tasks.examples import Tokens


class SentenceStore:
    """Distinct sentences by number, and their words by number.

    Attributes:
        sentences: Each once, in the order in which they first came.
        words: The distinct words of all.
        starts: (S + 1,) where each sentence begins in `types`.
        types: (N,) the number of every token's word, sentence after sentence.

    Example:
        >>> store = SentenceStore([("the", "bank"), ("the", "river"), ("the", "bank")])
        >>> store.number(("the", "river")), store.types.tolist()
        (1, [0, 1, 0, 2])
    """

    def __init__(self, sentences: Iterable[Tokens]) -> None:
        self._numbers: dict[Tokens, int] = {}
        for sentence in sentences:
            self._numbers.setdefault(sentence, len(self._numbers))
        self.sentences = list(self._numbers)
        words: dict[str, int] = {}
        flat = [words.setdefault(token, len(words)) for sentence in self.sentences for token in sentence]
        self.words = list(words)
        self.types: NDArray[np.int64] = np.array(flat, dtype=np.int64)
        self.starts: NDArray[np.int64] = np.zeros(len(self.sentences) + 1, dtype=np.int64)
        np.cumsum([len(sentence) for sentence in self.sentences], out=self.starts[1:])

    def number(self, sentence: Tokens) -> int:
        """The number of a sentence that is in the store."""
        return self._numbers[sentence]

    def tokens(self, numbers: Sequence[int]) -> NDArray[np.int64]:
        """The words of some sentences, one after the other: (N,)."""
        return np.concatenate([self.types[self.starts[number] : self.starts[number + 1]] for number in numbers])
