import io

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.text import graphemes
from polyseme.text.chinese import chinese_words
from polyseme.text.choices import TOKENIZERS, Tokenizer
from polyseme.text.tokenizers import tokenized


def tokenize(text: str, tokenizer: Tokenizer) -> list[list[str]]:
    return list(tokenized(io.StringIO(text, newline=None).readline, tokenizer))


def test_english_text() -> None:
    text = 'CHAPTER I\n\n"It\'s late," said Mr. Doe.  He yawned -- twice!\nAnd left'
    assert tokenize(text, "en") == [
        ["CHAPTER", "I"],
        ['"', "It", "'s", "late", ",", '"', "said", "Mr.", "Doe", "."],
        ["He", "yawned", "--", "twice", "!"],
        ["And", "left"],
    ]


def test_chinese_text() -> None:
    text = "\u3000\u3000他来到了网易杭研大厦。“走吧！”他说：用 Mac OS 吗？\n\n好"
    assert tokenize(text, "zh") == [
        ["他", "来到", "了", "网易", "杭", "研", "大厦", "。"],
        ["“", "走", "吧", "！", "”"],
        ["他", "说", "：", "用", "Mac", "OS", "吗", "？"],
        ["好"],
    ]


def test_chinese_words_are_not_guessed_at() -> None:
    assert chinese_words("他开着一辆旧卡车。") == ["他", "开", "着", "一辆", "旧", "卡车", "。"]


def test_chinese_words_do_not_part_a_character() -> None:
    assert chinese_words("我👩🏽‍🚀e\u0301他🇨🇳\u3000好") == ["我", "👩🏽‍🚀", "e\u0301", "他", "🇨🇳", "好"]


@pytest.mark.parametrize(
    ("sentence", "expected"),
    [
        (
            "2023-05-06上午9:30，他花了￥1,234.56元，占30%。",
            "2023-05-06 上午 9:30 ， 他 花 了 ￥ 1,234.56 元 ， 占 30 % 。",
        ),
        ("GPT-4o、C++和Node.js的T恤", "GPT-4o 、 C++ 和 Node.js 的 T恤"),
        ("见https://a.cn/b?c=1&d=2或写信到li@b.cn。", "见 https://a.cn/b?c=1&d=2 或 写信 到 li@b.cn 。"),
        ("It's naïve，don’t！", "It 's naïve ， do n’t ！"),
        ("好……——？！走了。。。真的！！！", "好 …… —— ？！ 走 了 。。。 真的 ！！！"),
        ("全角ＡＢＣ１２３，３．５", "全角 ＡＢＣ１２３ ， ３．５"),
        ("한국어 문장，カタカナ", "한국어 문장 ， カタカナ"),
    ],
)
def test_what_stands_between_chinese_words_stays_whole(sentence: str, expected: str) -> None:
    assert chinese_words(sentence) == expected.split()


def test_characters() -> None:
    assert tokenize("床前明月光，\n疑是地上霜。举头 ab\u3000", "char") == [
        list("床前明月光，"),
        list("疑是地上霜。"),
        list("举头ab"),
    ]


@pytest.mark.parametrize(
    "character",
    ["e\u0301", "a\u0300\u0323", "क्", "葛\U000e0100", "☕\ufe0f", "👩🏽‍🚀", "👨‍👩‍👧‍👦", "🏳️‍🌈", "🇨🇭", "👍🏿"],
)
def test_a_character_keeps_its_marks(character: str) -> None:
    assert graphemes.graphemes(f"字{character}y {character}") == ["字", character, "y", character]


def test_a_mark_without_a_base_stands_alone() -> None:
    assert graphemes.graphemes("\u0301a \u0301") == ["\u0301", "a", "\u0301"]


def test_flags_are_pairs() -> None:
    assert graphemes.graphemes("🇨🇭🇨🇳🇺") == ["🇨🇭", "🇨🇳", "🇺"]


@pytest.mark.parametrize("tokenizer", TOKENIZERS)
@given(
    text=st.text(
        st.sampled_from("aAn't’s.,!?\"“”()-$%@:/_1 \n\r\u3000\xa0\x85天地。；…é\u0301😀\u200d🇨\ufe0f\ufffd")
        | st.characters(codec="utf-8")
    )
)
@settings(max_examples=200, deadline=None)
def test_nothing_but_whitespace_is_lost(tokenizer: Tokenizer, text: str) -> None:
    found = tokenize(text, tokenizer)
    assert "".join(token for tokens in found for token in tokens) == "".join(text.split())
    assert all(token and not any(map(str.isspace, token)) for tokens in found for token in tokens)
    assert all(found)
