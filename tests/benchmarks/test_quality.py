"""The measures of quality, on tiny data and beside plain loops."""

import gzip
import json
import sys
import zipfile
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from tiny import WORDS, tiny_model

from benchmarks import letter_case, quality, rare_words, similarity_in_context
from benchmarks.figures import Figure, tables
from polyseme import Embedder
from polyseme.errors import FormatError
from polyseme.formats import native
from polyseme.study.pair_auc import auc
from polyseme.train.lm.evaluate import evaluate

CONLLU = "".join(
    "".join(f"{n}\t{word}\t_\t{tag}" + "\t_" * 6 + "\n" for n, (word, tag) in enumerate(sentence, 1)) + "\n"
    for sentence in [
        [("the", "DET"), ("bank", "NOUN"), ("of", "ADP"), ("money", "NOUN")],
        [("a", "DET"), ("play", "NOUN"), ("of", "ADP"), ("the", "DET"), ("river", "NOUN")],
    ]
    * 5
)


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


def wheel(folder: Path, lines: str) -> Path:
    path = folder / "hyperhyper-0.3.0-py3-none-any.whl"
    with zipfile.ZipFile(path, "w") as file:
        for name in rare_words.SETS:
            file.writestr(rare_words.FOLDER + name, lines)
    return path


def data(folder: Path) -> Path:
    for name in ("train", "dev"):
        path = folder / "ud-ewt" / f"{name}.conllu.gz"
        path.parent.mkdir(exist_ok=True)
        path.write_bytes(gzip.compress(CONLLU.encode()))
    sentences = [
        {
            "tokens": f"the {word} bank play".split(),
            "senses": [[2, 1, "bank", "N", [key]], [3, 1, "game", "N", [other]]],
        }
        for (word, key), other in product(
            [("river", "bank%1:17:01::"), ("money", "bank%1:14:00::")], ["game%1:04:00::"]
        )
    ]
    (folder / "wsd").mkdir()
    text = "".join(json.dumps(sentences[number // 3 % 2]) + "\n" for number in range(20))
    (folder / "wsd/semcor.jsonl.gz").write_bytes(gzip.compress(text.encode()))
    (folder / "wsd/index.sense").write_text("bank%1:17:01:: 00000001 1 2\ngame%1:04:00:: 00000001 1 2\n")
    words = WORDS[3:]
    wheel(
        folder,
        "# a comment\nword1\tword2\tscore\n" + "".join(f"{a}\t{b}\t{len(a) + len(b)}\n" for a in words for b in words),
    )
    return folder


def test_rank_correlation() -> None:
    assert rare_words.spearman(np.array([1.0, 2, 3]), np.array([10.0, 20, 21])) == pytest.approx(1)
    # Without ties: 1 - 6 sum(d^2) / (n (n^2 - 1)), here with differences 1, 1, 0, 2, 2.
    one, two = np.array([1.0, 2, 3, 4, 5]), np.array([2.0, 1, 3, 9, 4])
    assert rare_words.spearman(one, two) == pytest.approx(1 - 6 * 4 / 120)
    # With ties: ranks 1.5, 1.5, 3 against 1, 2, 3.
    assert rare_words.spearman(np.array([4.0, 4, 7]), np.array([0.0, 1, 2])) == pytest.approx(np.sqrt(3) / 2)


def test_words_are_compared_alone_and_by_band(embedder: Embedder, tmp_path: Path) -> None:
    pairs = [("the", "river", 1.0), ("bank", "zebra", 2.0), ("money", "play", 3.0)]
    words = sorted({word for pair in pairs for word in pair[:2]})
    vectors = {word: embedder.embed([[word]])[0][1, 0] for word in words}
    mean = np.mean([vectors[word] for word in words], axis=0)
    for (one, two, _), found in zip(pairs, rare_words.similarities(embedder, pairs)[1], strict=True):
        a, b = vectors[one] - mean, vectors[two] - mean
        assert found == pytest.approx(a @ b / np.linalg.norm(a) / np.linalg.norm(b), abs=1e-4)
    lines = "".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(product([*WORDS[3:], "zebra"], WORDS[3:])))
    found = {(one.of, one.items) for one in rare_words.measure(embedder, wheel(tmp_path, lines))}
    assert ("MEN, all", 56) in found
    assert ("MEN, rank to 2,000", 49) in found
    assert not any("not in the vocabulary" in of for of, _ in found)  # seven pairs are too few
    with pytest.raises(FormatError, match=r"bruni_men\.tsv: 'bank' is not two words and a number between tabs"):
        list(rare_words.read(wheel(tmp_path, "bank\n")))


def test_perplexity_of_the_original_words(embedder: Embedder) -> None:
    sentences = [["the", "river", "bank"], ["a", "zebra", "of", "money"]]
    found = {(one.of, one.by): one for one in letter_case.perplexity(embedder, sentences)}
    # From the scores of whole sentences: without the first word forward, without the last backward, known words alone.
    scores = embedder.score(sentences)
    forward = [scores[0][1:, 0], scores[1][[2, 3], 0]]
    assert found["as it is", "forward"].value == pytest.approx(np.exp(-np.concatenate(forward).mean()), rel=1e-4)
    backward = [scores[0][:-1, 1], scores[1][[0, 2], 1]]
    assert found["as it is", "backward"].value == pytest.approx(np.exp(-np.concatenate(backward).mean()), rel=1e-4)
    assert {one.items for one in found.values()} == {4}
    assert found["upper case", "forward"].value != found["as it is", "forward"].value
    assert found["lower case", "forward"].value == found["as it is", "forward"].value
    assert evaluate(embedder.model, sentences).unknown_share == 1 / 7


def test_parts_of_speech_in_three_forms(embedder: Embedder, tmp_path: Path) -> None:
    path = tmp_path / "text.conllu"
    path.write_text(CONLLU)
    found = {(one.of, one.by): one.value for one in letter_case.measure(embedder, path, path)}
    assert found["as it is", "layer 1"] == found["lower case", "layer 1"] == 100
    assert found["upper case", "layer 1"] < 100


def test_similarity_in_context_beside_a_plain_loop(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(similarity_in_context, "APART", 2)
    folder = data(tmp_path)
    found = similarity_in_context.measure(embedder, folder / "wsd/semcor.jsonl.gz", folder / "wsd/index.sense")
    rows = [json.loads(line) for line in gzip.decompress((folder / "wsd/semcor.jsonl.gz").read_bytes()).splitlines()]
    vectors = [embedder.embed([row["tokens"]])[0][2] for row in rows]  # the top layer

    def cosine(one: np.ndarray, two: np.ndarray) -> float:
        return round(float(one @ two / np.linalg.norm(one) / np.linalg.norm(two)), 4)

    one_lemma, two_lemmas = [], []
    for a, b in product(range(20), repeat=2):
        if b - a >= 2:
            one_lemma.append((cosine(vectors[a][2], vectors[b][2]), rows[a]["senses"][0][4] == rows[b]["senses"][0][4]))
        if abs(b - a) >= 2:
            two_lemmas.append((cosine(vectors[a][2], vectors[b][3]), "17:01" in rows[a]["senses"][0][4][0]))
    for of, pairs in (("pairs of one lemma", one_lemma), ("pairs of two lemmas of a synset", two_lemmas)):
        scores, same = np.array([score for score, _ in pairs]), np.array([alike for _, alike in pairs])
        (top,) = [one for one in found if (one.of, one.by) == (of, "layer 2")]
        assert top.value == pytest.approx(auc(scores, same), abs=0.02)
        assert top.items == 1


def test_the_command(
    embedder: Embedder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    native.write(tiny_model(), tmp_path / "model")
    monkeypatch.setattr(similarity_in_context, "APART", 2)
    (tmp_path / "data").mkdir()
    for folder, skipped in ((data(tmp_path / "data"), 0), (tmp_path / "model", 3)):
        monkeypatch.setattr(sys, "argv", ["quality", str(tmp_path / "model"), "--data", str(folder)])
        quality.main()
        *lines, last = capsys.readouterr().out.splitlines()
        found = json.loads(last)
        assert len(found["skipped"]) == skipped == sum(line.startswith("skipped: ") for line in lines)
        assert bool(found["figures"]) is not bool(skipped)
    (tmp_path / "data/wsd/index.sense").unlink()
    monkeypatch.setattr(sys, "argv", ["quality", str(tmp_path / "model"), "--data", str(tmp_path / "data")])
    quality.main()
    assert "skipped: similarity in context of two lemmas; " in capsys.readouterr().out


def test_tables() -> None:
    figures = [Figure("AUC", "pairs", 1200, "layer 0", 0.5), Figure("AUC", "pairs", 1200, "layer 1", 0.71, 0.7, 0.72)]
    assert tables(figures).splitlines() == [
        "**AUC**",
        "",
        "| | items | layer 0 | layer 1 |",
        "|---|---:|---:|---:|",
        "| pairs | 1,200 | 0.500 | 0.710 (0.700 to 0.720) |",
    ]
