"""Is a change more than chance, and what is it? Shuffled splits, control words, and sentences that are new or gone."""

from collections.abc import Collection
from dataclasses import dataclass

import numpy as np

from polyseme.arrays import Vectors
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.index.occurrence import Occurrence
from polyseme.study.change_measures import Change
from polyseme.study.choices import ChangeSort
from polyseme.study.compared import Compared, Occurrences
from polyseme.study.control_words import control_words

_SEED = 1
_MOST = 1000
"""Occurrences in each text that are shuffled, and of which examples are chosen."""
_LEAST_MEASURED = 50
"""Words whose noise is measured if they are ranked by it, or twice as many as are wanted if that is more."""


@dataclass(frozen=True, slots=True)
class Noise:
    """What the measures of change reach by chance: if the occurrences of both texts are shuffled and split again."""

    apd: float
    """The mean over the shuffles."""
    apd_95: float
    """What 95% of the shuffles do not exceed."""
    prt: float
    prt_95: float


@dataclass(frozen=True, slots=True)
class Evidence:
    """A word's change, with what speaks for it.

    Attributes:
        change: How much it changed.
        noise: How much it would have changed by chance; None if nothing was shuffled.
        new: Occurrences of the new text that are least like any of the old one. ``similarity`` is the cosine to the
            nearest occurrence there.
        gone: The reverse: occurrences of the old text that are least like any of the new one.
        controls: The change of words that are as frequent in both texts.
    """

    change: Change
    noise: Noise | None
    new: list[Occurrence]
    gone: list[Occurrence]
    controls: list[Change]

    @property
    def excess(self) -> float | None:
        """APD minus what 95% of the shuffles do not exceed; None if nothing was shuffled."""
        return None if self.noise is None else self.change.apd - self.noise.apd_95

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        noise, controls = self.noise, self.controls
        return {
            **self.change.to_dict(),
            "noise_apd": noise.apd if noise else None,
            "noise_apd_95": noise.apd_95 if noise else None,
            "noise_prt": noise.prt if noise else None,
            "noise_prt_95": noise.prt_95 if noise else None,
            "control_apd": float(np.mean([one.apd for one in controls])) if controls else None,
            "control_prt": float(np.mean([one.prt for one in controls])) if controls else None,
            "controls": [one.word for one in controls],
            "new_examples": [one.to_dict() for one in self.new],
            "gone_examples": [one.to_dict() for one in self.gone],
        }


def gather_evidence(
    compared: Compared,
    words: Collection[str] = (),
    *,
    least: int = 10,
    top: int = 50,
    shuffles: int = 20,
    examples: int = 2,
    controls: int = 0,
    sort: ChangeSort = "apd",
) -> tuple[list[Evidence], list[Change]]:
    """Compare words in two texts, and say of the most changed ones how sure that is and what has changed.

    Args:
        compared: The texts.
        words: Which words; if none is given, all that occur often enough in both.
        least: How often is often enough.
        top: For how many words evidence is gathered, the most changed first.
        shuffles: How often the occurrences of a word are shuffled to see what chance does; 0 for not at all.
        examples: Sentences that are new, and that are gone, to give for each word; 0 for none.
        controls: Words as frequent as each, to compare it with; 0 for none.
        sort: What words are ranked by; see `ChangeSort`. For ``"excess"`` the noise of 2 * ``top`` words is measured.

    Returns:
        The evidence for the most changed words, and the changes of all words by their APD; the most changed first.
    """
    _check(sort, shuffles, examples, controls)
    targets = compared.choose(words, least)
    beside = {word: control_words(word, compared.counts, controls) for word in targets if words and controls}
    more = {other for others in beside.values() for other in others}
    found = compared.changes({*targets, *more} if words else (), least=least, keep=targets if words else ())
    by_word, wanted = {one.word: one for one in found}, [one for one in found if one.word in targets]
    measured = _first(wanted, top, sort)
    names = [one.word for one in measured] if shuffles or examples else []
    places, result = compared.occurrences(names, most=_MOST), []
    for one in measured:
        others = beside.get(one.word) or control_words(one.word, compared.counts, controls, among=by_word)
        beside_it = [by_word[other] for other in others]
        result.append(_evidence(one, places.get(one.word), beside_it, shuffles, examples))
    return _ranked(result, sort)[:top], wanted


def _ranked(found: list[Evidence], sort: ChangeSort) -> list[Evidence]:
    """By excess if that is asked for, else as they are."""
    return sorted(found, key=lambda one: (-(one.excess or 0.0), one.change.word)) if sort == "excess" else found


def _check(sort: ChangeSort, shuffles: int, examples: int, controls: int) -> None:
    """Refuse numbers and a ranking that mean nothing."""
    if sort == "excess" and not shuffles:
        raise InputError("words are ranked by excess only if they are shuffled; shuffle them, or rank them by apd")
    if min(shuffles, examples, controls) < 0:
        raise InputError("shuffles, examples and controls are numbers of at least 0; leave out the negative one")


def _first(changes: list[Change], top: int, sort: ChangeSort) -> list[Change]:
    """The words that can be among the most changed ones, the most changed first."""
    if sort == "excess":
        ranked = sorted(changes, key=lambda one: (one.by_chance - one.apd, one.word))
        return ranked[: max(2 * top, _LEAST_MEASURED)]
    by_prt = sort == "prt"
    return sorted(changes, key=lambda one: (-(one.prt if by_prt else one.apd), one.word))[:top]


def _evidence(
    change: Change, found: tuple[Occurrences, Occurrences] | None, controls: list[Change], shuffles: int, examples: int
) -> Evidence:
    if found is None:
        return Evidence(change, None, [], [], controls)
    old, new = found
    noise = noise_floor(old[1], new[1], shuffles=shuffles) if shuffles else None
    return Evidence(change, noise, unlike(new, old[1], examples), unlike(old, new[1], examples), controls)


def noise_floor(old: Vectors, new: Vectors, *, shuffles: int) -> Noise:
    """APD and PRT of shuffled splits: all unit vectors (n, D) and (m, D) together, divided by chance into n and m."""
    pool = np.concatenate([old, new]).astype(np.float64)
    total, draw = pool.sum(axis=0), np.random.default_rng(_SEED)
    reached = []
    for _ in range(shuffles):
        one = pool[draw.permutation(len(pool))[: len(old)]].sum(axis=0)
        first, second = one / len(old), (total - one) / len(new)
        product, lengths = float(first @ second), float(np.linalg.norm(first) * np.linalg.norm(second))
        reached.append((max(0.0, 1 - product), max(0.0, 1 - product / lengths) if lengths else 1.0))
    apd, prt = np.array(reached).T
    highest = [float(np.quantile(values, 0.95)) for values in (apd, prt)]
    return Noise(float(apd.mean()), highest[0], float(prt.mean()), highest[1])


def unlike(found: Occurrences, others: Vectors, count: int) -> list[Occurrence]:
    """The occurrences whose nearest among the others (m, D) is farthest, each in another sentence."""
    occurrences, rows = found
    nearest = (rows @ others.T).max(axis=1)
    result: list[Occurrence] = []
    seen: set[tuple[str, ...]] = set()
    for number in np.argsort(nearest, kind="stable").tolist():
        sentence = tuple(occurrences[number].sentence)
        if len(result) < count and sentence not in seen:
            seen.add(sentence)
            result.append(occurrences[number]._replace(similarity=float(nearest[number])))
    return result
