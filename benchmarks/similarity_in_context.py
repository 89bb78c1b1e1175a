"""Measures whether words in context are more similar where they mean the same, on text tagged with senses.

Pairs are drawn from SemCor. The occurrences of one lemma: is a pair of the same sense more similar than a pair of
different senses? And those of two lemmas that share a synset of WordNet: is a pair more similar where both have the
shared meaning? Both sentences of a pair are at least `APART` sentences apart, so that they are not of one document.

The AUC is taken within each lemma, or pair of lemmas, and averaged over them: 0.5 is chance, and what static vectors
give, but for inflection.
"""

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path

import numpy as np

from benchmarks.figures import Figure, layer_names
from benchmarks.senses import Labels, Numbers
from polyseme.embed.source import VectorSource
from polyseme.index.vectors import unit
from polyseme.progress import Watcher
from polyseme.study.bootstrap import interval
from polyseme.study.pair_auc import auc
from polyseme.study.sense_occurrences import Occurrences, TaggedText

APART = 200
MOST = 40
"""Occurrences that are drawn of a lemma."""
LEAST = 10
"""Pairs of either kind that a lemma needs to count."""
MEASURE = "Similarity in context: AUC of pairs that mean the same"

Judged = Callable[[int, int], bool]
"""Whether two occurrences mean the same."""


def measure(embedder: VectorSource, tagged: Path, sense_index: Path | None, *, seed: int = 0) -> list[Figure]:
    """The figures of every layer.

    Args:
        embedder: Computes the vectors.
        tagged: SemCor as JSON lines, see `polyseme.study.sense_data.read_senses`.
        sense_index: WordNet's ``index.sense``; without it pairs of two lemmas are left out.
        seed: Of the draw of occurrences.
    """
    known = TaggedText([tagged]).occurrences(embedder, "reading", Watcher())
    drawn = _drawn(known, np.random.default_rng(seed))
    found = _figures(known, "pairs of one lemma", _of_one_lemma(known, drawn), embedder.layers)
    if sense_index is not None:
        pairs = _of_two_lemmas(known, drawn, synsets(sense_index))
        found += _figures(known, "pairs of two lemmas of a synset", pairs, embedder.layers)
    return found


def synsets(sense_index: Path) -> dict[str, str]:
    """The synset of each sense key of WordNet's ``index.sense``."""
    lines = (line.split() for line in sense_index.read_text(encoding="utf-8").splitlines())
    # A satellite, 5, is numbered with the other adjectives, 3.
    return {key: f"{key.partition('%')[2][0].replace('5', '3')} {offset}" for key, offset, *_ in lines}


def _drawn(known: Occurrences, random: np.random.Generator) -> dict[str, list[int]]:
    """At most `MOST` occurrences of each lemma and part of speech, of those with a single sense."""
    rows = np.array([row for row, tag in enumerate(known.tags) if len(tag.senses) == 1], dtype=np.int64)
    return {
        f"{lexeme.lemma} {lexeme.part}": sorted(random.permutation(places)[:MOST].tolist())
        for lexeme, places in known.by_lexeme(rows).items()
    }


def _of_one_lemma(known: Occurrences, drawn: Mapping[str, list[int]]) -> Iterator[tuple[Numbers, Labels]]:
    """For each lemma the pairs (P, 2) of its occurrences, and which of them are of the same sense."""
    for rows in drawn.values():
        yield _pairs(known, rows, rows, lambda one, two: known.tags[one].senses == known.tags[two].senses)


def _of_two_lemmas(
    known: Occurrences, drawn: Mapping[str, list[int]], synset: Mapping[str, str]
) -> Iterator[tuple[Numbers, Labels]]:
    """The same for every two lemmas that share a synset."""
    meant = {row: synset.get(known.tags[row].senses[0]) for rows in drawn.values() for row in rows}
    lemmas: dict[str, list[str]] = {}
    for lemma, rows in drawn.items():
        for one in {meant[row] for row in rows} - {None}:
            lemmas.setdefault(str(one), []).append(lemma)
    couples = {(a, b) for some in lemmas.values() for a in some for b in some if a < b}
    for first, second in sorted(couples):
        yield _pairs(known, drawn[first], drawn[second], lambda one, two: meant[one] == meant[two] is not None)


def _pairs(known: Occurrences, first: list[int], second: list[int], same: Judged) -> tuple[Numbers, Labels]:
    place = known.sentences
    pairs = [(a, b) for a in first for b in second if place[b] - place[a] >= APART]
    if first is not second:
        pairs += [(a, b) for a in first for b in second if place[a] - place[b] >= APART]
    return np.array(pairs, dtype=np.float64).reshape(-1, 2), np.array([same(a, b) for a, b in pairs], dtype=np.bool_)


def _figures(known: Occurrences, of: str, groups: Iterator[tuple[Numbers, Labels]], layers: int) -> list[Figure]:
    found = [
        [auc(cosines, same) for cosines in _cosines(known, pairs)]
        for pairs, same in groups
        if min(same.sum(), (~same).sum()) >= LEAST
    ]
    if not found:
        return []
    values = np.array(found)  # (groups, L + 1)
    low, high = interval(values)
    figures = zip(layer_names(layers), values.mean(axis=0).tolist(), low.tolist(), high.tolist(), strict=True)
    return [Figure(MEASURE, of, len(found), *figure) for figure in figures]


def _cosines(known: Occurrences, pairs: Numbers) -> Numbers:
    """(L + 1, P), the mean of layers last."""
    rows, where = np.unique(pairs.astype(np.int64), return_inverse=True)
    vectors = known.vectors[rows].astype(np.float32)  # (R, L, D)
    vectors = unit(np.concatenate([vectors, vectors.mean(axis=1, keepdims=True)], axis=1))
    first, second = where.reshape(-1, 2).T
    # Beyond the fifth decimal is rounding, which must not break the ties of layer 0.
    cosines: Numbers = np.einsum("pld,pld->lp", vectors[first], vectors[second]).astype(np.float64).round(5)
    return cosines
