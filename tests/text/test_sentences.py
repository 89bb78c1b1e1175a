import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.sentences import chinese_sentences, english_sentences


@pytest.mark.parametrize(
    ("paragraph", "expected"),
    [
        ("He left. She stayed.", ["He left.", "She stayed."]),
        ("Mr. Smith paid 3.50 to the U.S. Army. Really?", ["Mr. Smith paid 3.50 to the U.S. Army.", "Really?"]),
        ("No stop at all", ["No stop at all"]),
    ],
)
def test_english(paragraph: str, expected: list[str]) -> None:
    assert [sentence.strip() for sentence in english_sentences(paragraph)] == expected


@pytest.mark.parametrize("space", ["\xa0", "\u3000", "\u2028", "\x85"])
def test_whitespace_beyond_ascii_after_an_initial_does_no_harm(space: str) -> None:
    assert english_sentences(f"A{space}. B") == ["A . B"]


@given(
    st.text(
        st.sampled_from("ABab .!?\"'()[]“”\n\t\xa0\u3000\x85é😀\u200d\u03011,") | st.characters(codec="utf-8"),
        max_size=60,
    )
)
def test_english_loses_nothing(paragraph: str) -> None:
    assert "".join("".join(english_sentences(paragraph)).split()) == "".join(paragraph.split())


@pytest.mark.parametrize(
    "sentences",
    [
        ["天黑了。", "下雨了！", "走吗？", "好；", "走…"],
        ["他说：“走吧！”", "然后走了。"],
        ["（他走了。）", "我没走。"],
        ["他说：“走吧！”。", "然后走了。"],  # a stop after the quote belongs to it
        ["真的？！", "真的。"],
        ["……我不知道。", "你呢"],  # nothing but a stop is no sentence
        ["他走了。", '"你好。"', "她说。"],  # a straight quote opens or closes
        ["见 http://a.cn/b?id=1&c!d 。", "好!", "吗?", "好"],
        ["圆周率是3.14，不是3。", "对"],
    ],
)
def test_chinese(sentences: list[str]) -> None:
    assert chinese_sentences("".join(sentences)) == sentences


@given(st.text(st.sampled_from("天地。！？…；!?\"'”」）a1 \u3000") | st.characters(codec="utf-8"), max_size=60))
def test_chinese_loses_nothing(paragraph: str) -> None:
    sentences = chinese_sentences(paragraph)
    assert "".join(sentences) == paragraph
    assert all(sentences)
