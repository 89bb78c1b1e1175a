import io
import random
import textwrap

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from polyseme.text.paragraphs import paragraphs
from polyseme.text.tokenizers import tokenized


def paragraphs_of(text: str) -> list[str]:
    return list(paragraphs(io.StringIO(text, newline=None).readline))


def prose(sentences: int, seed: int = 0) -> str:
    """Sentences of made-up words of 1 to 10 letters."""
    chance = random.Random(seed)

    def word() -> str:
        return "".join(chance.choices("abcdefghijklmnopqrstuvwxyz", k=chance.randint(1, 10)))

    return " ".join(
        f"{word().capitalize()} {' '.join(word() for _ in range(chance.randint(4, 20)))} closing."
        for _ in range(sentences)
    )


@given(width=st.integers(52, 120), seed=st.integers(0, 10_000), count=st.integers(1, 4))
@settings(max_examples=50, deadline=None)
def test_wrapped_paragraphs_are_restored(width: int, seed: int, count: int) -> None:
    originals = [prose(5, seed + n) for n in range(count)]
    assert paragraphs_of("\n\n".join(textwrap.fill(text, width) for text in originals)) == originals


def test_wrapped_paragraphs_without_blank_lines_end_at_a_short_line() -> None:
    first = textwrap.fill(prose(5), 70).splitlines()[:4]
    second = textwrap.fill(prose(5, 1), 70).splitlines()[:4]
    text = "\n".join([*first, "ends early.", *second])
    assert paragraphs_of(text) == [" ".join([*first, "ends early."]), " ".join(second)]


@pytest.mark.parametrize(
    "lines",
    [
        ["A heading", prose(4), "Another heading", prose(6)],  # a paragraph a line
        [prose(1, seed) for seed in range(60)],  # a sentence a line
        [prose(3, seed)[: 20 + 37 * seed % 90].strip() for seed in range(60)],  # a headline a line
        ["Short", "lines", "of a list", "of things"],
        [
            "The moon is up",
            "and on the hill",
            "a single tree",
            "is standing still,",
            "its leaves asleep, its shadow long",
        ],
    ],
    ids=["paragraphs", "sentences", "headlines", "list", "verse"],
)
def test_lines_that_are_not_wrapped_stay_apart(lines: list[str]) -> None:
    assert paragraphs_of("\n".join(lines)) == lines


def test_chinese_is_joined_without_a_space_and_english_within_it_with_one() -> None:
    text = "".join(random.Random(0).choices("天地玄黄宇宙洪荒日月盈昃辰宿列张", k=150))
    wrapped = "\n".join(text[at : at + 36] for at in range(0, 150, 36))
    assert paragraphs_of(wrapped) == [text]
    mixed = "这是一个关于机器的很长的句子所以它必须在这里折行因为后面 deep"
    assert paragraphs_of(f"{mixed}\nlearning 很有用") == [f"{mixed} learning 很有用"]


def test_a_word_parted_at_its_hyphen_is_joined() -> None:
    line = "these lines are wrapped so tightly that they break at a well-"
    assert paragraphs_of(f"{line}\nknown place") == [f"{line}known place"]
    assert paragraphs_of(f"{line[:-5]}1990-\nknown place") == [f"{line[:-5]}1990- known place"]


def test_whitespace_only_lines_are_blank_and_indents_are_dropped() -> None:
    assert paragraphs_of("\u3000\u3000天黑了\n \t\u3000\n    indented\r\n\r\nlast") == ["天黑了", "indented", "last"]
    assert paragraphs_of("\n\n \n") == []


class Endless:
    """A line of a hundred million characters that is never in memory as a whole."""

    def __init__(self, piece: str, length: int) -> None:
        self.left = length
        self.piece = piece
        self.longest = 0

    def readline(self, limit: int) -> str:
        self.longest = max(self.longest, limit)
        size = min(limit, self.left)
        self.left -= size
        return (self.piece * (size // len(self.piece) + 1))[:size]


def test_a_line_without_an_end_is_cut() -> None:
    line = Endless("x", 100_000_000)
    total = 0
    for paragraph in paragraphs(line.readline):
        assert len(paragraph) <= line.longest <= 10_000
        total += len(paragraph)
    assert total == 100_000_000


def test_a_long_line_is_cut_between_sentences() -> None:
    sentence = "Mr. J. Doe of St. Louis wrote the following sentence."
    pieces = paragraphs_of(" ".join([sentence] * 1000))
    assert len(pieces) > 1
    assert {part for piece in pieces for part in piece.split(sentence)} == {"", " "}
    chinese = paragraphs_of("他说：“天黑了，我们走吧。”" * 1000)
    assert len(chinese) > 1
    assert all(piece.endswith("”") for piece in chinese)


def test_a_long_wrapped_paragraph_is_cut_between_sentences() -> None:
    sentences = list(tokenized(io.StringIO(textwrap.fill(prose(400), 70)).readline, "en"))
    assert len(sentences) == 400
    assert all(tokens[-2:] == ["closing", "."] for tokens in sentences)


@given(st.text(st.sampled_from("ab- .\n\r天，。\u3000\u0301"), max_size=2000))
@settings(max_examples=50, deadline=None)
def test_nothing_but_whitespace_is_lost(text: str) -> None:
    assert "".join("".join(paragraphs_of(text)).split()) == "".join(text.split())
