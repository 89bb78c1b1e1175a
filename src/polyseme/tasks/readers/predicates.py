"""Reads the arguments of predicates: CoNLL-2012 columns and Universal Propositions."""

from collections.abc import Iterator, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Roles, Span
from polyseme.tasks.readers.brackets import argument_spans
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.rows import CONLLU_COLUMNS, Row, blocks, split_columns, split_conllu

WORD, LEMMA, FRAMESET, ARGUMENTS = 3, 6, 7, 11
"""The places of CoNLL-2012's columns: word, predicate's lemma and frameset, and the first column of arguments."""
SENSE = CONLLU_COLUMNS
"""The place of the predicate's sense in Universal Propositions; a column of arguments for each predicate follows."""
PREDICATE = "V"
NOTHING = frozenset(("_", ""))
"""Cells without a sense or a role; they are empty in sentences that nobody annotated."""


def read_conll2012_roles(reading: Reading) -> Iterator[Roles]:
    """Read one example for each predicate: the verb of each column of arguments."""
    for rows in blocks(reading, split_columns):
        check_width(reading, rows, ARGUMENTS + 1)
        tokens = tuple(row.columns[WORD] for row in rows)
        lines = [row.line for row in rows]
        count = len(rows[0].columns) - ARGUMENTS - 1
        predicates = [at for at, row in enumerate(rows) if is_predicate(row)]
        if not count and not reading.options.labelled:
            yield from (Roles(tokens, predicate) for predicate in predicates)
        elif not count and predicates:
            raise InputError(f"{reading.at(lines[0])}: predicates without columns of arguments; give labelled data")
        for column in range(ARGUMENTS, ARGUMENTS + count):
            spans = argument_spans(reading, [row.columns[column] for row in rows], lines)
            verb = next((span.start for span in spans if span.label == PREDICATE), None)
            if verb is None:
                raise InputError(
                    f"{reading.at(lines[0])}: column {column + 1} has arguments, but no predicate (V*); correct it"
                )
            yield Roles(tokens, verb, spans)


def is_predicate(row: Row) -> bool:
    """Whether a row of CoNLL-2012 is a predicate whose arguments are marked."""
    return row.columns[LEMMA] != "-" and row.columns[FRAMESET] != "-"


def read_propositions(reading: Reading) -> Iterator[Roles]:
    """Read one example for each word with a sense; its arguments are head words, or the subtrees of them."""
    for rows in blocks(reading, split_conllu):
        check_width(reading, rows, SENSE + 1)
        tokens = tuple(row.columns[1] for row in rows)
        predicates = [at for at, row in enumerate(rows) if row.columns[SENSE] not in NOTHING]
        count = len(rows[0].columns) - SENSE - 1
        if not count and not reading.options.labelled:
            yield from (Roles(tokens, predicate) for predicate in predicates)
            continue
        if predicates and count != len(predicates):
            raise InputError(
                f"{reading.at(rows[0].line)}: {len(predicates)} predicates, but {count} columns of arguments; give one "
                "for each"
            )
        heads = _heads(reading, rows) if reading.options.spans == "subtree" else []
        for number, predicate in enumerate(predicates):
            labels = [row.columns[SENSE + 1 + number] for row in rows]
            marked = {at: label for at, label in enumerate(labels) if label not in NOTHING}
            if reading.options.spans == "subtree":
                spans = widened(marked, heads, predicate)
            else:
                spans = tuple(Span(at, at + 1, label) for at, label in marked.items())
            yield Roles(tokens, _verb(spans, predicate), spans)


def _verb(spans: Sequence[Span], sense: int) -> int:
    """Where the predicate is: at its ``V``, which may be next to the word that has the sense."""
    return next((span.start for span in spans if span.label == PREDICATE), sense)


def check_width(reading: Reading, rows: Sequence[Row], least: int) -> None:
    """Refuse a sentence whose lines have too few columns, or differ in their number."""
    width = len(rows[0].columns)
    for row in rows:
        if len(row.columns) != width or width < least:
            expected = f"{width} as the first of its sentence" if len(row.columns) != width else f"{least} or more"
            raise InputError(
                f"{reading.at(row.line)}: {len(row.columns)} columns, where {expected} are expected; correct the line, "
                "or name the format that fits"
            )


def widened(marked: dict[int, str], heads: Sequence[int], predicate: int) -> tuple[Span, ...]:
    """Widen each head word to its subtree.

    What hangs from the predicate, or from another argument inside, is left out, as well as what the rest is parted from
    by that: spans never overlap. The predicate and its pieces (``V``, ``C-V``) stay as they are.

    Args:
        marked: The label of each head word.
        heads: The position of each word's head; -1 for the root.
        predicate: The position of the predicate.

    Example:
        >>> widened({1: "ARG0", 2: "V"}, [1, 2, -1], 2)  # "a dog barks"
        (Span(start=0, end=2, label='ARG0'), Span(start=2, end=3, label='V'))
    """
    fixed = {at for at, label in marked.items() if label.removeprefix("C-") == PREDICATE} | {predicate}
    owner = [_owner(at, heads, marked.keys() | fixed) for at in range(len(heads))]
    spans: list[Span] = []
    for at, label in marked.items():
        start, end = at, at + 1
        while at not in fixed and start > 0 and owner[start - 1] == at:
            start -= 1
        while at not in fixed and end < len(heads) and owner[end] == at:
            end += 1
        spans.append(Span(start, end, label))
    return tuple(spans)


def _owner(word: int, heads: Sequence[int], marked: set[int]) -> int:
    """The nearest marked word above a word, or itself; -1 if there is none."""
    for _ in heads:  # as many steps as a chain can have
        if word < 0 or word in marked:
            return word
        word = heads[word]
    return -1


def _heads(reading: Reading, rows: Sequence[Row]) -> list[int]:
    place = {row.columns[0]: at for at, row in enumerate(rows)}
    heads: list[int] = []
    for row in rows:
        head = row.columns[6]
        if head != "0" and head not in place:
            raise InputError(
                f"{reading.at(row.line)}: the head {head!r} is no word of the sentence; correct it, or read head words"
            )
        heads.append(place.get(head, -1))
    return heads
