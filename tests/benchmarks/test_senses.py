import json
import re
import sys
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tiny import tiny_model

from benchmarks import senses
from benchmarks.senses import (
    FOLDER,
    LANGUAGES,
    Pair,
    interval,
    language_of,
    measure,
    read_pairs,
    read_sentences,
    report,
    similarities,
    table,
)
from polyseme import Embedder
from polyseme.errors import FormatError, InputError
from polyseme.study.pair_auc import auc

HEADER = "word\tsentence 1\tsentence 2\tlabel\n"


@pytest.fixture(scope="module", params=LANGUAGES)
def pairs(request: pytest.FixtureRequest) -> list[Pair]:
    return read_pairs(FOLDER / "sense_pairs" / f"{LANGUAGES[request.param]}.tsv", request.param)


@pytest.fixture(scope="module", params=LANGUAGES)
def natural(request: pytest.FixtureRequest) -> list[Pair]:
    return read_sentences(FOLDER / "sense_sentences" / f"{LANGUAGES[request.param]}.tsv", request.param)


def test_pairs_are_many_and_balanced(pairs: list[Pair]) -> None:
    assert len(pairs) >= 100
    assert 0.4 <= np.mean([pair.same for pair in pairs]) <= 0.6
    for label in (True, False):  # each word, so that no word gives the label away
        counts = Counter(pair.word for pair in pairs if pair.same is label)
        assert set(counts) == {pair.word for pair in pairs}
        assert min(counts.values()) >= 2
    assert len({pair.word for pair in pairs}) >= 25


def test_every_two_sentences_of_a_word_are_a_pair(natural: list[Pair]) -> None:
    assert len({pair.word for pair in natural}) == 16
    assert len({occurrence for pair in natural for occurrence in pair.occurrences}) == 160  # none is twice
    assert Counter(pair.same for pair in natural) == {True: 16 * 20, False: 16 * 25}
    assert len(set(natural)) == len(natural)


def test_sentences_are_of_natural_length_and_none_is_twice(pairs: list[Pair]) -> None:
    sentences = [occurrence.tokens for pair in pairs for occurrence in pair.occurrences]
    assert len(set(map(tuple, sentences))) == len(sentences)
    for tokens in sentences:
        assert 6 <= sum(re.search(r"\w", token) is not None for token in tokens) <= 20, tokens


def test_the_word_stands_at_its_place(pairs: list[Pair]) -> None:
    for pair in pairs:
        for occurrence in pair.occurrences:
            assert occurrence.tokens[occurrence.position] == pair.word
            assert "".join(occurrence.tokens).count(pair.word) == 1 or pair.word.isascii()


def test_a_file_says_where_it_is_wrong(tmp_path: Path) -> None:
    path = tmp_path / "pairs.tsv"
    for text, message in [
        ("", f"{path}, line 1: got [], expected the header"),
        ("word\tsame\n", f"{path}, line 1: got [['word', 'same']], expected the header"),
        (HEADER + "bank\tA bank.\n", f"{path}, line 2: got 2 columns, expected 4"),
        (
            HEADER + "bank\tA bank.\tThe bank.\tsame\nbank\tA bank.\tThe bank.\tyes\n",
            f"{path}, line 3: the label is 'yes', expected 'same' or 'different'",
        ),
        (
            HEADER + "bank\tA bank.\tThe banks.\tsame\n",
            f"{path}, line 2: 'bank' is 0 tokens of 'The banks .', expected one; reword it",
        ),
        (
            HEADER + "bank\tA bank by a bank.\tThe bank.\tsame\n",
            f"{path}, line 2: 'bank' is 2 tokens of 'A bank by a bank .', expected one; reword it",
        ),
        (
            HEADER + "bank\tA bank is here. It is shut.\tThe bank.\tsame\n",
            f"{path}, line 2: 'A bank is here. It is shut.' is 2 sentences, expected one",
        ),
        (
            HEADER + "bank\tA bank.\tThe bank.\tsame\n",
            f"{path}: expected pairs of 'bank' of the same sense and of different senses",
        ),
        (HEADER, f"{path}: expected pairs of '' of the same sense"),
    ]:
        path.write_text(text, encoding="utf-8")
        with pytest.raises(FormatError, match=re.escape(message)):
            read_pairs(path, "en")
    path.write_text("word\tsense\tsentence\nbank\triver\tA bank.\nbank\tmoney\n", encoding="utf-8")
    with pytest.raises(FormatError, match=re.escape(f"{path}, line 3: got 2 columns, expected 3")):
        read_sentences(path, "en")


