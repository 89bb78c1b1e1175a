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
from polyseme.text.icu import icu_words
from polyseme.text.paragraphs import paragraphs
from polyseme.text.unicode_sentences import unicode_sentences
from polyseme.text.unicode_words import unicode_words


def tokenized(
    readline: Callable[[int], str], tokenizer: Tokenizer, dictionary: Dictionary | None = None
) -> Iterator[list[str]]:
    """Read running text and yield its sentences, each a list of tokens.

    Args:
        readline: Returns at most the given number of characters of the next line, "" at the end, as a file's does.
        tokenizer: One of `polyseme.text.choices.TOKENIZERS`.
        dictionary: Words to keep whole, for one of `polyseme.text.choices.BY_DICTIONARY`.

    Example:
        >>> import io
        >>> list(tokenized(io.StringIO("It's late. Go home!").readline, "en"))
        [['It', "'s", 'late', '.'], ['Go', 'home', '!']]
    """
    split, words = _PARTS[tokenizer]
    if dictionary is not None:
        words = partial(words, dictionary=dictionary)
    for paragraph in paragraphs(readline):
        for sentence in split(paragraph):
            if tokens := words(sentence):
                yield tokens


_PARTS: dict[Tokenizer, tuple[Callable[[str], list[str]], Callable[..., list[str]]]] = {
    "en": (english_sentences, english_words),
    "zh": (chinese_sentences, chinese_words),
    "char": (chinese_sentences, graphemes),
    "unicode": (unicode_sentences, unicode_words),
    "ja": (chinese_sentences, partial(icu_words, language="ja")),
    "th": (unicode_sentences, partial(icu_words, language="th")),
    "km": (unicode_sentences, partial(icu_words, language="km")),
    "lo": (unicode_sentences, partial(icu_words, language="lo")),
    "my": (unicode_sentences, partial(icu_words, language="my")),
}
