"""Measures how well words alone are compared, by how rare they are: rank correlation with people's judgements.

The sets are those in the package hyperhyper (MEN, rare words, Radinsky's MTurk, WordSim-353), read from its wheel. A
word is embedded as a sentence of its own, and the mean vector of all words of a set is taken off. A pair belongs to the
band of its rarer word, by rank in the model's vocabulary, which is sorted by count.
"""

import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from benchmarks.figures import Figure, layer_names
from polyseme import Embedder
from polyseme.errors import FormatError
from polyseme.index.vectors import unit
from polyseme.study.bootstrap import DRAWS

FOLDER = "hyperhyper/evaluation_datasets/en/ws/"
HEAD = "word1\tword2\tscore"
SETS = {
    "bruni_men.tsv": "MEN",
    "luong_rare.tsv": "rare words",
    "radinsky_mturk.tsv": "MTurk",
    "ws353.tsv": "WordSim-353",
}
BANDS = {"rank to 2,000": 2_000, "to 10,000": 10_000, "to 50,000": 50_000, "not in the vocabulary": None}
LEAST = 30
"""Pairs that a band needs to count."""
MEASURE = "Similarity of words alone: rank correlation"

Pair = tuple[str, str, float]
Numbers = NDArray[np.float64]


def measure(embedder: Embedder, wheel: Path) -> list[Figure]:
    """The figures of every set and band."""
    found = []
    for name, pairs in read(wheel):
        cosines = similarities(embedder, pairs)  # (L + 1, P)
        judged = np.array([score for _, _, score in pairs])
        bands = np.array([_band(embedder, pair) for pair in pairs])
        for of, chosen in [("all", bands != ""), *((band, bands == band) for band in BANDS)]:
            if chosen.sum() >= LEAST:
                for by, some in zip(layer_names(embedder.layers), cosines, strict=True):
                    figures = spearman(some[chosen], judged[chosen]), *_interval(some[chosen], judged[chosen])
                    found.append(Figure(MEASURE, f"{name}, {of}", int(chosen.sum()), by, *figures))
    return found


def read(wheel: Path) -> Iterator[tuple[str, list[Pair]]]:
    """Each set with its pairs."""
    with zipfile.ZipFile(wheel) as files:
        for file, name in SETS.items():
            pairs = []
            for line in files.read(FOLDER + file).decode().splitlines():
                if line.startswith("#") or line == HEAD or not line.strip():
                    continue
                try:
                    one, two, score = line.split("\t")
                    pairs.append((one, two, float(score)))
                except ValueError:
                    raise FormatError(f"{wheel}: {file}: {line!r} is not two words and a number between tabs") from None
            yield name, pairs


def similarities(embedder: Embedder, pairs: Sequence[Pair]) -> Numbers:
    """The cosines (L + 1, P) of pairs, each word in no context; the mean of layers last."""
    words = sorted({word for one, two, _ in pairs for word in (one, two)})
    vectors = np.concatenate(list(embedder.stream([word] for word in words)), axis=1)  # (L, W, D)
    vectors = np.concatenate([vectors, vectors.mean(axis=0, keepdims=True)])
    vectors = unit(vectors - vectors.mean(axis=1, keepdims=True))
    place = {word: number for number, word in enumerate(words)}
    first, second = [place[one] for one, _, _ in pairs], [place[two] for _, two, _ in pairs]
    cosines: Numbers = np.einsum("lpd,lpd->lp", vectors[:, first], vectors[:, second]).astype(np.float64)
    return cosines


def spearman(one: Numbers, two: Numbers) -> float:
    """The correlation of ranks; equal values share the mean of their ranks."""
    return float(np.corrcoef(_ranks(one), _ranks(two))[0, 1])


def _interval(one: Numbers, two: Numbers, draws: int = DRAWS // 2, seed: int = 0) -> tuple[float, float]:
    """The 95% interval: pairs are drawn again."""
    random, found = np.random.default_rng(seed), []
    for _ in range(draws):
        rows = random.integers(0, len(one), len(one))
        found.append(spearman(one[rows], two[rows]))
    low, high = np.quantile(found, (0.025, 0.975))
    return float(low), float(high)


def _ranks(values: Numbers) -> Numbers:
    _, where, counts = np.unique(values, return_inverse=True, return_counts=True)
    ranks: Numbers = (np.cumsum(counts) - (counts - 1) / 2)[where]
    return ranks


def _band(embedder: Embedder, pair: Pair) -> str:
    vocabulary = embedder.model.vocabulary
    if vocabulary is None:
        return "unknown"
    ranks = [vocabulary.ids.get(word) for word in pair[:2]]
    for band, last in BANDS.items():
        if last is None or all(rank is not None and rank <= last for rank in ranks):
            return band
    return "unknown"
