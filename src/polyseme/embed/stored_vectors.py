"""Vectors on disk as a corpus and as a source of its vectors, so that what is built from a text can be built from them.

::

    stored = open_stored(Location.of("vectors"))
    source = StoredVectors(stored)
    OccurrenceIndex.build(source, source.corpus, "index", layers=source.only_layers())
"""

from collections.abc import Iterator, Sequence

import numpy as np
import torch

from polyseme.arrays import Vectors
from polyseme.embed.inputs import Sentences
from polyseme.embed.layers import LayerChoice, check_choice, choose, parse_choice
from polyseme.embed.source import VectorSource
from polyseme.embed.stored_parts import Stored, read_stored
from polyseme.errors import InputError
from polyseme.text.choices import Layout
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.readers import Sentence
from polyseme.text.repairs import Repairs
from polyseme.text.segmentation import Segmentation


class StoredTokens(list[str]):
    """The tokens of a sentence together with their stored vectors.

    Attributes:
        vectors: (T, D) of each stored layer.
    """

    def __init__(self, tokens: Sequence[str], vectors: list[Vectors]) -> None:
        super().__init__(tokens)
        self.vectors = vectors


class StoredSentences(Corpus):
    """The sentences of stored vectors as a corpus: each carries its vectors.

    Args:
        stored: The vectors.
    """

    def __init__(self, stored: Stored) -> None:
        self._stored = stored
        self._read = 0
        self.reader, self.repairs = "lines", Repairs()
        self._choice, self._segmentation = "auto", None
        words = stored.made_with.dictionary
        self._dictionary = None if words is None else Dictionary(words)

    def __str__(self) -> str:
        return self._stored.shown

    def __iter__(self) -> Iterator[Sentence]:
        """Read every file from its beginning."""
        columns = stored_columns(self._stored)
        self._read = 0
        for file in self._stored.files:
            for sentence, vectors in read_stored(file, columns):
                tokens = StoredTokens(sentence.tokens, vectors)
                yield Sentence(tokens, sentence.name, sentence.file, sentence.line, sentence.document)
            self._read += file.size

    @property
    def layouts(self) -> set[Layout]:
        """The text was read before."""
        return set()

    def _tokens_already(self) -> bool:
        return True

    def share_read(self) -> float | None:
        """The share of the bytes read in the current iteration, from 0 to 1."""
        return self._read / max(1, sum(file.size for file in self._stored.files))

    def identity(self) -> list[list[str | int]]:
        """The names and sizes of the files, and what they were made with."""
        found: list[list[str | int]] = [[file.location.shown, file.size] for file in self._stored.files]
        return [[self._stored.made_with.model_dump_json()], *found]

    def check_resumable(self) -> None:
        """Always allowed: files can be read again."""


class StoredVectors(VectorSource):
    """Gives the stored vectors of the sentences of its `corpus`, and of nothing else.

    Args:
        stored: The vectors.

    Attributes:
        corpus: The sentences.

    Raises:
        InputError: The vectors are not one for each token.
    """

    def __init__(self, stored: Stored) -> None:
        made = stored.made_with
        if made.pool is not None:
            raise InputError(
                f"{stored.shown}: holds one vector per sentence (pool {made.pool}), and one per token is needed; embed "
                "the text without --pool"
            )
        self._stored, self.corpus = stored, StoredSentences(stored)
        self.layers, self.dim, self.precision, self.stateful = (
            made.source_layers,
            made.dim,
            made.precision,
            made.stateful,
        )
        words = made.dictionary
        self.segmentation = Segmentation(made.tokenize, None if words is None else Dictionary(words))
        self.path = made.model_path or None

    def fingerprint(self) -> str:
        """Of the model that made the vectors."""
        return self._stored.made_with.model

    def only_layers(self, asked: LayerChoice | None = None) -> LayerChoice:
        """Which layers to use, if nothing else is asked for: those that are stored.

        Args:
            asked: What the user asked for.

        Raises:
            InputError: Those are not stored.
        """
        held = self._stored.made_with.layers
        if held == "all":
            return "top" if asked is None else asked
        if held == "mix" or asked not in (None, parse_choice(held)):
            what = "a mix of layers" if held == "mix" else f"layers {held} alone"
            wanted = "one layer or the mean" if asked is None else f"layers {asked}"
            raise InputError(f"{self._stored.shown}: holds {what}, and {wanted} is needed; embed the text with that")
        return parse_choice(held)

    def stream(self, sentences: Sentences, *, layers: LayerChoice = "all") -> Iterator[Vectors]:
        """The stored vectors; see `VectorSource`."""
        check_choice(layers, self.layers)
        self.only_layers(layers)
        for tokens in sentences:
            if not isinstance(tokens, StoredTokens):
                raise InputError(
                    f"{self._stored.shown}: holds the vectors of its own sentences, and cannot embed others; load the "
                    "model that made it"
                )
            yield self._chosen(tokens.vectors, layers)

    def _chosen(self, vectors: list[Vectors], layers: LayerChoice) -> Vectors:
        if len(vectors) == 1:
            return vectors[0]
        chosen = [one.numpy() for one in choose([torch.from_numpy(one) for one in vectors], layers)]
        return np.stack(chosen) if layers == "all" else chosen[0]


def stored_columns(stored: Stored) -> list[str]:
    """The columns of the vectors."""
    made = stored.made_with
    return [f"layer_{number}" for number in range(made.source_layers)] if made.layers == "all" else ["vector"]
