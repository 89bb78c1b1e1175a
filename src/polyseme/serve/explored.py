"""What the explorer page asks: sentences of points, groups of points, words, senses, nearest contexts, change."""

from collections import Counter
from collections.abc import Sequence

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.inputs import tokens_and_position
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.serve.explore_requests import (
    CompareRequest,
    GroupRequest,
    MapNearestRequest,
    MapSensesRequest,
    PointsRequest,
    WordRequest,
)
from polyseme.serve.explorer import Explorer
from polyseme.serve.parts import Parts
from polyseme.serve.refusal import Refusal
from polyseme.study.change_measures import Usage, compare
from polyseme.study.sense_induction import induce_senses
from polyseme.study.typical_words import TypicalWords

Record = dict[str, JSON]
_MOST = 2_000  # points of a group, or occurrences of a word, that are compared
_CENTRAL = 12  # occurrences whose substitutes are typical of a group
_TYPICAL = 12  # words


def explorer_of(parts: Parts) -> Explorer:
    """The explorer of a server.

    Raises:
        Refusal: It has none.
    """
    if parts.explorer is None:
        raise Refusal(409, "no_map", "this server has no map; start it with polyseme explore INDEX")
    return parts.explorer


def points(parts: Parts, asked: PointsRequest) -> Record:
    """The sentences of points."""
    explorer = explorer_of(parts)
    chosen = _checked(explorer, asked.points)
    return {"data": _as_dicts(explorer, chosen, explorer.occurrences(chosen))}


def group(parts: Parts, asked: GroupRequest) -> Record:
    """The words of a group of points, its most central sentences, and the words that would fit there."""
    explorer = explorer_of(parts)
    every = _checked(explorer, asked.points)
    counts = np.bincount(explorer.map.words[every])
    often = np.argsort(-counts, kind="stable")[:50]
    words: list[JSON] = [
        {"word": explorer.map.word_names[number], "points": int(counts[number])} for number in often if counts[number]
    ]
    some = every[_even(len(every), _MOST)]
    order = _central(_vectors(explorer, some))
    central = some[order[: max(_CENTRAL, asked.k)]]
    found = explorer.occurrences(central)
    but = {one.word for one in found}
    typical = TypicalWords(explorer.indexes[0], but, count=_TYPICAL)
    return {
        "points": len(every),
        "words": words,
        "typical": [*typical(found[:_CENTRAL])],
        "labels": typical.source,
        "data": _as_dicts(explorer, central, found)[: asked.k],
    }


def word(parts: Parts, asked: WordRequest) -> Record:
    """The occurrences of a word, spread evenly over each text."""
    explorer = explorer_of(parts)
    data: list[JSON] = []
    totals: list[JSON] = []
    for corpus, index in enumerate(explorer.indexes):
        totals.append(len(index.numbered.of(asked.word)))
        found = index.numbered.read(index.numbered.of(asked.word, most=asked.k))
        data += explorer.to_dicts(corpus, found)
    if not any(totals):
        explorer.indexes[0].occurrences(asked.word, most=1)  # says why there is none
    return {"word": asked.word, "occurrences": totals, "data": data}


def senses(parts: Parts, asked: MapSensesRequest) -> Record:
    """The senses of a word, and the sense of each of its points on the map."""
    explorer = explorer_of(parts)
    index = _index(explorer, asked.corpus)
    found = induce_senses(index, asked.word, senses=asked.senses, examples=asked.k)
    averages = [unit(found.points[found.assigned == number].mean(axis=0)) for number in range(len(found.senses))]
    on_map = explorer.point_of(asked.corpus, index.numbered.of(asked.word).tolist())
    here = np.array([point for point in on_map if point is not None], dtype=np.int64)
    near = _vectors(explorer, here) @ np.stack(averages).T
    record = found.to_dict()
    record["senses"] = [
        {**sense.to_dict(), "examples": explorer.to_dicts(asked.corpus, sense.examples)} for sense in found.senses
    ]
    return {**record, "corpus": asked.corpus, "points": here.tolist(), "assigned": near.argmax(axis=1).tolist()}


