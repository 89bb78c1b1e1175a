"""Reads XML as a stream of events, in bounded memory; nothing that a file declares is expanded or fetched."""

import codecs
from typing import NoReturn, Protocol
from xml.parsers import expat

from polyseme.errors import InputError
from polyseme.text.lines import Lines

_CHUNK = 1 << 16
_DEEPEST = 1000
_KNOWN_ENCODINGS = ("utf-8", "ascii")


class Handler(Protocol):
    """What is told about the elements and the text of a file, in their order; names are without their namespace."""

    def start(self, name: str, attributes: dict[str, str], line: int) -> None:
        """An element begins."""

    def end(self, name: str) -> None:
        """An element ends."""

    def text(self, text: str, line: int) -> None:
        """Text, which may come in several pieces."""


class XmlEvents:
    """Feeds a file to a handler, piece by piece.

    Args:
        lines: The file; its bytes are read as UTF-8.
        handler: Is told what is in it.

    Raises:
        InputError: While it is fed: the file is not well-formed XML, is in another encoding, or declares entities.
            Those can make a small file unfold to gigabytes, or name other files to be read.
    """

    def __init__(self, lines: Lines, handler: Handler) -> None:
        self._lines, self._handler, self._depth = lines, handler, 0
        self._parser = parser = expat.ParserCreate("utf-8")
        parser.XmlDeclHandler = self._declaration
        parser.EntityDeclHandler = self._entity
        parser.SkippedEntityHandler = self._skipped
        parser.StartElementHandler = self._start
        parser.EndElementHandler = self._end
        parser.CharacterDataHandler = self._text

    def feed(self) -> bool:
        """Read a piece of the file; False if there is no more."""
        piece = self._lines.readline(_CHUNK)
        try:
            self._parser.Parse(piece, not piece)
        except expat.ExpatError as error:
            why = expat.errors.messages[error.code]
            raise InputError(
                f"{self._lines.name}:{error.lineno}: not well-formed XML: {why}; correct it, or name the layout of the "
                "file with --format"
            ) from None
        return bool(piece)

    def _declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        try:
            known = encoding is None or codecs.lookup(encoding).name in _KNOWN_ENCODINGS
        except LookupError:
            known = False
        if not known:
            self._refuse(f"says that it is encoded in {encoding}; convert it to UTF-8, and say so in its first line")

    def _entity(self, name: str, *declared: object) -> None:
        self._refuse(f"declares the entity {name[:40]!r}, and no entity is expanded; write the text itself")

    def _skipped(self, name: str, is_parameter: bool) -> None:
        self._refuse(f"has &{name[:40]};, which is not known without its DTD; write the character itself")

    def _refuse(self, why: str) -> NoReturn:
        raise InputError(f"{self._lines.name}:{self._parser.CurrentLineNumber}: {why}")

    def _start(self, name: str, attributes: dict[str, str]) -> None:
        self._depth += 1
        if self._depth > _DEEPEST:
            self._refuse(f"has elements within each other {_DEEPEST:,} deep; give another file")
        self._handler.start(name.rpartition(":")[2], attributes, self._parser.CurrentLineNumber)

    def _end(self, name: str) -> None:
        self._depth -= 1
        self._handler.end(name.rpartition(":")[2])

    def _text(self, text: str) -> None:
        self._handler.text(text, self._parser.CurrentLineNumber)
