"""Reads one column of a CoNLL-U file as the labels of its words."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from polyseme.errors import InputError
from polyseme.text.lines import Lines
from polyseme.text.readers import read_conllu
from polyseme.text.repairs import Repairs

COLUMNS = ("form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc")
"""The names of columns 2 to 10."""
NOT_GIVEN = "_"
_WITH_KEYS = ("feats", "misc")


@dataclass(frozen=True, slots=True)
class LabelledSentence:
    """A sentence with one label per word."""

    tokens: list[str]
    labels: list[str]


class LabelledText:
    """Sentences of a CoNLL-U file with labels from one column; can be iterated more than once.

    Words are those of `read_conllu`: multiword ranges (1-2) and empty nodes (1.1) are left out.

    Args:
        path: The file; gzip is recognised by content.
        column: A name of `COLUMNS`; ``feats:Case`` or ``misc:SpaceAfter`` for one key of such a column, with the label
            ``_`` for words without the key; or the number of a column from 1, which may be beyond the tenth.

    Attributes:
        repairs: What has been replaced so far in the current iteration.

    Example:
        >>> for sentence in LabelledText("train.conllu", "feats:Number"):
        ...     print(sentence.tokens, sentence.labels)
        ['The', 'banks', 'flooded'] ['_', 'Plur', '_']
        ['She', 'slept'] ['Sing', '_']
    """

    def __init__(self, path: str | Path, column: str) -> None:
        self.path = str(path)
        self.column = column
        self._label = label_reader(column)
        self.repairs = Repairs()

    def __iter__(self) -> Iterator[LabelledSentence]:
        self.repairs = Repairs()
        try:
            file = Path(self.path).open("rb")  # noqa: SIM115 - closed below
        except OSError as error:
            raise InputError(f"{self.path}: cannot be opened: {error.strerror}; give a CoNLL-U file") from error
        with file:
            lines = _Labelled(file, name=self.path, repairs=self.repairs)
            lines.label = self._label
            for sentence in read_conllu(lines):
                labels, lines.labels = lines.labels, []
                yield LabelledSentence(sentence.tokens, labels)


class _Labelled(Lines):
    """Lines that also collect the labels of words, each after the reader has accepted its line."""

    label: Callable[[list[str], str], str]

    def __iter__(self) -> Iterator[str]:
        self.labels: list[str] = []
        for line in super().__iter__():
            yield line
            columns = line.split("\t")
            if columns[0].isdecimal():
                self.labels.append(self.label(columns, self.place))


def label_reader(column: str) -> Callable[[list[str], str], str]:
    """Return a function from the columns of a line, and its position for messages, to the label.

    Args:
        column: As `LabelledText` takes it.

    Raises:
        InputError: There is no such column; the function raises it for a line that lacks the column.
    """
    name, colon, key = column.partition(":")
    number = int(name) if name.isdecimal() else COLUMNS.index(name) + 2 if name in COLUMNS else 0
    if number < 1 or (colon and (name not in _WITH_KEYS or not key)):
        raise InputError(
            f"unknown column {column!r}; expected {', '.join(COLUMNS)}, feats:KEY, misc:KEY or a column's number from 1"
        )

    def label(columns: list[str], place: str) -> str:
        if len(columns) < number:
            raise InputError(f"{place}: {len(columns)} columns, but column {number} was chosen; choose another")
        value = columns[number - 1]
        if not value:
            raise InputError(f"{place}: column {column} is empty; write {NOT_GIVEN} for a missing value")
        if not colon or value == NOT_GIVEN:
            return value
        pairs = dict(pair.partition("=")[::2] for pair in value.split("|"))
        if name == "feats" and not all(pairs.values()):
            raise InputError(f"{place}: got features {value!r}, expected Name=Value|Name=Value; correct the line")
        return pairs.get(key, NOT_GIVEN) or key  # misc may have keys without a value

    return label
