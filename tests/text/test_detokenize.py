"""Tokens put together again are the text that was tokenised."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.choices import TOKENIZERS, Tokenizer
from polyseme.text.detokenize import detokenize
from polyseme.text.parallel import tokens_of
from polyseme.text.segmentation import Segmentation


@pytest.mark.parametrize(
    "line",
    [
        "I don't know, Tom. You'll see!",
        "¿Qué hora es? ¡No lo sé!",
        'He said, "I cannot come," and left (in a hurry).',
        "It's 5:30 p.m. and/or later; 50% of $1,000.",
        "«Ven», dijo él. “Vale”.",
        "I'm gonna go... She's well-known.",
        'She called him "boss" and "friend".',
    ],
)
def test_lines_come_back(line: str) -> None:
    assert detokenize(tokens_of(Segmentation("en"), line), "en") == line


@pytest.mark.parametrize("tokenizer", ["zh", "char"])
def test_chinese_comes_back(tokenizer: Tokenizer) -> None:
    line = "他们明天去北京，你呢？"
    assert detokenize(tokens_of(Segmentation(tokenizer), line), tokenizer) == line
    assert detokenize(["用", "Python", "3", "写"], "zh") == "用Python 3写"


def test_tokenised_text_keeps_its_spaces() -> None:
    assert detokenize(["do", "n't", "."], None) == "do n't ."


@given(
    st.lists(st.text(min_size=1).filter(lambda token: not any(map(str.isspace, token)))), st.sampled_from(TOKENIZERS)
)
def test_only_spaces_come_between(tokens: list[str], tokenizer: Tokenizer) -> None:
    assert detokenize(tokens, tokenizer).replace(" ", "") == "".join(tokens)
