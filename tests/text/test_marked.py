"""A word in brackets is asked for in the tokens that the corpus would have."""

import io
import re

import pytest

from polyseme.errors import InputError
from polyseme.text.choices import Tokenizer
from polyseme.text.marked import mark, marked
from polyseme.text.segmentation import Segmentation
from polyseme.text.tokenizers import tokenized


@pytest.mark.parametrize(
    ("tokenize", "sentence"),
    [
        ("en", "Mr. [Smith] left at 5 p.m. yesterday."),
        ("en", "The U.S. [bank] failed."),
        ("en", "J. [Brown] can't come ."),
        ("en", "He said (see Fig. [3]) so."),
        ("en", "He left at once. The [play] had begun."),
        ("zh", "她喜欢吃[苹果]和梨。"),
        ("char", "他[打]球。"),
    ],
)
def test_the_tokens_are_those_of_the_text(tokenize: Tokenizer, sentence: str) -> None:
    text = sentence.replace("[", "").replace("]", "")
    expected = [token for tokens in tokenized(io.StringIO(text).readline, tokenize) for token in tokens]
    tokens, position = marked(sentence, Segmentation(tokenize))
    assert tokens == expected
    assert f"[{tokens[position]}]" in sentence


@pytest.mark.parametrize(
    ("tokenize", "sentence", "expected"),
    [
        ("en", "I ca[n't] say", (["I", "ca", "n't", "say"], 2)),
        ("zh", "我给你打[电话]。", (["我", "给", "你", "打", "电话", "。"], 4)),  # 打电话 is a word of the dictionary
        ("zh", "曹操大【怒】", (["曹操", "大", "怒"], 2)),
        ("zh", "曹操大［怒］", (["曹操", "大", "怒"], 2)),
        (None, "【 note 】 on the [bank]", (["【", "note", "】", "on", "the", "bank"], 5)),
        (None, "on the [bank].", (["on", "the", "bank", "."], 2)),
    ],
)
def test_the_brackets_hold_one_token(
    tokenize: Tokenizer | None, sentence: str, expected: tuple[list[str], int]
) -> None:
    assert marked(sentence, Segmentation(tokenize)) == expected


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("no bracket", " needs one word in brackets; write it as"),
        ("an [ ] empty one", " needs one word in brackets; write it as"),
        ("never [closed", " needs one word in brackets; write it as"),
        ("[one] and [two]", ": 2 words are in brackets; leave them around the one you mean"),
        ("【一】和【二】", ": 2 words are in brackets; leave them around the one you mean"),
        ("in [New York]", ": 2 words are in the brackets; put them around one"),
    ],
)
def test_one_word_is_marked(sentence: str, message: str) -> None:
    with pytest.raises(InputError, match=f"{re.escape(sentence)}'{message}"):
        marked(sentence)


def test_what_is_left_out_is_shown() -> None:
    tokens = ["The", "river", "bank", "was", "steep"]
    assert mark(tokens, 2) == mark(tokens, 2, around=2) == "The river [bank] was steep"
    assert mark(tokens, 0, around=1) == "[The] river …"
    assert mark(tokens, 4, around=1) == "… was [steep]"


@pytest.mark.parametrize(("tokenize", "sentence"), [("en", "It was un[lovely]."), (None, "The river ban[k]s")])
def test_no_part_of_a_word_is_marked(tokenize: Tokenizer | None, sentence: str) -> None:
    with pytest.raises(InputError, match="the brackets are inside a word; put them around the whole word"):
        marked(sentence, Segmentation(tokenize))
