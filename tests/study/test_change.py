"""Change of words beside slow loops and known values."""

import itertools
from collections.abc import Iterable, Mapping
from pathlib import Path

import numpy as np
import pytest
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.study.change import change_of_indexes, change_of_texts
from polyseme.study.change_measures import Usage, compare
from polyseme.study.compared_texts import _needed
from polyseme.text.corpus import Corpus

OLD = ["the bank of the river", "a river bank", "They play cards", "Bank of water", "play , play"] * 3
NEW = ["the bank lent money", "a money bank", "They play cards", "the play was long", "a river"] * 4


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model(softmax=False))


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Corpus, Corpus]:
    for name, lines in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return Corpus([tmp_path / "old.txt"]), Corpus([tmp_path / "new.txt"])


def usage(vectors: Mapping[str, Iterable[np.ndarray]]) -> Usage:
    result = Usage()
    for word, rows in vectors.items():
        for row in rows:
            result.add(word, row)
    return result


def occurrences(embedder: Embedder, lines: list[str], word: str, layers: object = "top") -> list[np.ndarray]:
    rows = [
        row
        for line in lines
        for token, row in zip(line.split(), embedder.embed([line.split()], layers=layers)[0], strict=True)  # type: ignore[arg-type]
        if token.lower() == word
    ]
    return [row / np.linalg.norm(row) for row in rows]


def slow_apd(old: list[np.ndarray], new: list[np.ndarray]) -> float:
    total = 0.0
    for one in old:
        for two in new:
            total += 1 - float(one @ two)
    return total / len(old) / len(new)


def slow_prt(old: list[np.ndarray], new: list[np.ndarray]) -> float:
    one, two = np.mean(old, axis=0), np.mean(new, axis=0)
    return 1 - float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


class TestCompare:
    def test_apd_is_that_of_a_double_loop(self) -> None:
        draw = np.random.default_rng(3)
        old, new = (unit((draw.standard_normal((count, 8)) + 0.5).astype(np.float32)) for count in (7, 12))
        ((word, apd, prt, *counts, by_chance),) = compare(usage({"x": old}), usage({"x": new}))
        assert (word, counts) == ("x", [7, 12])
        assert apd == pytest.approx(slow_apd(list(old), list(new)), abs=1e-6)
        assert prt == pytest.approx(slow_prt(list(old), list(new)), abs=1e-6)
        pairs = itertools.combinations([*old, *new], 2)
        assert by_chance == pytest.approx(np.mean([1 - float(one @ two) for one, two in pairs]), abs=1e-6)

    def test_known_values(self) -> None:
        x, y = np.eye(2, dtype=np.float32)
        old = usage({"moved": [x, x], "same": [x], "split": [x, x], "gone": [x], "turned": [x]})
        new = usage({"moved": [y], "same": [x, x, x], "split": [x, y], "come": [x], "turned": [-x]})
        found = {one.word: one[1:5] for one in compare(old, new)}
        assert list(found) == ["turned", "moved", "split", "same"]
        assert found["turned"] == pytest.approx((2, 2, 1, 1))
        assert found["moved"] == pytest.approx((1, 1, 2, 1))
        assert found["split"] == pytest.approx((0.5, 1 - np.sqrt(0.5), 2, 2))
        assert found["same"] == pytest.approx((0, 0, 1, 3))

    def test_letter_case_is_one_word(self) -> None:
        x, y = np.eye(2, dtype=np.float32)
        (found,) = compare(usage({"Bank": [x], "bank": [y]}), usage({"BANK": [x]}))
        assert found.word == "bank"
        assert found.apd == pytest.approx(0.5)
        assert (found.old, found.new) == (2, 1)


