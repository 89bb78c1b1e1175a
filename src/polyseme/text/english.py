"""Tokenises English as the Penn Treebank does, which is how the text that ELMo was trained on is tokenised.

Punctuation is separate, ``don't`` is ``do n't``, ``cannot`` is ``can not``; numbers, abbreviations, hyphenated words,
web and mail addresses, emoticons and emoji stay whole. The period that ends a sentence is always a token, also after an
abbreviation (``at 5 p.m.`` ends in ``p.m .``), so that no character is written twice.
"""

import functools
import re

from polyseme.text.abbreviations import ANYWHERE, BEFORE_A_NAME, BEFORE_A_NUMBER
from polyseme.text.graphemes import GRAPHEME, MARKS

# Letters and digits with their marks: \w alone would break a decomposed é and every Indic vowel sign.
_RUN = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"
_UNIT = rf"(?:\d+(?:[.,:/]\d+)+(?:{_RUN})?|{_RUN})"
_ABBREVIATIONS = "|".join(
    map(re.escape, sorted(BEFORE_A_NAME | BEFORE_A_NUMBER | ANYWHERE | {"v"}, key=lambda word: (-len(word), word)))
)
_REPEATED = "|".join(rf"{re.escape(symbol)}{{2,}}" for symbol in "-–—*=_~+<>|#^'`’‘$")
_NAME_FOLLOWS = r"(?=[A-Z][a-z])"  # a space is missing: Dr.Smith, J.K.Rowling
_TOKEN = re.compile(
    rf"""
      (?:[A-Za-z]+://|www\.|mailto:)[^\s<>"“”]*[^\s<>"“”.,;:!?'’)\]}}…]   # a web address
    | [\w.+%-]{{1,64}}@[^\W_][\w.-]*[^\W_]                                  # a mail address
    | @[-.,]@ | -[LR][RSC]B- | \\[/*]                   # in tokenised text: state @-@ of @-@ the -LRB- and \/ or -RRB-
    | [@\#](?=[^\W\d_])\w+(?:\.\w+)*                                         # a handle, a hash tag
    | (?i:>?[:;=][-'^]?[()dpo/\\]+|<3)(?![\w/]) | \^[_.-]?\^ | -_+-         # an emoticon
    | <?[-=]+> | <[-=]+ | [<>!]=                                          # arrows
    | [^\W\d_](?:\.[^\W\d_])+(?:\.(?:(?![^\W_])(?:-{_RUN})*|{_NAME_FOLLOWS})|(?![^\W_]|\.))   # U.S., U.S.-based
    | (?:{_ABBREVIATIONS}|[A-HJ-Z])\.(?:(?![^\W_]|\.\.)|{_NAME_FOLLOWS})   # Mr., J.
    | (?<![\w.)])\.[a-z]{{2,4}}(?![^\W_]) | (?<![\w.)])\.NET(?![^\W_])      # .com
    | (?:US|HK|NZ|[ACU])\$
    | ['’]n['’](?![^\W_])                                                 # rock 'n' roll
    | ['’](?i:\d\ds?|s|m|d|t|ll|re|ve|em|til|cause|bout|n|tis|twas)(?![^\W_])   # '90s, 'em; a separate 's
    | [-+]?\.\d+ | [-+]\d+(?:[.,]\d+)*(?![\d:/])                          # .5, -3.2
    | (?i:w/)(?:o|out)?(?![^\W_]|/) | (?i:w/)(?=[^\W_]{{2}})                # w/o, w/ friends
    | [^\W_]/[^\W_](?![^\W_]|[./])                                        # c/o
    | (?:[Oo]l|[Oo]|[Tt]h|[Ll]il|[Mm]o)['’](?![^\W_]|['’])                 # ol' man, cup o' tea
    | {_UNIT}(?:(?:[-‐‑_&'’]|\.(?![A-Z])){_UNIT})*                        # words, numbers, well-known, AT&T, node.js
    | \.{{2,}} | …+ | [!?]{{2,}} | {_REPEATED}
    | {GRAPHEME}
    """,
    re.VERBOSE,
)
# A number keeps its 's: the 80's.
_CONTRACTION = re.compile(r"(?i)(.*[^\W\d_])(n['’]t|['’](?:s|m|d|ll|re|ve))")
_FUSED = re.compile(r"(?i)(can)(not)|(gon|wan)(na)|(got)(ta)|(gim|lem)(me)|(['’]t)(is|was)")
_END = re.compile(r"(.*[^.!?…])(\.)([\"'”’)\]}»]*)")


def english_words(sentence: str) -> list[str]:
    """The tokens of one English sentence.

    Example:
        >>> english_words("Mr. O'Brien can't pay $1,000 to the U.S.-based firm.")
        ['Mr.', "O'Brien", 'ca', "n't", 'pay', '$', '1,000', 'to', 'the', 'U.S.-based', 'firm', '.']
    """
    chunks = sentence.split()
    if chunks and (end := _END.fullmatch(chunks[-1])):
        chunks[-1:] = end.groups()
    return [token for chunk in chunks for token in (_remembered(chunk) if len(chunk) <= _LONG else _tokens(chunk))]


def chunk_words(chunk: str) -> tuple[str, ...]:
    """The tokens of a piece of text without whitespace."""
    return _remembered(chunk) if len(chunk) <= _LONG else _tokens(chunk)


def _tokens(chunk: str) -> tuple[str, ...]:
    tokens: list[str] = []
    for token in _TOKEN.findall(chunk):
        if fused := _FUSED.fullmatch(token):
            tokens += filter(None, fused.groups())
            continue
        endings: list[str] = []
        while contraction := _CONTRACTION.fullmatch(token):  # should|n't|'ve: split off from the end
            token, ending = contraction.groups()
            endings.insert(0, ending)
        tokens += [token, *endings]
    return tuple(tokens)


# The same few thousand pieces make up most of a text; a long one is rarely seen twice and would fill the memory.
_remembered = functools.lru_cache(maxsize=2**15)(_tokens)
_LONG = 40
