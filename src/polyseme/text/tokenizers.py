"""The tokenisers by name: how each splits a paragraph into sentences and a sentence into tokens.

No tokeniser changes or drops anything but whitespace: the tokens of a text joined together are the text without its
whitespace. Curly quotes stay curly.
"""

from collections.abc import Callable, Iterator
from functools import partial

from polyseme.text.chinese import chinese_words
from polyseme.text.chinese_sentences import chinese_sentences
from polyseme.text.choices import Tokenizer
from polyseme.text.dictionary import Dictionary
from polyseme.text.english import english_words
from polyseme.text.english_sentences import english_sentences
from polyseme.text.graphemes import graphemes
from polyseme.text.paragraphs import paragraphs


def tokenized(
    readline: Callable[[int], str], tokenizer: Tokenizer, dictionary: Dictionary | None = None
) -> Iterator[list[str]]:
    """Read running text and yield its sentences, each a list of tokens.

    Args:
        readline: Returns at most the given number of characters of the next line, "" at the end, as a file's does.
        tokenizer: One of `polyseme.text.choices.TOKENIZERS`.
        dictionary: Words to keep whole, for ``zh``.

    Example:
        >>> import io
        >>> list(tokenized(io.StringIO("It's late. Go home!").readline, "en"))
        [['It', "'s", 'late', '.'], ['Go', 'home', '!']]
    """
    split, words = _PARTS[tokenizer]
    if dictionary is not None:
        words = partial(chinese_words, dictionary=dictionary)
    for paragraph in paragraphs(readline):
        for sentence in split(paragraph):
            if tokens := words(sentence):
                yield tokens


_PARTS: dict[Tokenizer, tuple[Callable[[str], list[str]], Callable[[str], list[str]]]] = {
    "en": (english_sentences, english_words),
    "zh": (chinese_sentences, chinese_words),
    "char": (chinese_sentences, graphemes),
}
