"""Labels for the points of a map, from a table of a user or from the words of a CoNLL-U file."""

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from polyseme.errors import InputError
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.study.maps.occurrence_map import OccurrenceMap, numbered_names
from polyseme.text.labels import LabelledText

KEYS = ("word", "document", "file", "name")
"""What the first column of a table may be about."""
_CONLLU = (".conllu", ".conllu.gz")


@dataclass(frozen=True)
class PointLabels:
    """A label for each point.

    Attributes:
        title: What the labels say.
        labels: (P,) positions in ``names``; the empty name is of those without a label.
        names: The most frequent first.
    """

    title: str
    labels: NDArray[np.uint32]
    names: list[str]


def own_labels(made: OccurrenceMap) -> PointLabels | None:
    """The labels that texts got when they were indexed; None if they got none."""
    return PointLabels("label", made.labels, made.label_names) if any(made.label_names) else None


def read_labels(path: Path, column: str, made: OccurrenceMap, indexes: Sequence[OccurrenceIndex]) -> PointLabels:
    """Labels of the points of a map.

    Args:
        path: A CoNLL-U file, whose sentences are those of the index; or CSV with a line of titles, whose first column
            is one of `KEYS` and whose second column holds the labels.
        column: Of the CoNLL-U file.
        made: The map.
        indexes: Whose occurrences are on it.

    Raises:
        InputError: The file cannot be read, or no point has a label.
    """
    if path.name.endswith(_CONLLU):
        title, labels = column, _of_sentences(path, column, made, indexes)
    else:
        title, labels = _of_table(path, made, indexes)
    if not any(labels):
        raise InputError(f"{path}: labels none of the {len(made):,} points of the map; give the labels of this text")
    numbers, names = numbered_names(labels)
    return PointLabels(title, numbers, names)


def _occurrences(made: OccurrenceMap, indexes: Sequence[OccurrenceIndex]) -> list[Occurrence]:
    pairs = zip(made.corpora.tolist(), made.numbers.tolist(), strict=True)
    return [indexes[corpus].numbered.one(number) for corpus, number in pairs]


def _of_sentences(path: Path, column: str, made: OccurrenceMap, indexes: Sequence[OccurrenceIndex]) -> list[str]:
    known = {tuple(sentence.tokens): sentence.labels for sentence in LabelledText(path, column)}
    found = []
    for one in _occurrences(made, indexes):
        labels = known.get(tuple(one.sentence))
        found.append("" if labels is None else labels[one.position])
    return found


def _of_table(path: Path, made: OccurrenceMap, indexes: Sequence[OccurrenceIndex]) -> tuple[str, list[str]]:
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            rows = list(csv.reader(file))
    except (OSError, ValueError, csv.Error) as error:
        why = " ".join(str(getattr(error, "strerror", None) or error).split())
        raise InputError(f"{path}: cannot be read as CSV ({why}); give a table with the columns word,label") from error
    if not rows or len(rows[0]) < 2 or rows[0][0].strip() not in KEYS:
        got = ",".join(rows[0])[:60] if rows else "nothing"
        raise InputError(f"{path}: line 1 is {got!r}, expected titles such as word,label; the first one of {KEYS}")
    key, title = rows[0][0].strip(), rows[0][1].strip() or "label"
    for number, row in enumerate(rows[1:], 2):
        if row and len(row) < 2:
            raise InputError(f"{path}: line {number}: one column, expected {key} and {title}")
    table = {row[0]: row[1] for row in rows[1:] if row}
    if key == "word":
        by_name = [table.get(name, table.get(name.casefold(), "")) for name in made.word_names]
        return title, [by_name[number] for number in made.words.tolist()]
    return title, [table.get(str(one.place.to_dict()[key] or ""), "") for one in _occurrences(made, indexes)]
