"""A translator with its words: sentences of tokens in, their translations out."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from polyseme.errors import InputError
from polyseme.models.static import WordVectors
from polyseme.models.translation_search import BEGIN, END, Hypothesis, beam_search, greedy_search, limit_of
from polyseme.models.translator import Translator
from polyseme.nn.packing import Packing
from polyseme.text.detokenize import detokenize
from polyseme.text.parallel import tokens_of
from polyseme.text.segmentation import Segmentation
from polyseme.text.vocabulary import Vocabulary

__all__ = ["BEGIN", "END", "TranslationModel", "source_ids"]

BATCH_TOKENS = 2000
"""Source tokens that are translated together, times the beam width."""


@dataclass(frozen=True)
class TranslationModel:
    """A network with the words of both sides.

    Attributes:
        network: The translator.
        table: The static vectors of source words; a word without one is read as zeros.
        vocabulary: Target words; the first two are the begin and end markers.
        source: How the source text was tokenised.
        target: How the target text was tokenised.
    """

    network: Translator
    table: WordVectors
    vocabulary: Vocabulary
    source: Segmentation
    target: Segmentation

    def to(self, device: str | torch.device) -> "TranslationModel":
        """Move the network to a device; return the same model."""
        try:
            self.network.to(device)
        except (RuntimeError, AssertionError) as error:  # torch's errors for a device that is unknown or absent
            raise InputError(
                f"device {str(device)!r} cannot be used ({str(error).splitlines()[0]}); try 'cpu'"
            ) from error
        return self

    def translate(
        self, sentences: Sequence[Sequence[str]], *, beam: int = 1, length_penalty: float = 1.0
    ) -> list[list[str]]:
        """The translation of each sentence, tokens to tokens.

        An unknown word in the translation is replaced by the source word that got most attention there. A sentence
        without tokens has a translation without tokens.

        Args:
            sentences: Tokens, as `source` makes them.
            beam: Width of the beam; 1 is the greedy search.
            length_penalty: Scores are divided by length to this power, if the beam is wider than 1.
        """
        if beam < 1:
            raise InputError(f"beam is {beam}, expected at least 1")
        results: list[list[str]] = [[] for _ in sentences]
        self.network.eval()
        for numbers in _batches([len(sentence) for sentence in sentences], BATCH_TOKENS // beam):
            some = [sentences[number] for number in numbers]
            for number, found in zip(numbers, self._search(some, beam, length_penalty), strict=True):
                results[number] = self._words(found, sentences[number])
        return results

    def translate_lines(self, lines: Sequence[str], *, beam: int = 1, length_penalty: float = 1.0) -> list[str]:
        """The translation of each line of raw text as a line of raw text."""
        sentences = [tokens_of(self.source, line) for line in lines]
        found = self.translate(sentences, beam=beam, length_penalty=length_penalty)
        return [detokenize(tokens, self.target.tokenizer) for tokens in found]

    def _search(self, sentences: Sequence[Sequence[str]], beam: int, length_penalty: float) -> list[Hypothesis]:
        lengths = [len(sentence) for sentence in sentences]
        device = self.network.softmax.weight.device
        packing = Packing.of(lengths, device)
        ids = np.concatenate([source_ids(self.table, sentence) for sentence in sentences])
        with torch.no_grad():
            vectors = source_vectors(torch.from_numpy(np.asarray(self.table.matrix)), torch.from_numpy(ids))
            read = self.network.read(
                vectors.to(device)[packing.flat_of_packed], packing, torch.arange(len(lengths), device=device)
            )
        limits = [limit_of(length) for length in lengths]
        if beam == 1:
            return greedy_search(self.network, read, limits)
        return beam_search(self.network, read, limits, width=beam, length_penalty=length_penalty)

    def _words(self, found: Hypothesis, source: Sequence[str]) -> list[str]:
        unknown, words = self.vocabulary.unknown, self.vocabulary.words
        return [
            source[place] if word == unknown else words[word]
            for word, place in zip(found.words, found.attended, strict=True)
        ]


def source_ids(table: WordVectors, words: Sequence[str]) -> NDArray[np.int64]:
    """(T,) the row of each word in the table, -1 if it has none."""
    rows = (table.find(word) for word in words)
    return np.array([-1 if row is None else row for row in rows], dtype=np.int64)


def source_vectors(matrix: Tensor, ids: Tensor) -> Tensor:
    """(N, I) the vectors of some rows, zeros where the row is -1."""
    return matrix[ids.clamp(min=0)] * (ids >= 0).unsqueeze(1)


def _batches(lengths: Sequence[int], tokens: int) -> Iterator[list[int]]:
    """The numbers of sentences with tokens, in batches of similar length."""
    batch: list[int] = []
    for number in sorted((n for n, length in enumerate(lengths) if length), key=lambda n: lengths[n]):
        if batch and (len(batch) + 1) * lengths[number] > tokens:
            yield batch
            batch = []
        batch.append(number)
    if batch:
        yield batch
