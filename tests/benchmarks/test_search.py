import re
import sys
from pathlib import Path

import numpy as np
import pytest
from tiny import tiny_model

from benchmarks import search
from benchmarks.plain_search import Known, Query, Truth
from benchmarks.search import draw
from polyseme import Embedder
from polyseme.errors import InputError
from polyseme.index.occurrence import Occurrence
from polyseme.index.vectors import unit
from polyseme.text.corpus import Corpus

WORDS = ["bank", "Bank", "river", "play", "the", "of", "money", "42", "."]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model(softmax=False))


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    random = np.random.default_rng(3)
    path = tmp_path / "corpus.txt"
    lines = (" ".join(random.choice(WORDS, size=random.integers(1, 9))) + "\n" for _ in range(200))
    path.write_text("".join(lines), encoding="utf-8")
    return path


def test_queries_are_words_of_sentences_that_are_not_indexed(corpus: Path) -> None:
    sentences, queries = draw(Corpus([corpus]), 300, 40)
    lines = [line.split() for line in corpus.read_text(encoding="utf-8").splitlines()]
    assert sentences == lines[: len(sentences)]
    assert sum(map(len, sentences[:-1])) < 300 <= sum(map(len, sentences))
    assert len(queries) == 40
    rest = iter(lines[len(sentences) :])
    for query in queries:
        assert query.sentence in rest  # in their order
        assert query.sentence not in sentences
        assert query.sentence[query.position].isalpha()
    assert draw(Corpus([corpus]), 300, 40) == (sentences, queries)


def test_too_short_a_corpus(corpus: Path) -> None:
    with pytest.raises(InputError, match=r"tokens and then 0 sentences with a word, expected 5,000 and 4; give more"):
        draw(Corpus([corpus]), 5000, 4)


def test_recall_is_the_share_of_the_ten_nearest(embedder: Embedder, corpus: Path) -> None:
    sentences, queries = draw(Corpus([corpus]), 300, 4)
    known = Known(embedder, sentences, np.concatenate(embedder.embed(sentences, layers="top")))
    vectors = np.stack([unit(embedder.embed([query.sentence], layers="top")[0][query.position]) for query in queries])
    truth = Truth(known, sentences, queries, vectors)
    places = [(tokens, place) for tokens in sentences for place in range(len(tokens))]

    def ranked(query: Query, vector: np.ndarray, *, same: bool) -> list[Occurrence]:
        word = query.sentence[query.position].lower()
        found = []
        for row, (tokens, place) in enumerate(places):
            if not same or tokens[place].lower() == word:
                found.append(Occurrence(tokens[place], float(unit(known.rows[row]) @ vector), tokens, place))
        return sorted(found, key=lambda one: -one.similarity)

    for words in ("any", "same"):
        best = [ranked(*pair, same=words == "same") for pair in zip(queries, vectors, strict=True)]
        assert truth.recall(words, [one[:10] for one in best]) == 1
        assert truth.recall(words, [one[:7] for one in best]) == pytest.approx(0.7)
        assert truth.recall(words, [[*one[:4], *one[-6:]] for one in best]) == pytest.approx(0.4)


def test_a_word_that_is_not_indexed_counts_for_nothing(embedder: Embedder) -> None:
    sentences, queries = [["a", "bank"], ["b", "c"]], [Query(["no", "zebra"], 1), Query(["A", "Bank"], 1)]
    known = Known(embedder, sentences, np.concatenate(embedder.embed(sentences, layers="top")))
    truth = Truth(known, sentences, queries, unit(known.rows[:2]))
    assert truth.recall("same", [[], [Occurrence("bank", 1.0, sentences[0], 1)]]) == 1


@pytest.mark.parametrize("keep", [False, True])
def test_command(
    keep: bool,
    corpus: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(search, "load_embedder", lambda _: Embedder(tiny_model(softmax=False)))
    monkeypatch.setattr(search, "WARM_UP", 2)
    work = ["--work", str(tmp_path / "work")] if keep else []
    given = ["search", "tiny", str(corpus), "--occurrences", "300", "--queries", "12", *work]
    for _ in range(1 + keep):  # the second time its vectors are there
        monkeypatch.setattr(sys, "argv", given)
        search.main()
        printed = capsys.readouterr()
        assert re.match(r"30\d occurrences of 12 numbers, 12 queries, \d+ threads\n\n", printed.out)
        rows = [[cell.strip() for cell in line.split("|")[1:-1]] for line in printed.out.splitlines() if "|" in line]
        recalls = {row[0]: float(row[1]) for row in rows[7:]}
        assert [row[0] for row in rows[2:5]] == ["float16", "int8", "pq"]
        assert float(rows[2][1]) > float(rows[3][1])
        assert len(recalls) == 9
        assert recalls["float16, any word, exact"] > 0.9
        assert recalls["float16, the same word"] > 0.9
        assert "float16: building" in printed.err
    assert "embedding" not in printed.err if keep else "embedding" in printed.err

    monkeypatch.setattr(sys, "argv", [*given, "--occurrences", "9000"])
    with pytest.raises(SystemExit, match="2"):
        search.main()
    assert "give more text, or lower --occurrences or --queries\n" in capsys.readouterr().err
