"""The average vectors of the words of an index."""

from collections.abc import Iterable, Mapping

import numpy as np

from polyseme.arrays import Vectors
from polyseme.index.vectors import unit
from polyseme.text.query_word import cut_apart
from polyseme.text.segmentation import Segmentation


def average_directions(
    counts: Mapping[str, int], sums: Iterable[tuple[str, int, Vectors]], dim: int, least: int
) -> tuple[dict[str, int], Vectors]:
    """Words with enough occurrences, and the direction (W, D) of the average of each from the average of all.

    Args:
        counts: Occurrences of each word.
        sums: Words, a number of occurrences and the sum (D,) of their unit vectors; a word may come several times.
        dim: The length of the vectors.
        least: How many occurrences are enough.
    """
    often = (word for word, count in counts.items() if count >= least)
    words = {word: number for number, word in enumerate(often)}
    rows = np.zeros((len(words), dim), dtype=np.float32)
    for word, _, total in sums:
        if word in words:
            rows[words[word]] += total
    rows /= np.array([counts[word] for word in words], dtype=np.float32)[:, None]
    return words, unit(rows - rows.mean(axis=0))


def too_rare(counts: Mapping[str, int], word: str, least: int, cut: Segmentation) -> str:
    """What to say about a word without enough occurrences in a text that was cut in this way."""
    if times := counts.get(word, 0):
        return f"occurs only {times} times in it, fewer than {least}; give another word or a lower limit"
    others = [other for other in counts if other.casefold() == word.casefold()]
    apart = cut_apart(word, cut, "when the text is indexed")
    advice = f"try {max(others, key=counts.__getitem__)!r}" if others else apart
    return f"is not in it; {advice or 'give another word'}"