class TestTexts:
    @pytest.mark.parametrize("layers", ["top", "mean", 0, 1])
    def test_it_is_what_loops_over_all_occurrences_find(
        self, embedder: Embedder, texts: tuple[Corpus, Corpus], layers: object
    ) -> None:
        found = change_of_texts(embedder, *texts, words=["bank", "Play"], layers=layers)  # type: ignore[arg-type]
        assert {one.word: (one.old, one.new) for one in found} == {"bank": (9, 8), "play": (9, 8)}
        for one in found:
            old, new = (occurrences(embedder, lines, one.word, layers) for lines in (OLD, NEW))
            assert one.apd == pytest.approx(slow_apd(old, new), abs=1e-5)
            assert one.prt == pytest.approx(slow_prt(old, new), abs=1e-5)
        assert [one.apd for one in found] == sorted((one.apd for one in found), reverse=True)

    def test_a_text_has_not_changed_from_itself(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        for one in change_of_texts(embedder, texts[0], texts[0], least=1):
            assert one.prt == pytest.approx(0, abs=1e-6)

    def test_all_words_that_stand_often_enough(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        told = Recorder()
        found = change_of_texts(embedder, *texts, least=4, watcher=told)
        assert {one.word for one in found} == {"the", "bank", "play", "river"}  # not ",", nor 3 of "cards"
        old, new = texts
        stages = [
            f"counting the words of {old}",
            f"counting the words of {new}",
            f"embedding {old}",
            f"embedding {new}",
        ]
        assert list(told.stages) == stages
        told.check_shares()

    def test_some_occurrences_spread_evenly(
        self, embedder: Embedder, texts: tuple[Corpus, Corpus], tmp_path: Path
    ) -> None:
        (found,) = change_of_texts(embedder, *texts, words=["bank"], most=4)
        assert (found.old, found.new) == (4, 4)
        (tmp_path / "many.txt").write_text("".join(f"{number} bank a\n" for number in range(100)))
        for most, gaps in ((10, {10}), (30, {3, 4}), (100, {1}), (1000, {1})):
            chosen = list(_needed(Corpus([tmp_path / "many.txt"]), {"bank": 100}, most))
            assert len(chosen) == min(most, 100)
            assert all(positions == [1] for _, positions in chosen)
            assert set(np.diff([int(sentence.tokens[0]) for sentence, _ in chosen]).tolist()) == gaps

    def test_what_cannot_be_compared(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        with pytest.raises(InputError, match=r"none of the words is in both texts; check their spelling"):
            change_of_texts(embedder, *texts, words=["water", "zebra"])
        with pytest.raises(InputError, match=r"no word occurs 100 times in both texts; give more text, or a lower"):
            change_of_texts(embedder, *texts, least=100)
        with pytest.raises(InputError, match=r"an occurrence has one vector; choose layers 'top', 'mean'"):
            change_of_texts(embedder, *texts, layers="all")
        with pytest.raises(InputError, match=r"unknown layer 7"):
            change_of_texts(embedder, *texts, layers=7)


class TestIndexes:
    def test_it_is_what_the_texts_give(self, embedder: Embedder, texts: tuple[Corpus, Corpus], tmp_path: Path) -> None:
        folders = tmp_path / "old", tmp_path / "new"
        for corpus, folder in zip(texts, folders, strict=True):
            OccurrenceIndex.build(embedder, corpus, folder, shard_bytes=600)
        for words in (["bank", "play"], []):
            found = change_of_indexes(*folders, words=words, least=3)
            expected = change_of_texts(embedder, *texts, words=words, least=3)
            assert {one.word for one in found} == {one.word for one in expected}
            by_word = {one.word: one for one in found}
            for one in expected:
                # Vectors are stored in 16 bits.
                assert by_word[one.word][1:] == pytest.approx(one[1:], abs=1e-3)

    def test_indexes_of_two_kinds(self, embedder: Embedder, texts: tuple[Corpus, Corpus], tmp_path: Path) -> None:
        OccurrenceIndex.build(embedder, texts[0], tmp_path / "top")
        OccurrenceIndex.build(embedder, texts[1], tmp_path / "mean", layers="mean")
        other = Embedder(tiny_model(seed=5, softmax=False))
        OccurrenceIndex.build(other, texts[1], tmp_path / "other")
        with pytest.raises(InputError, match=r"was built with layers 'top', .*mean with 'mean'; their vectors cannot"):
            change_of_indexes(tmp_path / "top", tmp_path / "mean")
        with pytest.raises(InputError, match=r"was built with model .*; their vectors cannot be compared"):
            change_of_indexes(tmp_path / "top", tmp_path / "other")
