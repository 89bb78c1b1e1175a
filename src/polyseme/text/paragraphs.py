"""Joins lines into paragraphs, in bounded memory.

A blank line ends a paragraph. Whether the other line ends matter is decided per block, which is the lines between two
blank ones: in hard-wrapped text (a Gutenberg book) they are only layout; in text with one paragraph, sentence or verse
per line they are not. Text counts as wrapped if lines end because the next word would not have fitted.
"""

import re
from collections.abc import Callable, Iterator

from polyseme.text.chinese_sentences import CLOSING

# A block is wrapped if its widest line has 40 to 120 columns and most lines have no room for the next word within three
# quarters of that width, which allows for a ragged margin.
_WIDTHS = range(40, 121)
_FULL = 0.75
_MOST = 0.6
_LONGEST_BLOCK = 100  # lines
# A longer line is split: memory stays bounded, and a sentence is never longer than this.
_LONGEST_LINE = 4096

_WIDE = r"\u2e80-\u9fff\uf900-\ufaff\uff01-\uff60\U00020000-\U0003ffff"  # Chinese, Japanese: two columns, no spaces
_WIDE_CHARACTER = re.compile(f"[{_WIDE}]")
_NARROW_WORD = re.compile(rf"[^\s{_WIDE}]+")
_HYPHENATED = re.compile(r"[^\W\d_]-")
_STOP_AT_END = re.compile(rf"[.!?。！？…；]{CLOSING}$")
# A stop after fewer than four letters may belong to an abbreviation.
_SPLITS = (re.compile(rf"(?<=[^\W_]{{4}})[.!?]{CLOSING}\s|[。！？…；]{CLOSING}"), re.compile(r"\s"))


def paragraphs(readline: Callable[[int], str]) -> Iterator[str]:
    """Read running text and yield its paragraphs, with wrapped lines joined.

    Args:
        readline: Returns at most the given number of characters of the next line, "" at the end, as a file's does.
    """
    block: list[str] = []
    for line in _bounded_lines(readline):
        text = line.strip()
        if text:
            block.append(text)
        if not text or len(block) == _LONGEST_BLOCK:
            end = _whole_sentences(block) if text else len(block)
            yield from _unwrapped(block[:end])
            del block[:end]
    yield from _unwrapped(block)


def _bounded_lines(readline: Callable[[int], str]) -> Iterator[str]:
    """Yield lines as they are read, very long ones in pieces."""
    rest = ""
    while piece := readline(_LONGEST_LINE - len(rest)):
        line, rest = rest + piece, ""
        if len(line) == _LONGEST_LINE and not line.endswith("\n"):
            at = _split_position(line)
            line, rest = line[:at], line[at:]
        yield line
    yield rest


def _split_position(line: str) -> int:
    """Where to split a line: after its last sentence, else after its last word, else at its end."""
    for pattern in _SPLITS:
        positions = [match.end() for match in pattern.finditer(line, len(line) // 2)]
        if positions:
            return positions[-1]
    return len(line)


def _whole_sentences(block: list[str]) -> int:
    """The number of lines to take from a block so that no sentence is split; all if none ends at a line's end."""
    return next((at for at in range(len(block), 0, -1) if _STOP_AT_END.search(block[at - 1])), len(block))


def _unwrapped(block: list[str]) -> Iterator[str]:
    """Yield the paragraphs of a block of lines."""
    if len(block) < 2:
        yield from block
        return
    columns = [len(line) if line.isascii() else len(line) + len(_WIDE_CHARACTER.findall(line)) for line in block]
    widest = max(columns)
    full = [width + 1 + _first_word(line) >= _FULL * widest for width, line in zip(columns, block[1:], strict=False)]
    if widest not in _WIDTHS or sum(full) < _MOST * len(full):
        yield from block
        return
    paragraph = block[0]
    for line, wrapped in zip(block[1:], full, strict=True):
        if wrapped:
            paragraph += _glue(paragraph, line) + line
        else:
            yield paragraph
            paragraph = line
    yield paragraph


def _first_word(line: str) -> int:
    """The width of a line's first word in columns; Chinese may be broken after any character."""
    word = _NARROW_WORD.match(line)
    return len(word.group()) if word else 2


def _glue(paragraph: str, line: str) -> str:
    """The text between two lines before they were wrapped: "" in Chinese and after a hyphen, else a space."""
    chinese = _WIDE_CHARACTER.match(paragraph[-1]) or _WIDE_CHARACTER.match(line[0])
    hyphenated = _HYPHENATED.fullmatch(paragraph[-2:]) and line[0].islower()
    return "" if chinese or hyphenated else " "
