"""Senses by the nearest centroid and by neighbours, beside plain loops over all occurrences."""

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
from polyseme.study.sense_classifiers import SensesOfLexeme
from polyseme.study.sense_evaluation import evaluate_senses
from polyseme.study.sense_scores import METHODS
from polyseme.study.sense_spaces import LayerSpace

PLACES = ["river", "money", "of", "play", "water", "cards", "loan", "green", "old", "boat"]
NAMES = ("layer 0", "layer 1", "layer 2", "mean of layers")


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


def occurrences(embedder: Embedder, path: Path) -> Iterator[tuple[str, list[str], np.ndarray]]:
    """Lemma, senses and vectors (L + 1, D), the mean of layers last, one sentence at a time."""
    for line in path.read_text().splitlines():
        record = json.loads(line)
        (layers,) = embedder.embed([record["tokens"]])
        for start, length, lemma, _, keys in record["senses"]:
            if keys != ["U"]:
                rows = layers[:, start : start + length].mean(axis=1).astype(np.float16)  # as they are held in memory
                yield lemma, keys, np.concatenate([rows, rows.mean(axis=0, dtype=np.float64)[None]])


def cosine(one: np.ndarray, two: np.ndarray) -> float:
    return float(one @ two / np.linalg.norm(one) / np.linalg.norm(two))


def by_centroid(known: list[tuple[list[str], np.ndarray]], asked: np.ndarray) -> str:
    counts = Counter(key for keys, _ in known for key in keys)
    best, answer = -2.0, ""
    for sense, _ in counts.most_common():
        centroid = np.mean([vector for keys, vector in known if sense in keys], axis=0)
        if (near := cosine(asked, centroid)) > best + 1e-5:
            best, answer = near, sense
    return answer


def by_neighbours(known: list[tuple[list[str], np.ndarray]], asked: np.ndarray, k: int) -> str:
    counts = Counter(key for keys, _ in known for key in keys)
    cosines = [cosine(asked, vector) for _, vector in known]
    least = sorted(cosines, reverse=True)[: min(k, len(known))][-1] - 1e-5
    votes: dict[str, list[float]] = defaultdict(list)
    for (keys, _), near in zip(known, cosines, strict=True):
        for key in keys if near >= least else []:
            votes[key].append(near)
    ranked = sorted(votes, key=lambda key: (-len(votes[key]), -round(sum(votes[key]), 4), -counts[key]))
    return ranked[0]


def plain(embedder: Embedder, train: Path, test: Path, k: int) -> dict[tuple[str, str], float]:
    """The same by loops."""
    known: dict[str, list[tuple[list[str], np.ndarray]]] = defaultdict(list)
    for lemma, keys, rows in occurrences(embedder, train):
        known[lemma].append((keys, rows))
    right: Counter[tuple[str, str]] = Counter()
    total = 0
    for lemma, keys, rows in occurrences(embedder, test):
        total += 1
        for layer, name in enumerate(NAMES if lemma in known else ()):
            of_layer = [(some, vectors[layer]) for some, vectors in known[lemma]]
            right[name, "centroid"] += by_centroid(of_layer, rows[layer]) in keys
            right[name, "neighbours"] += by_neighbours(of_layer, rows[layer], k) in keys
    return {column: count / total for column, count in right.items()}


@pytest.mark.parametrize("k", [1, 5, 100])
def test_it_is_what_plain_loops_find(embedder: Embedder, train: Path, test: Path, k: int) -> None:
    found = evaluate_senses(embedder, [train], [test], k=k, whiten=False)
    accuracy = {(one.by, one.method): one.accuracy for one in found.scores if one.method}
    assert accuracy == pytest.approx(plain(embedder, train, test, k))
    assert len(set(accuracy.values())) > 2
    assert (found.instances, found.left_out, found.trained, found.neighbours) == (61, 30, 60, k)
    assert found.backed_off == found.unanswered == 1 / 61


def test_whitened_layers_are_compared_after_the_closed_form(embedder: Embedder, train: Path, test: Path) -> None:
    known: dict[str, list[tuple[list[str], np.ndarray]]] = defaultdict(list)
    for lemma, keys, rows in occurrences(embedder, train):
        known[lemma].append((keys, rows[1:3].ravel()))
    vectors = np.concatenate([[vector for _, vector in some] for some in known.values()])
    apart = np.concatenate([[v for _, v in some] - np.mean([v for _, v in some], axis=0) for some in known.values()])
    covariance = apart.T @ apart / (len(apart) - len(known))
    shrunk = 0.9 * covariance + 0.1 * np.trace(covariance) / len(covariance) * np.eye(len(covariance))
    root = np.linalg.cholesky(np.linalg.inv(shrunk))  # another root of the same matrix: cosines are the same
    mapped = {
        lemma: [(keys, (vector - vectors.mean(axis=0)) @ root) for keys, vector in some]
        for lemma, some in known.items()
    }
    right: Counter[str] = Counter()
    for lemma, keys, rows in occurrences(embedder, test):
        asked = (rows[1:3].ravel() - vectors.mean(axis=0)) @ root
        if lemma in mapped:
            right["centroid"] += by_centroid(mapped[lemma], asked) in keys
            right["neighbours"] += by_neighbours(mapped[lemma], asked, 5) in keys
    found = evaluate_senses(embedder, [train], [test])
    for method in METHODS:
        score = found.score("layers 1 and 2, whitened", method)
        assert score.whitened
        assert score.accuracy == pytest.approx(right[method] / 61)
    names = [score.by for score in found.scores if score.method == "centroid"]
    assert names == [*NAMES, *(f"layer {layer}, whitened" for layer in range(3)), "layers 1 and 2, whitened"]