def nearest(parts: Parts, asked: MapNearestRequest) -> Record:
    """The occurrences that mean what a word means in a sentence, with their points."""
    explorer = explorer_of(parts)
    index = _index(explorer, asked.corpus)
    sentence, position = tokens_and_position(asked.sentence, asked.position, index.segmentation)
    found = index.nearest(
        sentence, position, k=asked.k, words=asked.words, group=asked.group, exact=asked.exact, whiten=asked.whiten
    )
    data = explorer.to_dicts(asked.corpus, found)
    return {"sentence": [*sentence], "position": position, "data": data}


def compared(parts: Parts, asked: CompareRequest) -> Record:
    """How far the occurrences of a word in two texts, or of two words in one, are from each other."""
    explorer = explorer_of(parts)
    if asked.other is None and len(explorer.indexes) < 2:
        raise InputError("there is one text; name another word to compare with, or start with two indexes")
    sides = [(asked.word, 0), (asked.word, 1)] if asked.other is None else [(asked.word, 0), (asked.other, 0)]
    both = [explorer.indexes[corpus].occurrences(name, most=_MOST) for name, corpus in sides]
    usages = (Usage(), Usage())
    for usage, (_, vectors) in zip(usages, both, strict=True):
        usage.add("", vectors.sum(axis=0), len(vectors))
    (change,) = compare(*usages)
    means = [vectors.mean(axis=0) for _, vectors in both]
    data: list[JSON] = []
    for (name, corpus), (found, vectors), mine, other in zip(sides, both, means, reversed(means), strict=True):
        # The occurrences that are nearer to their own average than to the other one, the most so first.
        order = np.argsort(-(vectors @ (mine - other)), kind="stable")[: max(_CENTRAL, asked.k)]
        typical = _distinct([found[place] for place in order])
        words = TypicalWords(explorer.indexes[corpus], [side for side, _ in sides], count=_TYPICAL)
        data.append(
            {
                "word": name,
                "corpus": corpus,
                "occurrences": len(explorer.indexes[corpus].numbered.of(name)),
                "typical": [*words(typical[:_CENTRAL])],
                "data": explorer.to_dicts(corpus, typical[: asked.k]),
            }
        )
    return {"apd": change.apd, "prt": change.prt, "sides": data}


def _index(explorer: Explorer, corpus: int) -> OccurrenceIndex:
    if corpus >= len(explorer.indexes):
        raise InputError(f"corpus is {corpus}, but there is one index; leave it out")
    return explorer.indexes[corpus]


def _checked(explorer: Explorer, chosen: Sequence[int]) -> Numbers:
    points = np.unique(np.array(chosen, dtype=np.int64))
    if points[-1] >= len(explorer.map):
        raise InputError(f"point {points[-1]} is not on the map, which has {len(explorer.map):,}; load the page again")
    return points


def _as_dicts(explorer: Explorer, chosen: Numbers, found: Sequence[Occurrence]) -> list[JSON]:
    corpora = explorer.map.corpora
    return [
        {**one.to_dict(), "corpus": int(corpora[point]), "point": int(point)}
        for point, one in zip(chosen.tolist(), found, strict=True)
    ]


def _vectors(explorer: Explorer, chosen: Numbers) -> Vectors:
    """The stored unit vectors (n, D) of points."""
    corpora, numbers = explorer.map.corpora[chosen], explorer.map.numbers[chosen]
    result = np.zeros((len(chosen), explorer.indexes[0].embedder.dim), dtype=np.float32)
    for corpus, index in enumerate(explorer.indexes):
        where = np.flatnonzero(corpora == corpus)
        result[where] = index.numbered.vectors(numbers[where])
    return result


def _central(vectors: Vectors) -> Numbers:
    """Rows by their nearness to the average."""
    return np.argsort(-(vectors @ unit(vectors.mean(axis=0))), kind="stable")


def _distinct(found: Sequence[Occurrence]) -> list[Occurrence]:
    seen: Counter[tuple[str, ...]] = Counter()
    kept = []
    for one in found:
        seen[tuple(one.sentence)] += 1
        if seen[tuple(one.sentence)] == 1:
            kept.append(one)
    return kept


def _even(total: int, most: int) -> Numbers:
    return np.arange(total) if total <= most else np.linspace(0, total - 1, most).astype(np.int64)
