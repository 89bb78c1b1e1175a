"""Reads TEI: words that are marked as such, and the text of paragraphs where they are not."""

import io
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field

from polyseme.errors import InputError
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.lines import LONGEST_LINE, Lines
from polyseme.text.readers import Sentence, check_length
from polyseme.text.safe_xml import XmlEvents
from polyseme.text.tokenizers import tokenized

_ROOTS = frozenset(("TEI", "TEI.2", "teiCorpus", "teiCorpus.2", "text", "body", "bncDoc"))
_DOCUMENTS = frozenset(("TEI", "TEI.2", "text", "bncDoc"))
_TOKENS = frozenset(("w", "pc", "c"))
_LEFT_OUT = frozenset(("teiHeader", "facsimile", "standOff", "fw", "del"))
_ALTERNATIVES = frozenset(("sic", "orig", "abbr"))
"""Left out within ``<choice>``, where the corrected, regularised or expanded form stands beside them."""
_BREAKS = frozenset(("lb", "pb", "cb", "gb", "milestone"))
_ASIDE = frozenset(("note",))
"""Blocks that interrupt a sentence without ending it."""
_BLOCK_NAMES = (
    "text group front body back div div1 div2 div3 div4 div5 div6 div7 stext wtext p ab l lg head s u sp speaker stage "
    "list item label table row cell opener closer salute signed dateline byline docTitle titlePart titlePage epigraph "
    "argument trailer castList castItem quote cit figDesc bibl"
)
_BLOCKS = _ASIDE | frozenset(_BLOCK_NAMES.split())
"""Elements whose text is separate from that around them; all others are within a sentence."""


def read_tei(lines: Lines, tokenize: Tokenizer | None, dictionary: Dictionary | None = None) -> Iterator[Sentence]:
    """Read the text of TEI, without its header.

    If words are marked (``<w>``, and ``<pc>`` or ``<c>`` for punctuation), they are the tokens, and a sentence is an
    ``<s>`` or, without any, a paragraph, line or utterance. Other text is running text and tokenised, paragraph by
    paragraph; without a tokeniser each is a sentence, split at whitespace. Deleted text is left out, and of a
    ``<choice>`` the uncorrected, original or abbreviated form. A document has the ``xml:id`` of its ``<TEI>`` or
    ``<text>``, or else its title.
    """
    handler = _Tei(lines)
    events = XmlEvents(lines, handler)
    going = True
    while going:
        going = events.feed()
        while handler.found:
            yield from _sentences(handler.found.popleft(), lines.name, tokenize, dictionary)


@dataclass(slots=True)
class _Block:
    """A paragraph or the like while it is read."""

    document: str | None
    name: str | None = None
    line: int = 0
    tokens: list[str] = field(default_factory=list)
    pieces: list[str] = field(default_factory=list)
    size: int = 0

    def take_raw(self) -> str:
        """The text so far, which is then forgotten."""
        text, self.pieces, self.size = "".join(self.pieces), [], 0
        return text


def _sentences(
    block: _Block, file: str, tokenize: Tokenizer | None, dictionary: Dictionary | None
) -> Iterator[Sentence]:
    text = " ".join("".join(block.pieces).split())
    if block.tokens:
        yield Sentence([*block.tokens, *text.split()], block.name, file, block.line, block.document)
    elif tokenize is None:
        yield Sentence(text.split(), block.name, file, block.line, block.document)
    else:
        for tokens in tokenized(io.StringIO(text).readline, tokenize, dictionary):
            yield Sentence(tokens, block.name, file, block.line, block.document)


class _Tei:
    """Gathers blocks from events.

    Attributes:
        found: Blocks that are complete.
    """

    def __init__(self, lines: Lines) -> None:
        self.found: deque[_Block] = deque()
        self._lines = lines
        self._open: list[str] = []
        self._blocks: list[_Block] = []
        self._document: str | None = None
        self._title: list[str] | None = None
        self._left_out = 0  # elements that are open and left out, with all within
        self._word: list[str] | None = None
        self._words_open = 0

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        if not self._open and name not in _ROOTS:
            raise InputError(
                f"{self._lines.name}:{line}: the XML begins with <{name[:40]}>, and TEI is expected (<TEI>, "
                "<teiCorpus> or <text>); convert it to TEI or to plain text"
            )
        within = self._open[-1] if self._open else ""
        self._open.append(name)
        if name in _DOCUMENTS:
            named = attributes.get("xml:id") or attributes.get("id")
            self._document = named or (self._document if name == "text" else None)
        if self._left_out or name in _LEFT_OUT or (within == "choice" and name in _ALTERNATIVES):
            self._left_out += 1
            if name == "title" and within == "titleStmt" and self._document is None:
                self._title = []
        elif name in _TOKENS:
            self._start_word(line)
        elif name in _BREAKS and attributes.get("break") != "no":
            self.text(" ", line)
        elif name in _BLOCKS:
            if self._blocks and name not in _ASIDE:
                self._finish(self._blocks[-1])
            self._blocks.append(_Block(self._document, attributes.get("xml:id") or attributes.get("n")))

    def end(self, name: str) -> None:
        self._open.pop()
        if self._left_out:
            self._left_out -= 1
            if name == "title" and self._title is not None:
                self._document, self._title = " ".join("".join(self._title).split()) or None, None
        elif name in _TOKENS:
            self._end_word()
        elif name in _BLOCKS:
            self._finish(self._blocks.pop())

    def text(self, text: str, line: int) -> None:
        if self._title is not None:
            self._title.append(text)
        if self._left_out:
            return
        if self._word is not None:
            self._word.append(text)
        elif self._blocks:
            block = self._blocks[-1]
            if not block.line and not text.isspace():
                block.line = line
            block.pieces.append(text)
            block.size += len(text)
            if block.size > LONGEST_LINE:
                raise InputError(
                    f"{self._lines.name}:{line}: a paragraph of more than {LONGEST_LINE:,} characters; split it"
                )

    def _start_word(self, line: int) -> None:
        self._words_open += 1
        if self._words_open > 1:  # a word within a word is a part of it
            return
        if not self._blocks:
            self._blocks.append(_Block(self._document))
        block = self._blocks[-1]
        block.line = block.line or line
        block.tokens += block.take_raw().split()
        self._word = []

    def _end_word(self) -> None:
        self._words_open -= 1
        if self._words_open or self._word is None:
            return
        if token := " ".join("".join(self._word).split()):
            self._blocks[-1].tokens.append(token)
            check_length(self._blocks[-1].tokens, self._lines)
        self._word = None

    def _finish(self, block: _Block) -> None:
        """Hand over what a block holds; it may go on after a block within it."""
        if block.tokens or any(not piece.isspace() for piece in block.pieces):
            self.found.append(_Block(block.document, block.name, block.line, block.tokens, block.pieces))
        block.tokens, block.pieces, block.size, block.line = [], [], 0, 0
