"""How many senses are found in words as frequent as the one that is studied?"""

from dataclasses import asdict, dataclass

from polyseme.files.whole import JSON
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.study.control_words import control_words
from polyseme.study.sense_induction import LEAST, MOST_OCCURRENCES, cluster


@dataclass(frozen=True, slots=True)
class ControlSenses:
    """The senses of a control word; see `polyseme.study.sense_induction.Senses`."""

    word: str
    occurrences: int
    senses: int
    silhouette: float | None
    by_chance: float | None

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return asdict(self)


def senses_of_controls(index: OccurrenceIndex, word: str, count: int) -> list[ControlSenses]:
    """Cluster the occurrences of words that are nearest to a word in frequency.

    If as many senses are found in most of them, those of the word are hardly more than the variety of any contexts.

    Args:
        index: Where the occurrences are.
        word: As it is written in the text, or in another letter case.
        count: How many control words.
    """
    counts: dict[str, int] = {}
    for other, times in index.counts.items():
        counts[other.casefold()] = counts.get(other.casefold(), 0) + times
    often = {other for other, times in counts.items() if times >= LEAST}
    result = []
    for other in control_words(word.casefold(), [counts], count, among=often) if word.casefold() in counts else ():
        _, points = index.occurrences(other, most=MOST_OCCURRENCES)
        assigned, silhouette, by_chance = cluster(points)
        result.append(ControlSenses(other, len(points), int(assigned.max()) + 1, silhouette, by_chance))
    return result
