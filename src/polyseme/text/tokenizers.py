"""The tokenisers by name: how each parts a paragraph into sentences and a sentence into tokens.

No tokeniser changes or drops anything but whitespace: the tokens of a text, put end to end, are the text without its
whitespace. Curly quotes stay curly.
"""

from collections.abc import Callable, Iterator
from typing import Literal, get_args

import rjieba

from polyseme.text.english import english_words
from polyseme.text.graphemes import graphemes, mend
from polyseme.text.paragraphs import paragraphs
from polyseme.text.sentences import chinese_sentences, english_sentences

Tokenizer = Literal["en", "zh", "char"]
"""``en``: English words. ``zh``: Chinese words (jieba). ``char``: characters of any language, Chinese above all."""
TOKENIZERS: tuple[Tokenizer, ...] = get_args(Tokenizer)


def tokenized(readline: Callable[[int], str], tokenizer: Tokenizer) -> Iterator[list[str]]:
    """Read running text and yield its sentences, each a list of tokens.

    Args:
        readline: Returns the next line, or at most so many characters of it; "" at the end. A file's method serves.
        tokenizer: One of `TOKENIZERS`.

    Example:
        >>> import io
        >>> list(tokenized(io.StringIO("It's late. Go home!").readline, "en"))
        [['It', "'s", 'late', '.'], ['Go', 'home', '!']]
    """
    split, words = _PARTS[tokenizer]
    for paragraph in paragraphs(readline):
        for sentence in split(paragraph):
            if tokens := words(sentence):
                yield tokens


def chinese_words(sentence: str) -> list[str]:
    """The words of one Chinese sentence as jieba finds them, whitespace (also U+3000) left out.

    Example:
        >>> chinese_words("他来到了网易杭研大厦。")
        ['他', '来到', '了', '网易', '杭研', '大厦', '。']
    """
    return [word for word in mend(rjieba.cut(sentence)) if not word.isspace()]


_PARTS: dict[Tokenizer, tuple[Callable[[str], list[str]], Callable[[str], list[str]]]] = {
    "en": (english_sentences, english_words),
    "zh": (chinese_sentences, chinese_words),
    "char": (chinese_sentences, graphemes),
}
