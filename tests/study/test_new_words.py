"""Words that a text has and its tokeniser does not know."""

import math
import random
from collections import Counter
from pathlib import Path

import pytest
from conftest import Command

from polyseme.errors import InputError
from polyseme.study.new_words import LEAST_FREEDOM, new_words
from polyseme.text.corpus import Corpus
from polyseme.text.dictionary import Dictionary
from polyseme.text.held_sentences import HeldSentences

NAMES = ("欧阳凤霏", "杨过", "慕容拓")
VERBS = ("说", "笑", "来", "去", "坐", "看", "听", "走", "跑", "想", "问", "答")


def novel(seed: int = 1) -> str:
    """Sentences in which three names stand between words drawn by chance."""
    draw = random.Random(seed)
    other = "天地人山水火木金土日月星云风雨雷电花草鸟虫鱼马牛羊"
    lines = []
    for _ in range(1500):
        name = draw.choice(NAMES) if draw.random() < 0.5 else draw.choice(other)
        before, after = ("".join(draw.choices(other, k=draw.randint(1, 4))) for _ in range(2))
        lines.append(f"{before}{name}{draw.choice(VERBS)}{after}。")
    return "\n".join(lines)


@pytest.fixture
def text(tmp_path: Path) -> Path:
    (tmp_path / "novel.txt").write_text(novel(), encoding="utf-8")
    return tmp_path / "novel.txt"


def test_names_come_first(text: Path) -> None:
    found = new_words(Corpus([text], tokenize="zh"))
    assert {one.word for one in found[:3]} == set(NAMES)
    written = text.read_text(encoding="utf-8")
    for one in found[:3]:
        assert one.occurrences == written.count(one.word)
        assert one.as_token < 0.6 * one.occurrences
        assert one.word in one.example
        assert one.example in written


def test_figures_are_those_of_a_plain_loop(text: Path) -> None:
    (one,) = (found for found in new_words(Corpus([text], tokenize="zh")) if found.word == "杨过")
    lines = [line[:-1] for line in text.read_text(encoding="utf-8").splitlines()]
    counts = Counter("".join(lines))
    expected = math.log2(one.occurrences * counts.total() / (counts["杨"] * counts["过"]))
    assert one.cohesion == pytest.approx(expected)
    sides = []
    for step in (-1, 2):
        neighbours: Counter[str] = Counter()
        for number, line in enumerate(lines):
            if (at := line.find("杨过")) >= 0:
                inside = 0 <= at + step < len(line)
                neighbours[line[at + step] if inside else f"end of {number}"] += 1
        sides.append(-sum(n / neighbours.total() * math.log2(n / neighbours.total()) for n in neighbours.values()))
    assert one.freedom == pytest.approx(min(sides))
    assert one.freedom > LEAST_FREEDOM


def test_words_of_a_dictionary_are_known(text: Path) -> None:
    known = Dictionary(NAMES)
    assert not {one.word for one in new_words(Corpus([text], tokenize="zh", dictionary=known))} & set(NAMES)
    everything = new_words(Corpus([text], tokenize="zh", dictionary=known), kept=1.01)
    assert {one.word for one in everything[:3]} == set(NAMES)
    assert all(one.as_token == one.occurrences for one in everything[:3])


def test_names_of_several_words_in_a_language_with_spaces() -> None:
    draw = random.Random(2)
    words = [f"w{number}" for number in range(60)]
    places = [["New", "York"], ["the", "river"], ["Rio", "de", "Janeiro"]]
    sentences = [[*draw.choices(words, k=3), *places[draw.randrange(3)], *draw.choices(words, k=3)] for _ in range(400)]
    sentences += [["the", draw.choice(words), "river", draw.choice(words)] for _ in range(2000)]
    assert [one.word for one in new_words(HeldSentences(sentences))] == ["Rio de Janeiro", "New York"]


def test_limits(text: Path) -> None:
    corpus = Corpus([text], tokenize="zh")
    assert len(new_words(corpus, most=1)) == 1
    assert new_words(corpus, least=10**6) == []
    assert all(len(one.word) == 2 for one in new_words(corpus, longest=2))
    with pytest.raises(InputError, match=r"^least is 1, expected at least 2 occurrences of a word$"):
        new_words(corpus, least=1)


def test_the_command_writes_a_dictionary(run: Command, text: Path, tmp_path: Path) -> None:
    done = run("words", text, "-k", 3)
    assert done.err == "polyseme: the text looks like raw Chinese and is tokenised by --tokenize zh\n"
    assert {line.split()[0] for line in done.out.splitlines()} == set(NAMES)
    (tmp_path / "names.txt").write_text(done.out, encoding="utf-8")
    assert Dictionary.read(tmp_path / "names.txt") == Dictionary(NAMES)
    rows = run("words", text, "-k", 1, "--csv").out.splitlines()
    assert rows[0] == "word,occurrences,as_token,cohesion,freedom,example"
    assert len(rows) == 2
    assert "no word is proposed" in run("words", text, "--least", 10**6).err
