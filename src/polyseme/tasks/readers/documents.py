"""Reads documents with coreference: columns between ``#begin document`` and ``#end document``.

The token is the fourth of CoNLL-2012's columns, the second behind a number, else the first; mentions are in the last.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from polyseme.errors import InputError
from polyseme.tasks.examples import Document, Tokens
from polyseme.tasks.readers.brackets import NO_MENTION, mention_clusters
from polyseme.tasks.readers.predicates import ARGUMENTS, WORD
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import CUT_DOCUMENT, EMPTY_DOCUMENT, WITHHELD

BEGIN = re.compile(r"#\s*begin document\s*(?P<name>.*)")
END = re.compile(r"#\s*end document")
_LONGEST = 2**22  # tokens; a whole document must fit into memory
_SENTENCE_ENDS = frozenset((".", "!", "?", "...", "。", "！", "？"))
_CLOSERS = frozenset(("''", '"', "”", "’", ")", "]", "-RRB-", "»", "」", "』", "）"))


@dataclass
class _Open:
    """A document being read."""

    name: str
    sentences: list[list[str]] = field(default_factory=lambda: [[]])
    cells: list[str | None] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)


def read_documents(reading: Reading) -> Iterator[Document]:
    """Read one document after another; a file without ``#begin document`` is one."""
    current: _Open | None = None
    for line in reading.lines:
        if begin := BEGIN.match(line):
            if current is not None:
                yield from _document(reading, current)
            current = _Open(begin["name"].strip() or reading.place)
        elif END.match(line):
            if current is not None:
                yield from _document(reading, current)
            current = None
        elif not line.strip():
            if current is not None and current.sentences[-1]:
                current.sentences.append([])
        elif is_row(line):
            current = current or _Open(reading.place)
            _add(reading, current, line)
    if current is not None:
        yield from _document(reading, current)


def is_row(line: str) -> bool:
    """Whether a line is a token's: not blank, and no comment."""
    return bool(line.strip()) and not (line.startswith("#") and "\t" not in line and not line.startswith("# ("))


def is_withheld(tokens: Sequence[str]) -> bool:
    """Whether there are only underscores for the words, as in corpora that may not hand on the text."""
    return all(not token.strip("_") for token in tokens)


def split_row(line: str) -> tuple[list[str], int]:
    """The columns of a line, and which of them is the token."""
    columns = line.split("\t") if "\t" in line else line.split()
    if len(columns) > ARGUMENTS:
        return columns, WORD
    return columns, 1 if columns[0].isdecimal() and len(columns) > 1 else 0


def _add(reading: Reading, document: _Open, line: str) -> None:
    columns, token = split_row(line)
    labelled = token + 1 < len(columns)
    if not labelled and reading.options.labelled:
        raise InputError(f"{reading.place}: {len(columns)} columns, with no mentions in the last; give labelled data")
    document.sentences[-1].append(reading.token(columns[token], reading.lines.number))
    document.cells.append(columns[-1] if labelled else None)
    document.lines.append(reading.lines.number)
    if len(document.cells) > _LONGEST:
        raise InputError(f"{reading.place}: a document of more than {_LONGEST:,} tokens; split it")


def _document(reading: Reading, found: _Open) -> Iterator[Document]:
    sentences = tuple(tuple(sentence) for sentence in found.sentences if sentence)
    if not sentences:
        reading.count(EMPTY_DOCUMENT)
        return
    if is_withheld([token for sentence in sentences for token in sentence]):
        reading.count(WITHHELD, reading.at(found.lines[0]))
        return
    if len(sentences) == 1:
        sentences = cut_sentences(sentences[0])
        if len(sentences) > 1:
            reading.count(CUT_DOCUMENT, reading.at(found.lines[0]))
    cells = [cell for cell in found.cells if cell is not None]
    whole = len(cells) == len(found.cells)
    known = whole and (reading.options.labelled or any(cell not in NO_MENTION for cell in cells))
    yield Document(found.name, sentences, mention_clusters(reading, cells, found.lines) if known else None)


def cut_sentences(tokens: Tokens) -> tuple[Tokens, ...]:
    """Cut the tokens of a document behind the marks that end a sentence, and the quotes and brackets they close.

    Example:
        >>> cut_sentences(("Go", ".", "''", "He", "went", "."))
        (('Go', '.', "''"), ('He', 'went', '.'))
    """
    sentences: list[Tokens] = []
    start = 0
    ended = False
    for place, token in enumerate(tokens):
        if ended and token not in _SENTENCE_ENDS and token not in _CLOSERS:
            sentences.append(tokens[start:place])
            start = place
            ended = False
        ended = ended or token in _SENTENCE_ENDS
    return (*sentences, tokens[start:])
