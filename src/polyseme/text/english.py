"""English words in the manner of the Penn Treebank, which is how the text ELMo was trained on is written.

Punctuation stands apart, ``don't`` is ``do n't``, ``cannot`` is ``can not``; numbers, abbreviations, hyphenated words,
web and mail addresses, faces and emoji stay whole. The period that ends a sentence is always a token, also after an
abbreviation (``at 5 p.m.`` ends in ``p.m .``), so that nothing is written twice.
"""

import functools
import re

from polyseme.text.graphemes import GRAPHEME, MARKS

# Letters and digits with their marks: \w alone would break a decomposed é and every Indic vowel sign.
_RUN = rf"[^\W_]+(?:[{MARKS}]+[^\W_]*)*"
_UNIT = rf"(?:\d+(?:[.,:/]\d+)+(?:{_RUN})?|{_RUN})"
_ABBREVIATIONS = (
    r"Mr|Mrs|Ms|Messrs|Mme|Dr|Drs|Prof|Rev|Fr|Hon|Pres|Gov|Sens?|Reps?|Gen|Col|Lt|Sgt|Capt|Cmdr|Cpl|Maj|Adm|Pvt|Sr|Jr"
    r"|St|Ste|Mt|Ft|Ave|Blvd|Rd|Inc|Corp|Ltd|Cos?|Bros|[Dd]ept|Univ|Assn|Attn|Ph\.D|Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?"
    r"|Oct|Nov|Dec|Mon|Tues?|Wed|Thur?s?|Fri|Sat|Sun|Nos?|[Vv]ols?|[Cc]h|[Ff]igs?|Eds?|etc|vs|al|cf|ca|approx|est|pp"
    r"|lbs?|oz|eg|ie|viz|esp"
)
_REPEATED = "|".join(rf"{re.escape(symbol)}{{2,}}" for symbol in "-–—*=_~+<>|#^'`’‘$")
_TOKEN = re.compile(
    rf"""
      (?:[A-Za-z]+://|www\.)[^\s<>"“”]*[^\s<>"“”.,;:!?'’)\]}}…]           # a web address
    | [\w.+%-]{{1,64}}@[^\W_][\w.-]*[^\W_]                                  # a mail address
    | [@\#](?=[^\W\d_])\w+(?:\.\w+)*                                         # a handle, a hash tag
    | (?i:[:;=][-'^]?[()dpo/\\]+|<3)(?![\w/])                             # a face
    | [^\W\d_](?:\.[^\W\d_])+(?:\.(?![^\W_])(?:-{_RUN})*|(?![^\W_]|\.))   # U.S., e.g., U.S.-based
    | (?:{_ABBREVIATIONS}|[A-HJ-Z])\.(?![^\W_]|\.)                        # Mr., J.
    | (?:US|HK|NZ|[ACU])\$
    | ['’](?i:\d\ds?|s|m|d|ll|re|ve|em|til|cause|bout|n|tis|twas)(?![^\W_])   # '90s, 'em; 's where it stands alone
    | [-+]?\.\d+ | [-+]\d+(?:[.,]\d+)*(?![\d:/])                          # .5, -3.2
    | [^\W_]/[^\W_](?![^\W_]|[./]) | w/(?![^\W_])                         # w/o, w/
    | {_UNIT}(?:(?:[-‐‑_&'’]|\.(?![A-Z])){_UNIT})*                        # words, numbers, well-known, AT&T, node.js
    | [.!?…]{{2,}} | {_REPEATED}
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
    return [token for chunk in chunks for token in (_tokens(chunk) if len(chunk) > _LONG_CHUNK else _remembered(chunk))]


def _tokens(chunk: str) -> tuple[str, ...]:
    """The tokens of a stretch without whitespace."""
    tokens: list[str] = []
    for token in _TOKEN.findall(chunk):
        if fused := _FUSED.fullmatch(token):
            tokens += filter(None, fused.groups())
            continue
        endings: list[str] = []
        while contraction := _CONTRACTION.fullmatch(token):  # should|n't|'ve: from the end
            token, ending = contraction.groups()
            endings.insert(0, ending)
        tokens += [token, *endings]
    return tuple(tokens)


# The same few thousand stretches make up most of a text; a long one is hardly seen twice and would only fill memory.
_remembered = functools.lru_cache(maxsize=2**15)(_tokens)
_LONG_CHUNK = 40
