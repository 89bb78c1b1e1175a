"""Probes on vectors and labels of which it is known what can be learnt."""

from pathlib import Path

import numpy as np
import pytest
from recorder import Recorder
from tiny import tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.study import linear_probe
from polyseme.study import probe as module
from polyseme.study.linear_probe import LinearProbes
from polyseme.study.probe import _sample, baseline_accuracy, probe
from polyseme.text.labels import LabelledSentence, LabelledText

WORDS = ["the", "a", "river", "bank", "money", "of", "play", "runs", "green", "slowly", "漢字", "😀"]


def write(path: Path, sentences: list[list[tuple[str, str]]]) -> Path:
    """CoNLL-U with words and their UPOS."""
    lines = []
    for sentence in sentences:
        lines += [f"{n}\t{word}\t_\t{label}\t_\t_\t_\t_\t_\t_" for n, (word, label) in enumerate(sentence, 1)]
        lines.append("")
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def drawn(seed: int, sentences: int = 40) -> list[list[str]]:
    draw = np.random.default_rng(seed)
    return [[WORDS[i] for i in draw.integers(len(WORDS), size=draw.integers(2, 9))] for _ in range(sentences)]


@pytest.fixture(scope="module")
def embedder() -> Embedder:
    return Embedder(tiny_model())


@pytest.fixture
def files(tmp_path: Path) -> tuple[Path, Path]:
    """The label is the word itself, which the first layer tells."""
    train, test = (write(tmp_path / f"{seed}.conllu", [[(w, w) for w in s] for s in drawn(seed)]) for seed in (1, 2))
    return train, test


class TestLinearProbes:
    def test_what_is_linear_is_learnt_and_what_is_random_is_not(self) -> None:
        draw = np.random.default_rng(1)
        rows = draw.standard_normal((2500, 2, 8))
        labels = (rows[:, 1] @ draw.standard_normal((8, 4))).argmax(axis=1)  # the second layer alone tells
        # Directions of very different length, as in real layers.
        vectors = (rows @ (draw.standard_normal((8, 8)) * np.logspace(-1, 1, 8))).astype(np.float16)
        probes = LinearProbes.fit(vectors[:2000], labels[:2000], 4)
        right = (probes.predict(vectors[2000:]) == labels[2000:]).mean(axis=1)
        chance = np.bincount(labels).max() / len(labels)
        assert right.shape == (3,)
        assert right[1] > 0.93
        assert abs(right[0] - chance) < 0.1
        assert right[0] < right[2] < right[1]

    def test_separate_clusters_are_told_apart_without_a_mistake(self) -> None:
        draw = np.random.default_rng(1)
        labels = draw.integers(5, size=300)
        vectors = (draw.standard_normal((5, 16))[labels] * 3 + draw.standard_normal((300, 16)) * 0.1)[:, None]
        probes = LinearProbes.fit(vectors[:200].astype(np.float16), labels[:200], 5)
        assert (probes.predict(vectors[200:]) == labels[200:]).all()

    def test_as_good_as_a_regression_fitted_to_the_end(self) -> None:
        linear_model = pytest.importorskip("sklearn.linear_model")
        draw = np.random.default_rng(3)
        plain = draw.standard_normal((3000, 12))
        labels = (plain @ draw.standard_normal((12, 3)) + draw.gumbel(size=(3000, 3))).argmax(axis=1)
        rows = plain @ (draw.standard_normal((12, 12)) * np.logspace(-1, 1, 12))
        probes = LinearProbes.fit(rows[:2000, None].astype(np.float16), labels[:2000], 3)
        ours = (probes.predict(rows[2000:, None])[0] == labels[2000:]).mean()
        # Without a penalty the best fit is the same before and after a linear map, and is found easily before it.
        fitted = linear_model.LogisticRegression(C=1e6, max_iter=1000).fit(plain[:2000], labels[:2000])
        assert ours == pytest.approx(fitted.score(plain[2000:], labels[2000:]), abs=0.02)

    def test_vectors_that_are_all_alike(self) -> None:
        probes = LinearProbes.fit(np.ones((10, 1, 4), np.float16), np.array([0] * 3 + [1] * 7), 2)
        assert probes.predict(np.ones((2, 1, 4))).tolist() == [[1, 1], [1, 1]]


