"""Reads VRT, the vertical text of corpus workbenches: one token per line, and tags on lines of their own."""

import re
from collections.abc import Iterator
from xml.sax.saxutils import unescape

from polyseme.text.lines import Lines
from polyseme.text.readers import Sentence, check_length

_TAG = re.compile(r"<(?P<close>/?)(?P<name>[A-Za-z_][\w.:-]*)(?P<rest>(?:\s[^<>]*)?)/?>")
_OTHER_MARKUP = re.compile(r"<[!?].*>")  # comments and processing instructions
# A name is tried once, from its beginning.
_ATTRIBUTE = re.compile(r"""(?<![\w.:-])([\w.:-]+)\s*+=\s*("[^"]*"|'[^']*')""")
_ENDS_A_SENTENCE = frozenset(
    ("s", "sentence", "p", "para", "paragraph", "head", "u", "utterance", "div", "chapter", "text", "doc", "document")
)
"""Tags at which a sentence ends. Others, such as ``<g/>`` and those of phrases and names, are inside sentences."""
_DOCUMENTS = frozenset(("text", "doc", "document"))
_NAMES = ("id", "xml:id", "title", "name", "n")
"""Attributes that name a text or a sentence, the best first."""
_QUOTES = {"&quot;": '"', "&apos;": "'"}


def read_vrt(lines: Lines) -> Iterator[Sentence]:
    """Read the first column of VRT; ``<text id="...">`` or ``<doc>`` names the document, ``<s id="...">`` the sentence.

    Columns are separated by tabs. Without ``<s>``, a sentence ends where a paragraph or a text does.
    """
    tokens: list[str] = []
    name: str | None = None
    document: str | None = None
    start = 0
    for line in lines:
        text = line.strip()
        tag = _TAG.fullmatch(text) if text.startswith("<") else None
        if tag is None:
            word = line.partition("\t")[0].strip()
            if word and not _OTHER_MARKUP.fullmatch(text):
                start = start if tokens else lines.number
                tokens.append(unescape(word, _QUOTES))
                check_length(tokens, lines)
            continue
        kind, called = tag["name"].lower(), None if tag["close"] else _name(tag["rest"])
        if kind in _ENDS_A_SENTENCE:
            if tokens:
                yield Sentence(tokens, name, lines.name, start, document)
            tokens, name = [], called if kind in ("s", "sentence") else None
        if kind in _DOCUMENTS:
            document = called
    if tokens:
        yield Sentence(tokens, name, lines.name, start, document)


def _name(attributes: str) -> str | None:
    """The value of the attribute that names an element."""
    found = {key: value[1:-1] for key, value in _ATTRIBUTE.findall(attributes)}
    named = next((found[key] for key in _NAMES if found.get(key)), None)
    return None if named is None else unescape(named, _QUOTES)
