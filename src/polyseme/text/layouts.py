"""Which layout a file of text has, and how its sentences are read."""

import re
from collections.abc import Iterator
from pathlib import PurePath

from polyseme.text.choices import Layout, Reader, Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.lines import Lines
from polyseme.text.readers import Sentence, read_conllu, read_fasta, read_jsonl, read_lines
from polyseme.text.tei import read_tei
from polyseme.text.vrt import read_vrt

_SUFFIXES: dict[str, Layout] = {
    ".conllu": "conllu",
    ".conll": "conllu",
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".fasta": "fasta",
    ".fa": "fasta",
    ".faa": "fasta",
    ".tei": "tei",
    ".xml": "tei",
    ".vrt": "vrt",
    ".vert": "vrt",
}
_LINE_END = re.compile(rb"\n")
_BLANK_LINE = re.compile(rb"\n[ \t\r]*\n")
_NEW_DOCUMENT = re.compile(rb"\n[ \t\r]*\n(?=#[ \t]*newdoc\b)")
_NEW_SEQUENCE = re.compile(rb"\n(?=>)")


def layout_of(path: str, reader: Reader) -> Layout:
    """The layout of a file: as chosen, or by the suffix before any .gz."""
    if reader != "auto":
        return reader
    return _SUFFIXES.get(PurePath(path.lower().removesuffix(".gz")).suffix, "lines")


def read_sentences(
    lines: Lines, layout: Layout, tokenize: Tokenizer | None, dictionary: Dictionary | None
) -> Iterator[Sentence]:
    """The sentences in the lines of a file with this layout."""
    match layout:
        case "conllu":
            return read_conllu(lines)
        case "fasta":
            return read_fasta(lines)
        case "jsonl":
            return read_jsonl(lines, tokenize, dictionary)
        case "tei":
            return read_tei(lines, tokenize, dictionary)
        case "vrt":
            return read_vrt(lines)
        case _:
            return read_lines(lines, tokenize, dictionary)


def divider(layout: Layout, tokenize: Tokenizer | None) -> re.Pattern[bytes] | None:
    """What ends a stretch of a file that can be read by itself; None if the file can only be read as a whole.

    Reading the stretches one after the other gives the sentences of the whole file. Running text is divided at blank
    lines, because paragraphs and wrapped lines end there; CoNLL-U before a document, whose name its sentences have.
    """
    match layout:
        case "tei" | "vrt":
            return None
        case "conllu":
            return _NEW_DOCUMENT
        case "fasta":
            return _NEW_SEQUENCE
        case "jsonl":
            return _LINE_END
        case _:
            return _LINE_END if tokenize is None else _BLANK_LINE
