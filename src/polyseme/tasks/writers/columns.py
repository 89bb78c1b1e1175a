"""Puts predicted tags and roles into the columns of the file that was read; all else stays as it is."""

from collections.abc import Callable, Iterator, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Example, Roles, Span, Tagged
from polyseme.tasks.readers.brackets import bracketed
from polyseme.tasks.readers.predicates import ARGUMENTS, FRAMESET, LEMMA, NOTHING, SENSE
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.rows import split_columns, split_conllu
from polyseme.tasks.readers.tagged import split_wikiann, tag_column
from polyseme.text.labels import COLUMNS, NOT_GIVEN

Split = Callable[[str, str], list[str] | None]
_HEAD = 6


def conll_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """CoNLL-2003 columns with the predicted tags in their column."""
    column = tag_column(reading)
    return _tag_lines(reading, predictions, split_columns, lambda line, tag: _with_cell(line, column, tag))


def wikiann_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """WikiANN with the predicted tags."""
    return _tag_lines(reading, predictions, split_wikiann, lambda line, tag: line.partition("\t")[0] + "\t" + tag)


def conllu_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """CoNLL-U with the predicted labels in their column, or under their key of the features."""
    name, _, key = (reading.options.column or "upos").partition(":")
    column = int(name) - 1 if name.isdecimal() else COLUMNS.index(name) + 1

    def put(line: str, tag: str) -> str:
        columns = line.split("\t")
        columns[column] = _with_feature(columns[column], key, tag) if key else tag
        return "\t".join(columns)

    return _tag_lines(reading, predictions, split_conllu, put)


def conll2012_role_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """CoNLL-2012 with the predicted arguments in the column of each predicate."""
    for block, rows in _blocks(reading, split_columns):
        count = len(rows[0][1]) - ARGUMENTS - 1 if rows else 0
        if rows and not count:
            count = sum(columns[LEMMA] != "-" and columns[FRAMESET] != "-" for _, columns in rows)
        made = [_next_roles(predictions, len(rows), reading) for _ in range(count)]
        cells = [bracketed(roles.spans or (), len(rows)) for roles in made]
        for place, (line, columns) in enumerate(rows):
            arguments = [column[place] for column in cells]
            separator = "\t" if "\t" in block[line] else " "
            block[line] = separator.join([*columns[:ARGUMENTS], *arguments, columns[-1]])
        yield from block


def propositions_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """Universal Propositions with the predicted roles, each at the head word of its span."""
    for block, rows in _blocks(reading, split_conllu):
        count = sum(columns[SENSE] not in NOTHING for _, columns in rows)
        made = [_next_roles(predictions, len(rows), reading) for _ in range(count)]
        heads = [columns[_HEAD] for _, columns in rows]
        numbers = [columns[0] for _, columns in rows]
        marked = [{_head_of(span, heads, numbers): span.label for span in roles.spans or ()} for roles in made]
        for place, (line, columns) in enumerate(rows):
            kept = columns[: SENSE + 1] if made else columns
            block[line] = "\t".join([*kept, *(labels.get(place, NOT_GIVEN) for labels in marked)])
        yield from block


def _tag_lines(
    reading: Reading, predictions: Iterator[Example], split: Split, put: Callable[[str, str], str]
) -> Iterator[str]:
    for block, rows in _blocks(reading, split):
        if rows:
            tagged = next(predictions, None)
            if not isinstance(tagged, Tagged) or tagged.tags is None or len(tagged.tags) != len(rows):
                raise InputError(
                    f"{reading.place}: the sentence that ends here has {len(rows)} tokens, but the prediction is "
                    f"{tagged!r:.80}; give the tags of each sentence of the file, in their order"
                )
            for (line, _), tag in zip(rows, tagged.tags, strict=True):
                block[line] = put(block[line], tag)
        yield from block


def _blocks(reading: Reading, split: Split) -> Iterator[tuple[list[str], list[tuple[int, list[str]]]]]:
    """The lines of each sentence with comments and the blank line behind it, and which of them are tokens'."""
    block: list[str] = []
    rows: list[tuple[int, list[str]]] = []
    for line in reading.lines:
        columns = split(line, reading.place) if line.strip() else None
        if columns is not None:
            rows.append((len(block), columns))
        block.append(line)
        if not line.strip():
            yield block, rows
            block, rows = [], []
    if block:
        yield block, rows


def _next_roles(predictions: Iterator[Example], length: int, reading: Reading) -> Roles:
    roles = next(predictions, None)
    if not isinstance(roles, Roles) or len(roles.tokens) != length:
        raise InputError(
            f"{reading.place}: the sentence that ends here has {length} tokens, but the prediction is {roles!r:.80}; "
            "give the roles of each predicate of the file, in their order"
        )
    return roles


def _with_cell(line: str, column: int, cell: str) -> str:
    separator = "\t" if "\t" in line else " "
    columns = line.split(separator if separator == "\t" else None)
    if len(columns) == 1 or column == len(columns):
        return separator.join([*columns, cell])
    columns[column] = cell
    return separator.join(columns)


def _with_feature(features: str, key: str, value: str) -> str:
    """Features with one of them changed, in the order of their names."""
    pairs = dict(pair.partition("=")[::2] for pair in features.split("|") if features != NOT_GIVEN)
    pairs.pop(key, None)
    if value != NOT_GIVEN:
        pairs[key] = value
    shown = [f"{name}={pairs[name]}" if pairs[name] else name for name in sorted(pairs, key=str.lower)]
    return "|".join(shown) or NOT_GIVEN


def _head_of(span: Span, heads: Sequence[str], numbers: Sequence[str]) -> int:
    """The first word of a span that hangs from a word outside it."""
    inside = set(numbers[span.start : span.end])
    return next((at for at in range(span.start, span.end) if heads[at] not in inside), span.start)