class TestProbe:
    @pytest.fixture(autouse=True)
    def _shorter(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(linear_probe, "_FEWEST_STEPS", 300)

    def test_words_are_known_to_the_first_layer(self, embedder: Embedder, files: tuple[Path, Path]) -> None:
        told = Recorder()
        result = probe(embedder, *files, watcher=told)
        assert [one.layer for one in result.layers] == [0, 1, 2, "mean"]
        assert result.layers[0].accuracy == result.baseline == 1
        assert result.labels == len(WORDS)
        assert (result.unseen, result.rare, result.sampled, result.repairs) == (0, 0, False, [])
        assert list(told.stages) == [f"embedding {files[0]}", "training the probes", f"embedding {files[1]}"]
        told.check_shares()
        for name, words in zip(files, (result.train_words, result.test_words), strict=True):
            assert told.stages[f"embedding {name}"][-1][1]["tokens"] == words
        losses = [float(figures["loss"]) for _, figures in told.stages["training the probes"]]
        assert len(losses) >= 300
        assert losses[-1] < losses[0]

    def test_a_label_of_the_context_is_beyond_the_first_layer(self, embedder: Embedder, tmp_path: Path) -> None:
        def after_the(sentence: list[str]) -> list[tuple[str, str]]:
            befores = ["", *sentence]
            return [
                (word, "yes" if before in WORDS[:6] else "no") for before, word in zip(befores, sentence, strict=False)
            ]

        train, test = (write(tmp_path / f"{s}.conllu", [after_the(x) for x in drawn(s, 200)]) for s in (1, 2))
        result = probe(embedder, train, test)
        assert result.layers[1].accuracy > result.layers[0].accuracy + 0.1

    def test_random_labels_stay_at_chance(self, embedder: Embedder, tmp_path: Path) -> None:
        draw = np.random.default_rng(5)
        train, test = (
            write(tmp_path / f"{s}.conllu", [[(w, str(draw.integers(4))) for w in x] for x in drawn(s, 200)])
            for s in (1, 2)
        )
        result = probe(embedder, train, test)
        assert [one.accuracy for one in result.layers] == pytest.approx([0.25] * 4, abs=0.07)

    def test_the_same_again(self, embedder: Embedder, tmp_path: Path) -> None:
        draw = np.random.default_rng(5)
        train, test = (
            write(tmp_path / f"{s}.conllu", [[(w, str(draw.integers(3))) for w in x] for x in drawn(s)]) for s in (1, 2)
        )
        assert probe(embedder, train, test) == probe(embedder, train, test)

    def test_labels_that_were_not_learnt_count_as_wrong(self, embedder: Embedder, files: tuple[Path, Path]) -> None:
        train, test = files
        write(test, [[("the", "the"), ("river", "river"), ("bank", "new"), ("play", "other")]])
        result = probe(embedder, train, test)
        assert result.unseen == 2
        assert result.layers[0].accuracy == result.baseline == 0.5

    def test_rare_labels_are_left_out(
        self, embedder: Embedder, files: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setattr(module, "MOST_LABELS", 5)
        result = probe(embedder, *files)
        assert result.labels == 5
        assert result.rare > 0
        assert result.layers[0].accuracy == result.baseline == pytest.approx(1 - result.unseen / result.test_words)

    def test_a_large_file_is_sampled_evenly(self, embedder: Embedder, files: tuple[Path, Path]) -> None:
        text = LabelledText(files[0], "upos")
        everything = list(text)
        total = sum(len(sentence.tokens) for sentence in everything)
        assert _sample(text, total) == (everything, total)
        some, counted = _sample(text, 60)
        assert counted == total
        assert 60 <= sum(len(sentence.tokens) for sentence in some) < 60 + 8
        places = [everything.index(sentence) for sentence in some]
        assert max(np.diff([0, *places, len(everything)])) <= 3 * total / 60
        result = probe(embedder, *files, most=60)
        assert result.sampled
        assert result.train_words < total

    @pytest.mark.parametrize(
        ("sentences", "column", "message"),
        [
            ([], "upos", "train.conllu: no words; give CoNLL-U with at least one sentence"),
            ([[("the", "X"), ("river", "X")]], "upos", "train.conllu: column upos is 'X' on every word; a probe tells"),
            ([[("the", "X")]], "xpos", "train.conllu: column xpos is not given (_) on any of its 1 words; give a file"),
            ([[("the", "X")]], "feats:Case", "train.conllu: column feats:Case is not given (_) on any of its 1 words"),
            ([[("the", "X")]], "pos", "unknown column 'pos'; expected form, lemma, upos"),
        ],
    )
    def test_what_cannot_be_probed(
        self,
        embedder: Embedder,
        tmp_path: Path,
        sentences: list[list[tuple[str, str]]],
        column: str,
        message: str,
    ) -> None:
        train = write(tmp_path / "train.conllu", sentences)
        with pytest.raises(InputError) as caught:
            probe(embedder, train, train, column)
        assert message in str(caught.value)

    def test_no_words_to_use(self, embedder: Embedder, files: tuple[Path, Path]) -> None:
        with pytest.raises(InputError, match="most is 0, expected how many words of a file to use, at least 1"):
            probe(embedder, *files, most=0)


def test_the_baseline_beside_a_slow_count() -> None:
    draw = np.random.default_rng(2)
    train, test = (
        [LabelledSentence(words, [str(draw.integers(5)) for _ in words]) for words in drawn(seed, 30)]
        for seed in (1, 2)
    )
    test[0].tokens[:2] = ["unknown", "words"]
    pairs = [pair for sentence in train for pair in zip(sentence.tokens, sentence.labels, strict=True)]

    def most_frequent(labels: list[str]) -> str:
        return max(labels, key=lambda label: (labels.count(label), -labels.index(label)))

    right = total = 0
    for sentence in test:
        for token, label in zip(sentence.tokens, sentence.labels, strict=True):
            of_word = [known for word, known in pairs if word == token]
            right += label == most_frequent(of_word or [known for _, known in pairs])
            total += 1
    assert baseline_accuracy(train, test, "01234") == right / total


@pytest.mark.parametrize("words", [40, 200, 600])
def test_fewer_words_than_numbers_in_a_vector_are_enough_where_labels_lie_apart(words: int) -> None:
    """Most directions do not vary in few words; they must not drown the ones that do."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(4, 2, 128))
    labels = draw.integers(4, size=words + 200)
    vectors = (centres[labels] + draw.normal(size=(words + 200, 2, 128))).astype(np.float16)
    probes = LinearProbes.fit(vectors[:words], labels[:words], 4)
    right = (probes.predict(vectors[words:]) == labels[words:]).mean(axis=1)
    assert right.min() > 0.95
