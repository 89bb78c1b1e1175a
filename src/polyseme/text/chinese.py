"""Tokenises Chinese into the words of jieba's dictionary; numbers, Latin words and addresses are kept whole."""

import re

import rjieba

from polyseme.text.dictionary import Dictionary
from polyseme.text.english import chunk_words
from polyseme.text.graphemes import MARKS, mend

# Letters and digits of scripts that are written with spaces: all but Chinese, Japanese and Korean.
_LETTER = r"[^\W_\u1100-\u11ff\u2e80-\ud7ff\uf900-\ufaff\uff00-\uffef\U00020000-\U0003ffff]"
_APART = re.compile(
    rf"""
      (?P<narrow>(?:{_LETTER}[{MARKS}]*|[!-~]|(?<=[a-z])’(?=[a-z]))+)           # Latin, Greek, ..., ASCII punctuation
    | (?P<whole>
        …{{2,}} | —{{2,}} | 。{{2,}} | ～{{2,}} | [！？]{{2,}}
      | [０-９Ａ-Ｚａ-ｚ]+(?:[．：－][０-９]+)*
      | [\uac00-\ud7a3]+ | [\u30a1-\u30fa\u30fc-\u30fe]+                        # Korean words, Japanese loan words
      | [\ud800-\udfff]                                                         # half a pair, which jieba refuses
      )
    """,
    re.VERBOSE,
)
# One class of characters is searched for quickly; most sentences have none of these.
_PERHAPS_APART = re.compile("[!-~\u00aa-\u1fff…—～！？０-ｚ\uac00-\ud7a3\u30a1-\u30fe\ud800-\udfff]")
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:\+\+|\#)?")  # jieba has words that contain these: T恤, 卡拉OK, C++


def chinese_words(sentence: str, dictionary: Dictionary | None = None) -> list[str]:
    """The tokens of one Chinese sentence: words of jieba's dictionary, without whitespace (including U+3000).

    Characters between those words become tokens of their own. jieba would guess at words it does not know, but many of
    its guesses are not words (他开, 树有, 事不归): they hide the word that a user searches for, and they double the
    number of unknown words of a language model.

    Words, numbers and addresses in other scripts are tokenised as in English; ``……`` and ``——`` are one token each.

    A user's dictionary comes before jieba's, which tokenises only what is between its words. Adding the words to
    jieba's dictionary would not be enough: it has many names joined to the next word (玄德甚, 操大怒), which would win.

    Example:
        >>> chinese_words("这件事不归银行管，见https://a.cn……")
        ['这件', '事', '不', '归', '银行', '管', '，', '见', 'https://a.cn', '……']
    """
    pieces = _known_words(sentence) if dictionary is None else dictionary.cut(sentence, _known_words)
    return [word for word in mend(pieces) if not word.isspace()]


def _known_words(text: str) -> list[str]:
    """Split a text into words of jieba's dictionary and, between them, pieces that jieba would break apart."""
    if not _PERHAPS_APART.search(text) and "。。" not in text:
        return rjieba.cut(text, hmm=False)
    pieces: list[str] = []
    start = 0
    for part in _APART.finditer(text):
        narrow = part["narrow"]
        if narrow and _PLAIN.fullmatch(narrow):
            continue
        if start < part.start():
            pieces += rjieba.cut(text[start : part.start()], hmm=False)
        pieces += chunk_words(narrow) if narrow else [part["whole"]]
        start = part.end()
    return pieces + rjieba.cut(text[start:], hmm=False) if start < len(text) else pieces
