"""Senses found in clouds that are known, and in a small text."""

import re

import numpy as np
import pytest
from tiny import WORDS, tiny_model

from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.index.vectors import unit
from polyseme.study.sense_induction import cluster, induce_senses
from polyseme.text.corpus import Corpus

# In 4 of them "bank" stands a second time, as the last word.
LINES = [f"{first} {word} of {last}" for first in ("the", "a") for word in ("bank", "Bank") for last in WORDS[3:]]


def cloud(*sizes: int, apart: float = 3.0) -> np.ndarray:
    """Unit vectors around centres at random."""
    draw = np.random.default_rng(7)
    centres = draw.standard_normal((len(sizes), 40)) * apart
    rows = [centre + draw.standard_normal((size, 40)) for centre, size in zip(centres, sizes, strict=True)]
    return unit(np.concatenate(rows) + 5)


@pytest.fixture(scope="module", params=[True, False], ids=["softmax", "no softmax"])
def index(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> OccurrenceIndex:
    folder = tmp_path_factory.mktemp("senses")
    (folder / "text.txt").write_text("".join(f"{line}\n" for line in LINES * 2 + ["a play"]))
    embedder = Embedder(tiny_model(softmax=request.param))
    return OccurrenceIndex.build(embedder, Corpus([folder / "text.txt"]), folder / "index")


class TestCluster:
    @pytest.mark.parametrize("sizes", [(80, 40), (100, 60, 30), (60, 50, 40, 30, 20)])
    def test_as_many_clusters_as_there_are(self, sizes: tuple[int, ...]) -> None:
        found, silhouette, by_chance = cluster(cloud(*sizes))
        expected = np.repeat(np.arange(len(sizes)), sizes)
        np.testing.assert_array_equal(found, expected)  # the largest first
        assert silhouette is not None
        assert by_chance is not None
        assert silhouette > by_chance + 0.1

    @pytest.mark.parametrize("size", [10, 30, 300])
    def test_a_cloud_is_one(self, size: int) -> None:
        found, silhouette, by_chance = cluster(cloud(size))
        assert not found.any()
        assert silhouette is by_chance is None

    def test_a_stretched_cloud_is_one(self) -> None:
        """Two halves of a long cloud have a good silhouette, and so have those of the clouds it is held against."""
        draw = np.random.default_rng(2)
        rows = draw.standard_normal((300, 20)).astype(np.float32)
        rows[:, 0] *= 6
        assert not cluster(rows)[0].any()

    def test_one_odd_occurrence_is_no_sense(self) -> None:
        assert not cluster(cloud(200, 1, apart=6))[0].any()

    def test_as_many_as_are_asked_for(self) -> None:
        found, silhouette, _ = cluster(cloud(80), 3)
        assert set(found.tolist()) == {0, 1, 2}
        sizes = np.bincount(found).tolist()
        assert sizes == sorted(sizes, reverse=True)
        assert silhouette is not None
        assert cluster(cloud(80, 40), 1)[0].tolist() == [0] * 120

    def test_vectors_that_are_all_alike(self) -> None:
        assert cluster(np.ones((20, 4), dtype=np.float32))[0].tolist() == [0] * 20
        assert cluster(np.ones((20, 4), dtype=np.float32), 3)[0].tolist() == [0] * 20


class TestInduce:
    def test_senses_of_a_word(self, index: OccurrenceIndex) -> None:
        found = induce_senses(index, "bank", senses=3, examples=4, labels=5)
        assert len(found.occurrences) == sum(sense.occurrences for sense in found.senses) == len(LINES) * 2 + 8
        assert sum(sense.share for sense in found.senses) == pytest.approx(1)
        assert len(found.senses) == 3
        assert isinstance(index.embedder, Embedder)
        assert found.labels == ("substitutes" if index.embedder.model.vocabulary else "neighbours")
        for number, sense in enumerate(found.senses):
            rows = found.points[found.assigned == number]
            assert len(rows) == sense.occurrences
            assert 1 <= len(sense.examples) <= 4
            sentences = [" ".join(one.sentence) for one in sense.examples]
            assert len(set(sentences)) == len(sentences)  # every line is twice in the text
            assert all(one.sentence[one.position].lower() == "bank" for one in sense.examples)
            centre = unit(rows.mean(axis=0))
            nearest = [one.similarity for one in sense.examples]
            assert nearest == sorted(nearest, reverse=True)
            assert nearest[0] == pytest.approx((rows @ centre).max(), abs=1e-6)
            assert len(sense.labels) == 5
            assert "bank" not in [label.lower() for label in sense.labels]

    def test_labels_are_substitutes_that_are_likelier_there_than_elsewhere(self, index: OccurrenceIndex) -> None:
        embedder = index.embedder
        assert isinstance(embedder, Embedder)
        if embedder.model.vocabulary is None:
            pytest.skip("the model has none")
        (sense,) = induce_senses(index, "bank", senses=1, examples=20, labels=6).senses
        weights = dict.fromkeys(WORDS[3:], 0.0)
        for one in sense.examples:
            for fit in embedder.substitutes(one.sentence, one.position, k=10):
                rank = WORDS.index(fit.word)
                anywhere = np.log((rank + 2) / (rank + 1)) / np.log(len(WORDS) + 1)
                weights[fit.word] += np.exp(fit.log_probability) * max(0, fit.log_probability - np.log(anywhere))
        del weights["bank"]
        assert sense.labels == sorted(weights, key=lambda word: -weights[word])

    def test_it_is_the_same_again(self, index: OccurrenceIndex) -> None:
        one, two = (induce_senses(index, "bank") for _ in range(2))
        assert one.senses == two.senses
        np.testing.assert_array_equal(one.assigned, two.assigned)

    def test_a_word_that_is_rare_or_missing(self, index: OccurrenceIndex) -> None:
        with pytest.raises(InputError, match=r"no occurrence of 'zebra'"):
            induce_senses(index, "zebra")
        with pytest.raises(
            InputError,
            match=re.escape("'river' occurs only 8 times in it, at least 10 are needed to tell senses apart"),
        ):
            induce_senses(index, "river")
        with pytest.raises(InputError, match=r"occurs only 8 times in it, at least 9 are needed for as many senses"):
            induce_senses(index, "river", senses=8)
        with pytest.raises(InputError, match=r"^senses is 0, expected at least 1, or None to find the number$"):
            induce_senses(index, "river", senses=0)

    def test_occurrences_are_bounded(self, index: OccurrenceIndex, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr("polyseme.study.sense_induction.MOST_OCCURRENCES", 20)
        assert len(induce_senses(index, "bank", senses=2).occurrences) == 20
