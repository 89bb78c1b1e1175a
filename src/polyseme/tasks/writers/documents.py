"""Puts predicted clusters into the last column of the documents that were read; all else stays as it is."""

from collections.abc import Iterator

from polyseme.errors import InputError
from polyseme.tasks.examples import Document, Example
from polyseme.tasks.readers.brackets import mention_cells
from polyseme.tasks.readers.documents import BEGIN, END, is_row, is_withheld, split_row
from polyseme.tasks.readers.reading import Reading


def coreference_lines(reading: Reading, predictions: Iterator[Example]) -> Iterator[str]:
    """The lines of the file, with the predicted clusters in the last column."""
    lines: list[str] = []
    for line in reading.lines:
        if BEGIN.match(line):
            yield from _document(reading, lines, predictions)
            lines = []
        lines.append(line)
        if END.match(line):
            yield from _document(reading, lines, predictions)
            lines = []
    yield from _document(reading, lines, predictions)


def _document(reading: Reading, lines: list[str], predictions: Iterator[Example]) -> Iterator[str]:
    rows = [place for place, line in enumerate(lines) if is_row(line)]
    split = [split_row(lines[place]) for place in rows]
    tokens = [columns[token] for columns, token in split]
    if not rows or is_withheld(tokens):  # the reader leaves these out
        yield from lines
        return
    document = next(predictions, None)
    if not isinstance(document, Document) or sum(map(len, document.sentences)) != len(rows):
        raise InputError(
            f"{reading.place}: the document before it has {len(rows)} tokens, but the prediction is {document!r:.80}; "
            "give the clusters of each document of the file, in their order"
        )
    empty = "_" if any(columns[-1] == "_" for columns, _ in split) else "-"
    cells = mention_cells(document.clusters or (), len(rows), empty=empty, between="" if empty == "_" else "|")
    for place, (columns, token), cell in zip(rows, split, cells, strict=True):
        separator = "\t" if "\t" in lines[place] else " "
        kept = columns[:-1] if token + 1 < len(columns) else columns
        lines[place] = separator.join([*kept, cell])
    yield from lines
