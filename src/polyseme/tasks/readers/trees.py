"""Reads the trees of the Stanford Sentiment Treebank: ``(3 (2 It) (4 (2 's) (3 fun)))``, one a line.

The treebank's escapes are undone: ``-LRB-`` is a bracket, a slash has no backslash before it. With two classes, 0 and 1
are ``negative``, 3 and 4 ``positive``, and what is neutral is left out. Half of all phrases are repetitions, mostly of
single words; they are read once, since they would drown the others.
"""

import re
from collections.abc import Iterator

from polyseme.errors import InputError
from polyseme.tasks.examples import Text
from polyseme.tasks.readers.reading import Reading
from polyseme.tasks.readers.repairs import NEUTRAL

_PIECE = re.compile(r"\(\s*([^\s()]*)|\)|[^\s()]+")
_ESCAPES = {"-LRB-": "(", "-RRB-": ")", "-LSB-": "[", "-RSB-": "]", "-LCB-": "{", "-RCB-": "}"}
_OF_TWO = {"0": "negative", "1": "negative", "3": "positive", "4": "positive"}
_CLASSES = frozenset("01234")


def read_trees(reading: Reading) -> Iterator[Text]:
    """Read the text of each tree with its class, or of all its subtrees: each phrase once, whole texts always."""
    seen: set[Text] = set()
    for line in reading.lines:
        if not line.strip():
            continue
        *phrases, whole = parse_tree(line, reading.place)
        texts = [whole]
        if reading.options.subtrees:
            texts = [*(phrase for phrase in dict.fromkeys(phrases) if phrase not in seen), whole]
            seen.update(texts)
        for text in texts:
            if reading.options.classes == 5:
                yield text
            elif text.label in _OF_TWO:
                yield Text(text.tokens, _OF_TWO[text.label])
            elif not reading.options.subtrees:
                reading.count(NEUTRAL)


def parse_tree(line: str, place: str) -> list[Text]:
    """All subtrees of a tree as texts, each after those inside it, so that the whole is the last.

    Example:
        >>> [(" ".join(text.tokens), text.label) for text in parse_tree("(3 (2 It) (4 works))", "dev.txt:1")]
        [('It', '2'), ('works', '4'), ('It works', '3')]
    """
    tokens: list[str] = []
    opened: list[tuple[str, int]] = []
    texts: list[Text] = []
    for piece in _PIECE.finditer(line):
        if texts and not opened:
            raise _broken(line, place, "goes on behind its last bracket")
        if piece[0].startswith("("):
            if piece[1] not in _CLASSES:
                raise _broken(line, place, f"has the class {piece[1]!r} where one of 0 to 4 is expected")
            opened.append((piece[1], len(tokens)))
        elif piece[0] != ")":
            tokens.append(_ESCAPES.get(piece[0], piece[0].replace("\\/", "/").replace("\\*", "*")))
        elif not opened:
            raise _broken(line, place, "closes a bracket that is not open")
        else:
            label, start = opened.pop()
            if start == len(tokens):
                raise _broken(line, place, "has a bracket without a word")
            texts.append(Text(tuple(tokens[start:]), label))
    if opened or not texts:
        raise _broken(line, place, "has no end" if opened else "has no bracket")
    return texts


def _broken(line: str, place: str, what: str) -> InputError:
    return InputError(f"{place}: the tree {line[:40]!r} {what}; give trees as (3 (2 It) (4 works))")
