"""The language of tokens: which bundled model fits them, and how raw text is to be tokenised like them."""

import re
from collections.abc import Iterable, Sequence
from itertools import islice

from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.formats.detect import bundled_names
from polyseme.text.segmentation import Segmentation

_HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff\U00020000-\U0003ffff]")
_LATIN = re.compile(r"[A-Za-z\u00c0-\u024f]")
_BEGINNING = 2000  # sentences
_MOSTLY = 0.3
_SINGLE = 0.9  # share of Chinese tokens that are single characters, if text is tokenised by character


def bundled_for(sentences: Iterable[Sequence[str]]) -> str:
    """The bundled model for the language of tokenised text.

    Raises:
        InputError: There is none.

    Example:
        >>> bundled_for([["曹操", "来", "了", "。"]])
        'chinese-small'
    """
    text = "".join(token for sentence in islice(sentences, _BEGINNING) for token in sentence)
    language = "chinese" if _share(_HAN, text) > _MOSTLY else "english" if _share(_LATIN, text) > _MOSTLY else None
    names = [name for name in bundled_names() if language is not None and name.startswith(f"{language}-")]
    if not names:
        raise InputError("no bundled model fits the language of the text; give vectors with --vectors, or none")
    return f"{language}-small" if f"{language}-small" in names else names[0]


def segmentation_for(sources: Sequence[VectorSource], sentences: Sequence[Sequence[str]]) -> Segmentation:
    """How raw text is tokenised for a model that learnt from these sentences.

    Chinese text by character if the sentences are; else as the text of the first source that records it; else by the
    language of the sentences.
    """
    tokens = [token for sentence in sentences[:_BEGINNING] for token in sentence]
    chinese = [token for token in tokens if _HAN.search(token)]
    if len(chinese) > _MOSTLY * len(tokens):
        if sum(len(token) == 1 for token in chinese) > _SINGLE * len(chinese):
            return Segmentation("char")
        return next((one.segmentation for one in sources if one.segmentation.tokenizer == "zh"), Segmentation("zh"))
    return next((one.segmentation for one in sources if one.segmentation.tokenizer), Segmentation("en"))


def _share(pattern: re.Pattern[str], text: str) -> float:
    return len(pattern.findall(text)) / max(1, len(text))
