"""The nearest sense centroid beside plain loops over all occurrences."""

import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.study.sense_data import Lexeme, SenseTag
from polyseme.study.sense_evaluation import SenseCentroids, evaluate_senses

PLACES = ["river", "money", "of", "play", "water", "cards", "loan", "green", "old", "boat"]
ART = Lexeme("art", "noun")


def write(path: Path, sentences: list[tuple[str, list[list[Any]]]]) -> Path:
    path.write_text(
        "".join(json.dumps({"tokens": text.split(), "senses": senses}) + "\n" for text, senses in sentences)
    )
    return path


def bank(number: int) -> tuple[str, list[list[Any]]]:
    """A sentence with a sense of one token and one of two tokens."""
    first, second = PLACES[number % 10], PLACES[number * 7 % 10]
    bank = [f"b{number * number % 3}"] if number % 5 else ["b0", "b2"]
    return f"the {first} bank of {second} play", [
        [2, 1, "bank", "N", bank],
        [4, 2, "game", "N", [f"g{number % 2}"]],
        [0, 1, "the", "D", ["U"]],
    ]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model(softmax=False))


@pytest.fixture
def train(tmp_path: Path) -> Path:
    return write(tmp_path / "train.jsonl", [bank(number) for number in range(30)])


@pytest.fixture
def test(tmp_path: Path) -> Path:
    new: tuple[str, list[list[Any]]] = ("a new word", [[2, 1, "word", "N", ["word%1:10:00::"]]])
    return write(tmp_path / "test.jsonl", [bank(number) for number in range(30, 60)] + [new])


def plain(embedder: Embedder, train: Path, test: Path) -> dict[str, float]:
    """The same by loops, one sentence at a time."""

    def occurrences(path: Path) -> Iterator[tuple[str, list[str], np.ndarray]]:
        for line in path.read_text().splitlines():
            record = json.loads(line)
            (layers,) = embedder.embed([record["tokens"]])
            layers = np.concatenate([layers, layers.mean(axis=0)[None]])
            for start, length, lemma, _, keys in record["senses"]:
                if keys != ["U"]:
                    yield lemma, keys, layers[:, start : start + length].mean(axis=1)

    vectors = defaultdict(list)
    for lemma, keys, rows in occurrences(train):
        for key in keys:
            vectors[lemma, key].append(rows)
    right: Counter[int] = Counter()
    total = 0
    for lemma, keys, rows in occurrences(test):
        total += 1
        for layer in range(4):
            best, answer = -2.0, None
            for (other, sense), some in sorted(vectors.items(), key=lambda item: -len(item[1])):
                centroid = np.mean(some, axis=0)[layer]
                cosine = rows[layer] @ centroid / np.linalg.norm(rows[layer]) / np.linalg.norm(centroid)
                if other == lemma and cosine > best + 1e-5:
                    best, answer = cosine, sense
            right[layer] += answer in keys
    return {name: right[layer] / total for layer, name in enumerate(("0", "1", "2", "mean"))}


def test_it_is_what_plain_loops_find(embedder: Embedder, train: Path, test: Path) -> None:
    found = evaluate_senses(embedder, [train], [test])
    assert found.layers == pytest.approx(plain(embedder, train, test))
    assert len(set(found.layers.values())) > 1
    assert (found.instances, found.left_out, found.trained) == (61, 30, 60)
    assert found.backed_off == found.unanswered == 1 / 61


def test_the_most_frequent_sense_in_training(embedder: Embedder, train: Path, test: Path) -> None:
    # Squares are 0 or 1 modulo 3, 1 twice as often; games alternate, so that g0, the first met, stands for both.
    senses = Counter(key for number in range(30) for key in bank(number)[1][0][4])
    assert senses.most_common(1)[0][0] == "b1"
    right = sum("b1" in bank(number)[1][0][4] for number in range(30, 60)) + 15
    found = evaluate_senses(embedder, [train], [test])
    assert found.most_frequent == pytest.approx(right / 61)
    assert found.first_sense is None


def test_wordnets_first_sense_where_training_has_none(
    embedder: Embedder, train: Path, test: Path, tmp_path: Path
) -> None:
    without = evaluate_senses(embedder, [train], [test])
    index = tmp_path / "index.sense"
    index.write_text("word%1:10:01:: 2 2 1\nword%1:10:00:: 1 1 9\n")
    found = evaluate_senses(embedder, [train], [test], sense_index=index)
    assert found.layers == pytest.approx({name: share + 1 / 61 for name, share in without.layers.items()})
    assert found.most_frequent == pytest.approx(without.most_frequent + 1 / 61)
    assert found.first_sense == pytest.approx(1 / 61)
    assert (found.backed_off, found.unanswered) == (1 / 61, 0)


def test_several_files_are_one_text(embedder: Embedder, test: Path, train: Path, tmp_path: Path) -> None:
    lines = train.read_text().splitlines(keepends=True)
    parts = [tmp_path / "a.jsonl", tmp_path / "b.jsonl"]
    for part, some in zip(parts, (lines[:11], lines[11:]), strict=True):
        part.write_text("".join(some))
    told = Recorder()
    found = evaluate_senses(embedder, parts, [test], watcher=told)
    assert found == evaluate_senses(embedder, [train], [test])
    assert list(told.stages) == [f"learning senses from {parts[0]}, {parts[1]}", f"finding senses in {test}"]
    told.check_shares()


def test_known_vectors() -> None:
    centroids = SenseCentroids([ART])
    for sense, x, y in [("skill", 3, 0), ("skill", 1, 1), ("work", 0, 2)]:
        centroids.add(SenseTag(0, 1, ART, (sense,)), np.array([[x, y]], dtype=np.float32))
    assert centroids.most_frequent(ART) == "skill"
    # The centroids are (2, 1/2) and (0, 1): of unit length they part at an angle of 52 degrees.
    for angle, sense in [(51, "skill"), (53, "work")]:
        turned = np.array([[np.cos(np.radians(angle)), np.sin(np.radians(angle))]], dtype=np.float32)
        assert centroids.nearest(ART, turned) == [sense, sense]


def test_nothing_to_learn_or_to_ask(embedder: Embedder, train: Path, test: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", [("a bank", [[1, 1, "bank", "V", ["b1"]]])])
    none = write(tmp_path / "none.jsonl", [("a bank", [[1, 1, "bank", "N", ["U"]]])])
    message = "other.jsonl: none of the 3 tested lemmas bears a sense there; give text tagged with the same lemmas"
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_senses(embedder, [other], [test])
    with pytest.raises(InputError, match=r"none\.jsonl: no word bears a sense; give tagged text to test on"):
        evaluate_senses(embedder, [train], [none])
