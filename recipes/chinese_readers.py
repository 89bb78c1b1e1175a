"""Chinese sources: the files of an archive to documents of running text, with blank lines between paragraphs.

Text that came tokenised is joined again, so that all of it goes through the same tokeniser as a user's text.
Traditional characters are kept.
"""

import json
import re
from collections.abc import Iterator

from recipes.archive import Members

_PARAGRAPH = "\n\n"
# A space between two words has no meaning unless both are Latin.
_SPACE = re.compile(r"(?<=[^\x00-\x7f])\s+|\s+(?=[^\x00-\x7f])")
# Full-width letters, digits, percent sign and full stop: １９９８年 is written 1998年 today.
_NARROW = {wide: wide - 0xFEE0 for wide in (*range(0xFF10, 0xFF1A), *range(0xFF21, 0xFF3B), *range(0xFF41, 0xFF5B))}
_NARROW |= {0xFF0E: ord("."), 0xFF05: ord("%")}
_DIALOGUE_MARK = re.compile(r"[=^_~￣＝…\s]+$")


def _joined(text: str) -> str:
    return _SPACE.sub("", text.strip())


def tagged_characters(members: Members) -> Iterator[str]:
    """Read one character and its tag per line, with a blank line after each sentence."""
    for _, content in members:
        sentences: list[str] = [""]
        for line in content.decode("utf-8-sig").splitlines():
            if line.strip():
                sentences[-1] += line.split()[0]
            elif sentences[-1]:
                sentences.append("")
        yield _PARAGRAPH.join(sentences).translate(_NARROW)


def tagged_words(members: Members) -> Iterator[str]:
    """Read words with tags, ``世纪/n``, one paragraph per line."""
    for _, content in members:
        lines = content.decode("utf-8-sig").splitlines()
        paragraphs = ("".join(token.rpartition("/")[0].lstrip("[") for token in line.split()) for line in lines)
        yield _PARAGRAPH.join(paragraphs).translate(_NARROW)


def lines(members: Members) -> Iterator[str]:
    """Read one text per line."""
    for _, content in members:
        yield _PARAGRAPH.join(line.strip() for line in content.decode("utf-8-sig", "replace").splitlines())


def dialogue(members: Members) -> Iterator[str]:
    """Read a tokenised question and answer per line, separated by a tab; a repeated question is kept once."""
    for _, content in members:
        turns = (turn for line in content.decode("utf-8", "replace").splitlines() for turn in line.split("\t"))
        yield _PARAGRAPH.join(dict.fromkeys(_DIALOGUE_MARK.sub("", _joined(turn)) for turn in turns))


_COMMENTARY = re.compile(r"【[^】]*】")
_CHAPTER = re.compile(r"(?m)^\s*第[〇零一二三四五六七八九十百]+回.*$")


def novel(members: Members) -> Iterator[str]:
    """Read a novel as text or as a JSON list of chapters; chapter headings and comments in 【】 are left out."""
    for name, content in members:
        text = content.decode("utf-8-sig")
        for chapter in json.loads(text) if name.endswith(".json") else [text]:
            bare = _CHAPTER.sub("", _COMMENTARY.sub("", chapter))
            yield _PARAGRAPH.join(_joined(line) for line in bare.splitlines() if line.strip())


def classics(members: Members) -> Iterator[str]:
    """Read every ``paragraphs`` or ``content`` in JSON, at any depth; each work is one paragraph."""
    for _, content in members:
        yield _PARAGRAPH.join(_works(json.loads(content.decode("utf-8-sig"))))


def _works(node: object) -> Iterator[str]:
    if isinstance(node, list):
        for child in node:
            yield from _works(child)
    elif isinstance(node, dict):
        for key, child in node.items():
            if key not in ("paragraphs", "content"):
                if isinstance(child, list | dict) and key not in ("abstract", "comment", "tags"):
                    yield from _works(child)
            elif isinstance(child, str):
                yield child
            elif all(isinstance(line, str) for line in child):
                yield "".join(child)
            else:
                yield from _works(child)
