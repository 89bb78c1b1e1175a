import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.text.chinese_sentences import chinese_sentences
from polyseme.text.english_sentences import english_sentences


@pytest.mark.parametrize(
    "sentences",
    [
        ["He left.", "She stayed."],
        ["Mr. Smith paid 3.50 to the U.S. Army.", "Really?"],
        ["No stop at all"],
        # abbreviations and initials: the next word decides
        ["He came at 5 p.m. yesterday.", "She came at 6 p.m.", "He left."],
        ["Mr. J. R. Smith met Dr. Jones.", "They ate."],
        ["She lives in the U.S.", "He lives in Washington, D.C. with Lt. Col. Lee."],
        ["Apple Inc. is big.", "He works at Apple Inc.", "He likes it."],
        ["On Jan. 5 he left.", "On Feb. 6 he came back, e.g. by train."],
        ["Plan A.", "So do I.", "He got a B.", "She slept."],
        ["Smith et al. found it.", "King Jr. spoke of pens, ink, etc.", "We agree."],
        # numbers and lists
        ["See Fig. 3, No. 5 and p. 12.", "It is clear."],
        ["Did he?", "No.", "I did."],
        ["It cost $3.5 million in 1900.", "20 years later it was free."],
        ["1. First item.", "2. Second item.", "(a) Third."],
        # quotations and brackets
        ['"Stop!" he said.', '"Why?" she asked.'],
        ['He said: "I came.', 'I saw."', "Then he left."],
        ["“Go away.”", "She cried.", "‘Yes.’", "He went."],
        ["(He left.)", "She stayed (for good).", "Fine."],
        ["Kabul accuses Delhi (why?) and others.", "It ended.[1]", "Then it began."],
        # ellipses, several stops, faces
        ["Wait... what?", "No!", "He waited…", "Then he left.", "What?!", "Oh."],
        ["... and then.", "He left. . . .", "She stayed."],
        ["I like it. :)", "You too?", "Yes! ;-)"],
        # stops within words and addresses
        ["See https://x.org/a.b?c=1.", "Next one.", "Yahoo! is big, v2.0 is out."],
        ["Write to Jane.Doe@example.org today.", "Fine."],
        ['It ended. "'],  # nothing but a quote is no sentence
    ],
)
def test_english(sentences: list[str]) -> None:
    assert [sentence.strip() for sentence in english_sentences(" ".join(sentences))] == sentences


def test_english_where_the_space_is_missing() -> None:
    assert english_sentences("It ended.Then it began!Why") == ["It ended.", "Then it began!", "Why"]


@given(
    st.text(
        st.sampled_from("ABab .!?\"'()[]“”\n\t\xa0\u3000\x85é😀\u200d\u03011,") | st.characters(codec="utf-8"),
        max_size=60,
    )
)
def test_english_loses_nothing(paragraph: str) -> None:
    sentences = english_sentences(paragraph)
    assert "".join(sentences) == paragraph
    assert all(sentences)


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
        ["《怎么办？》是一本书。", "我看过《怎么办？》。", "好"],  # a title is no sentence
        ["他居然（！）走了。", "他来了(真的!)。", "好"],  # nor what is said in passing
        ["“好！”，他说。", "“好？”、“不！”", "都行。"],
        ["他走了.", "我没走.", "见3.5节.", "好"],
        ["“走！”", "“不走！”", "她笑了……", "“是吗？”"],
        ["1. 第一项。", "2. 第二项；", "（3）第三项。"],
    ],
)
def test_chinese(sentences: list[str]) -> None:
    assert chinese_sentences("".join(sentences)) == sentences


@pytest.mark.parametrize("piece", ["a.", "A. ", ".", "... ", 'a." ', "J.K.", "a?)", "a.A", "a.Aa"])
@pytest.mark.timeout(5)
def test_a_long_english_paragraph_takes_no_more_than_moments(piece: str) -> None:
    paragraph = piece * (4096 // len(piece))
    assert "".join(english_sentences(paragraph)) == paragraph


@given(st.text(st.sampled_from("天地。！？…；!?\"'”」）a1 \u3000") | st.characters(codec="utf-8"), max_size=60))
def test_chinese_loses_nothing(paragraph: str) -> None:
    sentences = chinese_sentences(paragraph)
    assert "".join(sentences) == paragraph
    assert all(sentences)
