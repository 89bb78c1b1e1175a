"""The noise floor, the control words and the examples of change beside plain loops and known values."""

import itertools
from collections import Counter
from pathlib import Path

import numpy as np
import pytest
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.index.occurrence import Occurrence
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.study.change_evidence import gather_evidence, noise_floor, unlike
from polyseme.study.compared_indexes import ComparedIndexes
from polyseme.study.compared_texts import ComparedTexts
from polyseme.study.control_words import control_words
from polyseme.text.corpus import Corpus

OLD = ["the bank of the river", "a river bank", "They play cards", "Bank of water", "play , play"] * 3
NEW = ["the bank lent money", "a money bank", "They play cards", "the play was long", "a river"] * 4


@pytest.fixture
def texts(tmp_path: Path) -> tuple[Corpus, Corpus]:
    for name, lines in (("old", OLD), ("new", NEW)):
        (tmp_path / f"{name}.txt").write_text("".join(f"{line}\n" for line in lines))
    return Corpus([tmp_path / "old.txt"]), Corpus([tmp_path / "new.txt"])


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model(softmax=False))


def compared(embedder: Embedder, texts: tuple[Corpus, Corpus], watcher: Recorder | None = None) -> ComparedTexts:
    return ComparedTexts(embedder, *texts, most=1000, layers="top", watcher=watcher or Recorder())


class TestNoise:
    def test_its_mean_is_that_of_all_splits(self) -> None:
        draw = np.random.default_rng(5)
        old, new = (unit((draw.standard_normal((count, 4)) + 1).astype(np.float32)) for count in (3, 4))
        pool = np.concatenate([old, new]).astype(np.float64)
        apd, prt = [], []
        for chosen in itertools.combinations(range(7), 3):
            one, two = pool[list(chosen)].mean(axis=0), np.delete(pool, chosen, axis=0).mean(axis=0)
            apd.append(1 - one @ two)
            prt.append(1 - one @ two / np.linalg.norm(one) / np.linalg.norm(two))
        noise = noise_floor(old, new, shuffles=4000)
        assert noise.apd == pytest.approx(np.mean(apd), abs=4 * np.std(apd) / np.sqrt(4000))
        assert noise.prt == pytest.approx(np.mean(prt), abs=4 * np.std(prt) / np.sqrt(4000))
        assert noise.apd_95 in [pytest.approx(value, abs=1e-6) for value in sorted(apd)[-4:]]  # of 35
        assert noise == noise_floor(old, new, shuffles=4000)

    def test_two_clouds_are_above_it_and_one_is_not(self) -> None:
        draw = np.random.default_rng(6)
        middle = draw.standard_normal((2, 8)) * 3
        clouds = [unit((draw.standard_normal((50, 8)) + middle[number]).astype(np.float32)) for number in (0, 0, 1)]
        same, other = noise_floor(clouds[0], clouds[1], shuffles=200), noise_floor(clouds[0], clouds[2], shuffles=200)
        assert 1 - float(clouds[0].mean(axis=0) @ clouds[1].mean(axis=0)) < same.apd_95
        assert 1 - float(clouds[0].mean(axis=0) @ clouds[2].mean(axis=0)) > other.apd_95


def test_examples_are_those_whose_nearest_is_farthest() -> None:
    x, y, z = np.eye(3, dtype=np.float32)
    found = [Occurrence("w", 1.0, [name, "w"], 1) for name in ("x", "y", "z", "z")]
    examples = unlike((found, np.stack([x, y, z, z])), np.stack([x, unit((x + y)[None])[0]]), 3)
    assert [(one.sentence[0], pytest.approx(one.similarity)) for one in examples] == [
        ("z", 0.0),
        ("y", np.sqrt(0.5)),
        ("x", 1.0),
    ]


def test_control_words_are_as_frequent_in_both() -> None:
    old = Counter({"w": 100, "a": 100, "b": 90, "c": 50, "W": 100, "1": 100, "only": 100})
    new = Counter({"w": 10, "a": 100, "b": 9, "c": 5, "1": 10})
    assert control_words("w", [old, new], 2) == ["b", "c"]  # log ratios 0.2 and 1.4; a has 2.3
    assert control_words("w", [old, new], 9) == ["b", "c", "a"]
    assert control_words("w", [old, new], 2, among=["c", "a"]) == ["c", "a"]