def test_a_layer_is_chosen_without_the_test_text(embedder: Embedder, train: Path, test: Path, tmp_path: Path) -> None:
    found = evaluate_senses(embedder, [train], [test], choose_layer=True)
    held = {(one.by, one.method): one.held_out for one in found.scores}
    # The same by hand: learn from the others, test on every tenth.
    lines = train.read_text().splitlines(keepends=True)
    (tmp_path / "rest.jsonl").write_text("".join(line for n, line in enumerate(lines) if n % 10 != 9))
    (tmp_path / "tenth.jsonl").write_text("".join(lines[9::10]))
    by_hand = evaluate_senses(embedder, [tmp_path / "rest.jsonl"], [tmp_path / "tenth.jsonl"])
    assert held == {(one.by, one.method): one.accuracy if one.method else None for one in by_hand.scores}
    # Another test text changes no choice.
    (tmp_path / "other.jsonl").write_text("".join(lines[3:5]))
    other = evaluate_senses(embedder, [train], [tmp_path / "other.jsonl"], choose_layer=True)
    assert [(one.by, one.held_out, one.chosen) for one in other.scores] == [
        (one.by, one.held_out, one.chosen) for one in found.scores
    ]
    picked = [one for one in found.scores if one.chosen]
    assert sorted((str(one.method), one.whitened) for one in picked) == [
        (method, whitened) for method in METHODS for whitened in (False, True)
    ]
    for one in picked:
        rivals = [
            held[s.by, s.method] or 0 for s in found.scores if (s.method, s.whitened) == (one.method, one.whitened)
        ]
        assert one.held_out == max(rivals)
    assert not any(one.chosen for one in evaluate_senses(embedder, [train], [test]).scores)


def test_the_most_frequent_sense_in_training(embedder: Embedder, train: Path, test: Path) -> None:
    # Squares are 0 or 1 modulo 3, 1 twice as often; games alternate, so that g0, the first met, stands for both.
    senses = Counter(key for number in range(30) for key in bank(number)[1][0][4])
    assert senses.most_common(1)[0][0] == "b1"
    right = sum("b1" in bank(number)[1][0][4] for number in range(30, 60)) + 15
    found = evaluate_senses(embedder, [train], [test])
    assert found.score("most frequent sense").accuracy == pytest.approx(right / 61)
    assert all(score.by != "first sense" for score in found.scores)


def test_wordnets_first_sense_where_training_has_none(
    embedder: Embedder, train: Path, test: Path, tmp_path: Path
) -> None:
    without = evaluate_senses(embedder, [train], [test])
    index = tmp_path / "index.sense"
    index.write_text("word%1:10:01:: 2 2 1\nword%1:10:00:: 1 1 9\n")
    found = evaluate_senses(embedder, [train], [test], sense_index=index)
    for score in without.scores:
        assert found.score(score.by, score.method).accuracy == pytest.approx(score.accuracy + 1 / 61)
    assert found.score("first sense").accuracy == pytest.approx(1 / 61)
    difference = found.score("layer 1", "centroid").accuracy - found.score("most frequent sense").accuracy
    assert found.score("layer 1", "centroid").difference == pytest.approx(difference)
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
    vectors = np.array([[[3, 0]], [[1, 1]], [[0, 2]]], dtype=np.float32)  # (N, L, D)
    lexeme = SensesOfLexeme([["skill"], ["skill"], ["work"]], vectors)
    assert lexeme.senses == ["skill", "work"]
    # The centroids are (2, 1/2) and (0, 1): of unit length they part at an angle of 52 degrees.
    space = LayerSpace("layer 0", (0,))
    for angle, sense in [(51, "skill"), (53, "work")]:
        turned = np.array([[[np.cos(np.radians(angle)), np.sin(np.radians(angle))]]], dtype=np.float32)
        assert lexeme.by_centroid(turned, space) == [sense]
        # Of the neighbours, at 0, 45 and 90 degrees, the middle one is nearest; two of all three are of skill.
        assert lexeme.by_neighbours(turned, space, 1) == ["skill"]
        assert lexeme.by_neighbours(turned, space, 3) == ["skill"]
    up = np.array([[[0.4, 1]]], dtype=np.float32)  # at 68 degrees: one vote each, and the work is nearer
    assert lexeme.by_neighbours(up, space, 2) == ["work"]


def test_nothing_to_learn_or_to_ask(embedder: Embedder, train: Path, test: Path, tmp_path: Path) -> None:
    other = write(tmp_path / "other.jsonl", [("a bank", [[1, 1, "bank", "V", ["b1"]]])])
    none = write(tmp_path / "none.jsonl", [("a bank", [[1, 1, "bank", "N", ["U"]]])])
    message = "other.jsonl: none of the 3 tested lemmas bears a sense there; give text tagged with the same lemmas"
    with pytest.raises(InputError, match=re.escape(message)):
        evaluate_senses(embedder, [other], [test])
    with pytest.raises(InputError, match="k is 0, expected how many nearest neighbours vote, at least 1"):
        evaluate_senses(embedder, [train], [test], k=0)
    few = write(tmp_path / "few.jsonl", [bank(number) for number in range(5)])
    with pytest.raises(InputError, match="the training text has too few sentences to hold out every tenth"):
        evaluate_senses(embedder, [few], [test], choose_layer=True)
    with pytest.raises(InputError, match=r"none\.jsonl: no word bears a sense; give tagged text to test on"):
        evaluate_senses(embedder, [train], [none])
