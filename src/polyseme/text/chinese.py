"""Chinese words: those of jieba's dictionary, with numbers, Latin words and addresses between them kept whole."""

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
      )
    """,
    re.VERBOSE,
)
# One class of characters is searched for quickly; most sentences have none of these.
_PERHAPS_APART = re.compile("[!-~\u00aa-\u1fff…—～！？０-ｚ\uac00-\ud7a3\u30a1-\u30fe]")
_PLAIN = re.compile(r"[A-Za-z0-9]+(?:\+\+|\#)?")  # jieba has words with such in them: T恤, 卡拉OK, C++


def chinese_words(sentence: str, dictionary: Dictionary | None = None) -> list[str]:
    """The words of one Chinese sentence that jieba's dictionary has, whitespace (also U+3000) left out.

    Between them characters stand alone. jieba would guess at words it does not know; too many of those are none (他开,
    树有, 事不归), they hide the word that is asked for, and they double the unknown words of a language model.

    Words, numbers and addresses in other scripts are cut as in English; ``……`` and ``——`` are one token each.

    A dictionary of one's own comes before jieba's, which cuts only what stands between its words. Adding words to
    jieba's would not do: it holds many a name together with the word after it (玄德甚, 操大怒), and they would win.

    Example:
        >>> chinese_words("这件事不归银行管，见https://a.cn……")
        ['这件', '事', '不', '归', '银行', '管', '，', '见', 'https://a.cn', '……']
    """
    pieces = _known_words(sentence) if dictionary is None else dictionary.cut(sentence, _known_words)
    return [word for word in mend(pieces) if not word.isspace()]


def _known_words(text: str) -> list[str]:
    """Pieces of a text: words of jieba's dictionary, and between them what it would break apart."""
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