class TestGathered:
    def test_named_words_are_embedded_once(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        told = Recorder()
        found, changes = gather_evidence(compared(embedder, texts, told), ["bank", "Play"], controls=2, examples=2)
        assert {one.word for one in changes} == {"bank", "play"} == {one.change.word for one in found}
        assert list(told.stages) == [
            f"{what} {text}" for what in ("counting the words of", "embedding") for text in texts
        ]
        bank = next(one for one in found if one.change.word == "bank")
        assert len(bank.controls) == 2
        assert not {"bank", "play"} & {one.word for one in bank.controls} - {"play"}
        assert [one.place.file for one in (*bank.new, *bank.gone)] == [str(texts[1])] * 2 + [str(texts[0])] * 2
        assert {" ".join(one.sentence) for one in bank.new} == {"the bank lent money", "a money bank"}
        assert bank.noise is not None
        row = bank.to_dict()
        assert row["control_apd"] == pytest.approx(np.mean([one.apd for one in bank.controls]))
        assert row["noise_prt_95"] == bank.noise.prt_95

    def test_all_words(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        found, changes = gather_evidence(compared(embedder, texts), least=4, top=2, examples=1, controls=1)
        assert len(found) == 2
        assert [one.change for one in found] == changes[:2]
        assert {one.word for one in changes} == {"the", "bank", "play", "river"}
        assert all(one.controls[0] in changes and one.noise for one in found)

    def test_ranked_by_what_is_above_the_noise(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        found, _ = gather_evidence(compared(embedder, texts), least=2, top=99, examples=0, sort="excess")
        excesses = [one.change.apd - one.noise.apd_95 for one in found if one.noise is not None]
        assert excesses == sorted(excesses, reverse=True) == [one.excess for one in found]
        first, _ = gather_evidence(compared(embedder, texts), least=2, top=2, examples=0, sort="excess")
        assert [one.change.word for one in first] == [one.change.word for one in found[:2]]
        by_prt, _ = gather_evidence(compared(embedder, texts), least=2, top=99, examples=0, sort="prt")
        assert [one.change.prt for one in by_prt] == sorted((one.change.prt for one in found), reverse=True)
        with pytest.raises(InputError, match="words are ranked by excess only if they are shuffled"):
            gather_evidence(compared(embedder, texts), shuffles=0, sort="excess")

    def test_indexes_give_what_texts_give(
        self, embedder: Embedder, texts: tuple[Corpus, Corpus], tmp_path: Path
    ) -> None:
        for corpus, name in zip(texts, ("a", "b"), strict=True):
            OccurrenceIndex.build(embedder, corpus, tmp_path / name)
        by_index, _ = gather_evidence(ComparedIndexes(tmp_path / "a", tmp_path / "b"), ["bank"])
        by_text, _ = gather_evidence(compared(embedder, texts), ["bank"])
        assert by_index[0].noise is not None
        assert by_text[0].noise is not None
        assert by_index[0].noise.apd == pytest.approx(by_text[0].noise.apd, abs=1e-3)
        assert [one.sentence for one in by_index[0].gone] == [one.sentence for one in by_text[0].gone]
        assert [one.place.file for one in by_index[0].gone] == [one.place.file for one in by_text[0].gone]

    def test_nothing_is_shuffled_if_nothing_is_asked(self, embedder: Embedder, texts: tuple[Corpus, Corpus]) -> None:
        (found,), _ = gather_evidence(compared(embedder, texts), ["bank"], shuffles=0, examples=0)
        assert (found.noise, found.new, found.gone, found.controls) == (None, [], [], [])
        assert found.to_dict()["noise_apd"] is None
        with pytest.raises(InputError, match="are numbers of at least 0"):
            gather_evidence(compared(embedder, texts), ["bank"], shuffles=-1)
