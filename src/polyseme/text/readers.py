"""Reads sentences from lines: one function per format."""

import io
import json
import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from polyseme.errors import InputError
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.line_numbers import LineNumbers
from polyseme.text.lines import Lines
from polyseme.text.tokenizers import tokenized

_LONGEST_SENTENCE = 2**22  # tokens; limited because a whole sentence must fit into memory
_CONLLU_COLUMNS = 10
_CONLLU_ID = re.compile(r"(\d+)|\d+-\d+|\d+\.\d+")
_NO_RESIDUE = re.compile(r"[^A-Za-z]")


@dataclass(frozen=True, slots=True)
class Sentence:
    """A sentence as it is read from a source; two with the same tokens and name are equal, wherever they are."""

    tokens: list[str]
    name: str | None = None
    """Its name in the source: a CoNLL-U sent_id, the id of a JSON line, a FASTA identifier."""
    file: str | None = field(default=None, compare=False)
    """The source."""
    line: int | None = field(default=None, compare=False)
    """The line of the source on which it begins, from 1."""
    document: str | None = field(default=None, compare=False)
    """What the source calls the document: a newdoc id of CoNLL-U, the id of a text in TEI or VRT."""


def read_lines(lines: Lines, tokenize: Tokenizer | None, dictionary: Dictionary | None = None) -> Iterator[Sentence]:
    """Read plain text.

    Without a tokeniser a line is a sentence, its tokens are separated by whitespace, and a blank line is a sentence
    without tokens, so that sentence numbers are line numbers. Whitespace is that of ``str.split``, as in AllenNLP, and
    includes the ideographic space U+3000 and the no-break space; CoNLL-U and JSON lines can have tokens that contain
    such spaces.

    With a tokeniser the lines are running text (see `polyseme.text.paragraphs`) and blank ones only separate
    paragraphs.
    """
    if tokenize is None:
        return (Sentence(line.split(), None, lines.name, lines.number) for line in lines)
    numbers = LineNumbers(lines)
    found = tokenized(numbers.readline, tokenize, dictionary)
    return (Sentence(tokens, None, lines.name, numbers.line_of(tokens)) for tokens in found)


def read_conllu(lines: Lines) -> Iterator[Sentence]:
    """Read the FORM of each word of CoNLL-U; multiword ranges (1-2) and empty nodes (1.1) are left out.

    Columns beyond the tenth, which the Universal Propositions have, are ignored.
    """
    tokens: list[str] | None = None
    name: str | None = None
    document: str | None = None
    start = 0
    for line in lines:
        if not line.strip():
            if tokens is not None:
                yield Sentence(tokens, name, lines.name, start, document)
            tokens, name = None, None
        elif line.startswith("#"):
            key, _, value = line[1:].partition("=")
            if key.strip() == "sent_id":
                name = value.strip()
            elif key.split()[:1] == ["newdoc"]:
                document = value.strip() or None
        else:
            columns = line.split("\t")
            if len(columns) < _CONLLU_COLUMNS:
                raise InputError(
                    f"{lines.place}: {len(columns)} tab-separated columns where CoNLL-U has {_CONLLU_COLUMNS}; "
                    "give CoNLL-U, or name the reader that fits"
                )
            number = _CONLLU_ID.fullmatch(columns[0])
            if number is None or not columns[1]:
                raise InputError(
                    f"{lines.place}: word {columns[0]!r} with form {columns[1]!r} where CoNLL-U has a number "
                    "(1, 1-2 or 1.1) and a form; correct the line"
                )
            if tokens is None:
                tokens, start = [], lines.number
            if number.group(1):
                tokens.append(columns[1])
            check_length(tokens, lines)
    if tokens is not None:
        yield Sentence(tokens, name, lines.name, start, document)


def read_jsonl(lines: Lines, tokenize: Tokenizer | None, dictionary: Dictionary | None = None) -> Iterator[Sentence]:
    """Read JSON lines: a list of tokens, or an object with "tokens" or "text", and optionally an "id".

    Text is split at whitespace or, with a tokeniser, into sentences that all have the id. Blank lines are skipped.
    """
    for line in lines:
        if not line.strip():
            continue
        try:
            record = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{lines.place}: not JSON: {error}; give one JSON object or list per line") from None
        content = record
        name = None
        if isinstance(record, dict):
            content = record.get("text") if record.get("tokens") is None else record["tokens"]
            name = record.get("id")
        if isinstance(content, str):
            text = lines.repairs.mend(content, lines.place)
            if tokenize is None:
                sentences = [text.split()]
            else:
                sentences = list(tokenized(io.StringIO(text, newline=None).readline, tokenize, dictionary)) or [[]]
        elif isinstance(content, list) and all(isinstance(token, str) and token for token in content):
            sentences = [[lines.repairs.mend(token, lines.place) for token in content]]
        else:
            raise InputError(
                f"{lines.place}: {_shown(line)} where a list of non-empty strings is expected, or an object with such "
                'a list as "tokens" or a string as "text"'
            )
        if not isinstance(name, str | int | None) or isinstance(name, bool):
            raise InputError(f'{lines.place}: "id" is {_shown(json.dumps(name))}; give a string or a whole number')
        called = None if name is None else str(name)
        for tokens in sentences:
            yield Sentence(tokens, called, lines.name, lines.number, called)


def read_fasta(lines: Lines) -> Iterator[Sentence]:
    """Read protein sequences: one token per letter, in capitals; ``*`` and whitespace are dropped."""
    tokens: list[str] | None = None
    name: str | None = None
    start = 0
    for line in lines:
        if line.startswith(">"):
            if tokens is not None:
                yield Sentence(tokens, name, lines.name, start, name)
            tokens, name, start = [], next(iter(line[1:].split()), None), lines.number
            continue
        letters = "".join(line.split()).replace("*", "")
        if not letters:
            continue
        if tokens is None:
            raise InputError(f"{lines.place}: {_shown(line)} where a FASTA header is expected; start with >identifier")
        if other := _NO_RESIDUE.search(letters):
            raise InputError(
                f"{lines.place}: {other.group()!r} in a FASTA sequence where letters are expected; "
                "take out gaps and numbers"
            )
        tokens.extend(letters.upper())
        check_length(tokens, lines)
    if tokens is not None:
        yield Sentence(tokens, name, lines.name, start, name)


def check_length(tokens: list[str], lines: Lines) -> None:
    """Raise an error if a sentence is too long to be held in memory."""
    if len(tokens) > _LONGEST_SENTENCE:
        raise InputError(f"{lines.place}: a sentence of more than {_LONGEST_SENTENCE:,} tokens; split it")


def _shown(text: str) -> str:
    return text if len(text) <= 40 else text[:37] + "..."