@given(st.lists(st.tuples(st.integers(0, 5), st.booleans()), min_size=2).filter(lambda r: len({s for _, s in r}) == 2))
def test_auc_is_that_of_a_double_loop(rows: list[tuple[int, bool]]) -> None:
    total = count = 0.0
    for one, one_same in rows:
        for two, two_same in rows:
            if one_same and not two_same:
                count += 1
                total += 1 if one > two else 0.5 if one == two else 0
    scores, same = np.array([score for score, _ in rows], dtype=float), np.array([same for _, same in rows])
    assert auc(scores, same) == pytest.approx(total / count, abs=1e-12)


def test_interval_is_that_of_drawing_words_one_by_one() -> None:
    random = np.random.default_rng(5)
    same, words = np.arange(80) % 2 == 0, [f"w{number // 4}" for number in range(80)]
    scores = random.normal(size=80) + 0.8 * same
    drawn = []
    for _ in range(4000):
        rows = np.concatenate([np.arange(4 * word, 4 * word + 4) for word in random.choice(20, 20)])
        drawn.append(auc(scores[rows], same[rows]))
    assert interval(scores, same, words) == pytest.approx(np.quantile(drawn, (0.025, 0.975)), abs=0.01)
    assert interval(scores, same, words) == interval(scores, same, words)
    assert interval(same.astype(float), same, words) == (1, 1)


def test_layer_0_is_blind_and_the_others_are_not(pairs: list[Pair]) -> None:
    blind, *others = measure(Embedder(tiny_model(softmax=False)), pairs)
    assert (blind.layer, blind.auc, blind.low, blind.high) == ("0", 0.5, 0.5, 0.5)
    assert (blind.same, blind.different) == (1, 1)
    assert [row.layer for row in others] == ["1", "2", "mean"]
    for row in others:
        assert row.low < row.auc < row.high
        assert max(row.same, row.different) < 1


def test_layer_0_is_blind_in_small_batches_without_a_cache(pairs: list[Pair]) -> None:
    embedder = Embedder(tiny_model(softmax=False), batch_tokens=40, cache_mib=0)
    assert measure(embedder, pairs)[0].auc == 0.5


def test_similarities_are_cosines(pairs: list[Pair]) -> None:
    embedder = Embedder(tiny_model(softmax=False))
    found = similarities(embedder, pairs)
    for number in (0, len(pairs) - 1):
        one, two = (
            embedder.embed([occurrence.tokens])[0][:, occurrence.position] for occurrence in pairs[number].occurrences
        )
        for layer, a, b in [("1", one[1], two[1]), ("2", one[2], two[2]), ("mean", one.mean(axis=0), two.mean(axis=0))]:
            cosine = a @ b / np.sqrt((a @ a) * (b @ b))
            assert found[layer][number] == pytest.approx(cosine, abs=2e-6)


def test_language_comes_from_the_name() -> None:
    assert language_of("models/English-small") == "en"
    assert language_of("chinese-small") == "zh"
    for name in ("model", "english-and-chinese"):
        expected = f"{name}: expected a name with 'english' or 'chinese' in it, to know the language; give --language"
        with pytest.raises(InputError, match=re.escape(expected)):
            language_of(name)


def test_command(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(senses, "load_embedder", lambda _: Embedder(tiny_model(softmax=False)))
    monkeypatch.setattr(sys, "argv", ["senses", "english-tiny", "--json"])
    senses.main()
    found = json.loads(capsys.readouterr().out)
    assert (found["model"], found["language"]) == ("english-tiny", "en")
    assert list(found["sets"]) == ["every two sentences of a word", "hard pairs"]
    for rows in found["sets"].values():
        assert [row["layer"] for row in rows] == ["0", "1", "2", "mean"]

    monkeypatch.setattr(sys, "argv", ["senses", "tiny", "--language", "en"])
    senses.main()
    embedder, printed = Embedder(tiny_model(softmax=False)), capsys.readouterr().out
    assert report(embedder, "en") in printed
    pairs = read_pairs(FOLDER / "sense_pairs/english.tsv", "en")
    assert f"120 pairs of 30 words, hard pairs:\n\n{table(measure(embedder, pairs))}" in printed

    monkeypatch.setattr(sys, "argv", ["senses", "tiny"])
    with pytest.raises(SystemExit, match="2"):
        senses.main()
    refusal = capsys.readouterr()
    assert refusal.out == ""
    assert refusal.err.startswith("tiny: expected a name with")
    assert refusal.err.count("\n") == 1
