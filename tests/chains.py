"""Text from a Markov chain whose true probabilities are known."""

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

WORDS = ("ba", "ce", "di", "fo", "gu", "lem", "mir", "nor", "pas", "rul")
END = 0.2

MINI: dict[str, Any] = {
    "preset": "tiny",
    "filters": ((1, 8), (2, 16), (3, 16)),
    "character_dim": 8,
    "layers": 1,
    "hidden_dim": 48,
    "projection_dim": 24,
    "batch_tokens": 256,
    "precision": "float32",
    "dropout": 0.0,
    "learning_rate": 0.02,
    "min_count": 1,
    "cutoffs": (6, 10),
    "samples": 6,
    "rows": 8,
    "steps_a_row": 16,
    "max_sentence": 100,
}
"""A model small enough to learn the chain in seconds."""


class Chain:
    """A chain over `WORDS` with a beginning and an end.

    What comes next depends on the last word alone; a sentence ends after a word with probability `END`. Read from its
    end the same text is a chain too, and as both directions give a whole sentence the same probability with the same
    number of predictions, the best perplexity of the two is the same.
    """

    def __init__(self, seed: int = 0, successors: int = 3) -> None:
        generator = np.random.default_rng(seed)
        self.first = np.full(len(WORDS), 1 / len(WORDS))
        self.next = np.zeros((len(WORDS), len(WORDS) + 1))  # the last column is the end
        for row in self.next:
            row[generator.choice(len(WORDS), successors, replace=False)] = (1 - END) * generator.dirichlet(
                np.full(successors, 2.0)
            )
            row[-1] = END

    def sentences(self, count: int, seed: int) -> list[list[str]]:
        generator = np.random.default_rng(seed)
        result = []
        for _ in range(count):
            word, sentence = int(generator.choice(len(WORDS), p=self.first)), []
            while word < len(WORDS):
                sentence.append(WORDS[word])
                word = int(generator.choice(len(WORDS) + 1, p=self.next[word]))
            result.append(sentence)
        return result

    def perplexity(self, sentences: Sequence[Sequence[str]]) -> float:
        """The best that any model can do on these sentences, on average, in either direction."""
        total, predictions = 0.0, 0
        for sentence in sentences:
            numbers = [WORDS.index(word) for word in sentence]
            total -= math.log(self.first[numbers[0]])
            for now, after in zip(numbers, [*numbers[1:], len(WORDS)], strict=True):
                total -= math.log(self.next[now, after])
            predictions += len(sentence) + 1
        return math.exp(total / predictions)

    def unigram_perplexity(self, sentences: Sequence[Sequence[str]]) -> float:
        """What counting words alone gives on these very sentences."""
        flat = [word for sentence in sentences for word in [*sentence, "</S>"]]
        _, counts = np.unique(flat, return_counts=True)
        share = counts / counts.sum()
        return math.exp(-(share * np.log(share)).sum())


def write(path: Path, sentences: Sequence[Sequence[str]]) -> Path:
    path.write_text("".join(" ".join(sentence) + "\n" for sentence in sentences), encoding="utf-8")
    return path
