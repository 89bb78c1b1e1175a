"""How alike is one word in several sentences? The cosine between its occurrences, layer by layer."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from polyseme.arrays import Vectors
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.vectors import unit
from polyseme.text.marked import marked
from polyseme.text.query_word import cut_apart
from polyseme.text.segmentation import Segmentation


@dataclass(frozen=True, slots=True)
class Comparison:
    """A word in N sentences.

    Attributes:
        word: As it was asked for.
        sentences: The tokens of each sentence, and the position of the word in it.
        layers: (L, N, N) the cosine between each two occurrences, by layer.
        mean: (N, N) the same for the mean of an occurrence's layers.
    """

    word: str
    sentences: list[tuple[list[str], int]]
    layers: Vectors
    mean: Vectors

    @property
    def tables(self) -> dict[str, Vectors]:
        """The similarities (N, N) by the name of their layer: ``"0"``, ``"1"``..., ``"mean"``."""
        return {**{str(number): table for number, table in enumerate(self.layers)}, "mean": self.mean}

    def pairs(self) -> list[dict[str, JSON]]:
        """Each two sentences, numbered from 1, with their similarity in each layer."""
        count = len(self.sentences)
        return [
            {"layer": layer, "first": one + 1, "second": two + 1, "similarity": float(table[one, two])}
            for layer, table in self.tables.items()
            for one in range(count)
            for two in range(one + 1, count)
        ]

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {
            "word": self.word,
            "sentences": [{"sentence": [*tokens], "position": position} for tokens, position in self.sentences],
            "layers": self.layers.tolist(),
            "mean": self.mean.tolist(),
        }


def compare_word(
    embedder: VectorSource, word: str, sentences: Sequence[str], *, cut: Segmentation | None = None
) -> Comparison:
    """Compare the occurrences of a word.

    Args:
        embedder: Computes the vectors.
        word: As it is written in the sentences, in any letter case.
        sentences: Raw sentences, at least two. Where the word stands more than once, or in another form, one is put in
            brackets: ``"The [bank] is not the river bank."``
        cut: How sentences are tokenised; by default as the text that the model learnt from.

    Example:
        >>> from polyseme import load
        >>> found = compare_word(load("english-small"), "bank", ["The bank lent money.", "We sat on the river bank."])
        >>> found.layers.shape, bool(found.layers[0, 0, 1] > 0.99)  # layer 0 knows the word alone
        ((3, 2, 2), True)
    """
    if isinstance(sentences, str):
        raise InputError(f"sentences is the string {sentences[:40]!r}, expected a list of at least two sentences")
    if len(sentences) < 2:
        raise InputError(f"{len(sentences)} sentence with {word!r} cannot be compared with another; give at least two")
    placed = [find_word(word, sentence, cut or embedder.segmentation) for sentence in sentences]
    found = embedder.embed([tokens for tokens, _ in placed], layers="all")
    rows = np.stack([rows[:, position] for rows, (_, position) in zip(found, placed, strict=True)], axis=1)  # (L, N, D)
    layers, mean = unit(rows), unit(rows.mean(axis=0))
    # Rounding may put a product of two equal unit vectors above 1.
    return Comparison(word, placed, np.clip(layers @ layers.transpose(0, 2, 1), -1, 1), np.clip(mean @ mean.T, -1, 1))


def find_word(word: str, sentence: str, cut: Segmentation) -> tuple[list[str], int]:
    """The tokens of a sentence and the position of a word in it: in brackets, or the only one that is this word."""
    if "[" in sentence or any(f"{opening}{word}{closing}" in sentence for opening, closing in ("【】", "［］")):
        return marked(sentence, cut)
    tokens = [token for some in cut.sentences(sentence) for token in some]
    positions = [position for position, token in enumerate(tokens) if token.casefold() == word.casefold()]
    if len(positions) == 1:
        return tokens, positions[0]
    if positions:
        raise InputError(
            f"{sentence!r}: {word!r} stands in it {len(positions)} times; put the one you mean in brackets: [{word}]"
        )
    advice = (cut_apart(word, cut) if word in sentence else None) or "check the spelling"
    raise InputError(
        f"{sentence!r}: {word!r} is not one of its tokens ({' '.join(tokens)}); {advice}, or put the word you mean in "
        "brackets"
    )
