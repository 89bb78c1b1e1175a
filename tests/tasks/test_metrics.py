"""The measures beside seqeval, scikit-learn, closed forms and slow plain searches."""

import itertools
import json
import warnings

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from polyseme.errors import InputError
from polyseme.tasks.examples import Span
from polyseme.tasks.metrics.accuracy import accuracy, tag_accuracy
from polyseme.tasks.metrics.answers import answer_f1, normalised
from polyseme.tasks.metrics.assignment import best_assignment
from polyseme.tasks.metrics.bootstrap import bootstrap_sums, paired_bootstrap
from polyseme.tasks.metrics.coreference import coreference_f1
from polyseme.tasks.metrics.roles import role_f1
from polyseme.tasks.metrics.score import Score, Sums
from polyseme.tasks.metrics.spans import span_f1
from polyseme.tasks.tags import mend_tag, tag_spans

BIO = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-A-B", "I-A-B"]
BIOES = [*BIO, "E-PER", "S-PER", "E-LOC", "S-LOC"]


def sequences(tags: list[str], seed: int) -> tuple[list[list[str]], list[list[str]]]:
    random = np.random.default_rng(seed)
    gold, predicted = [], []
    for _ in range(30):
        truth = [tags[at] for at in random.integers(0, len(tags), random.integers(0, 12))]
        other = [tags[at] for at in random.integers(0, len(tags), len(truth))]
        gold.append(truth)
        predicted.append([a if random.random() < 0.7 else b for a, b in zip(truth, other, strict=True)])
    return gold, predicted


@pytest.mark.parametrize("tags", [BIO, BIOES], ids=["BIO", "BIOES"])
@pytest.mark.parametrize("seed", range(20))
def test_spans_as_seqeval(tags: list[str], seed: int) -> None:
    from seqeval.metrics import classification_report

    gold, predicted = sequences(tags, seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        official = classification_report(gold, predicted, output_dict=True)
    mine = span_f1(gold, predicted)
    total = official.pop("micro avg")
    assert mine.score == pytest.approx(100 * total["f1-score"], abs=1e-9)
    assert mine.n == total["support"]
    assert mine.details["precision"] == pytest.approx(100 * total["precision"], abs=1e-9)
    for label, found in mine.labels.items():
        theirs = official[label]
        figures = [100 * theirs[name] for name in ("precision", "recall", "f1-score")]
        assert [found.precision, found.recall, found.f1] == pytest.approx(figures, abs=1e-9)
        assert found.n == theirs["support"]
    assert set(mine.labels) == set(official) - {"macro avg", "weighted avg"}


def test_accuracy_as_scikit_learn() -> None:
    metrics = pytest.importorskip("sklearn.metrics")
    random = np.random.default_rng(3)
    gold, predicted = (["abcde"[at] for at in random.integers(0, 5, 200)] for _ in range(2))
    score = accuracy(gold, predicted)
    assert score.score == pytest.approx(100 * metrics.accuracy_score(gold, predicted), abs=1e-9)
    table = metrics.precision_recall_fscore_support(gold, predicted, labels=list("abcde"), zero_division=0)
    for label, *figures, n in zip("abcde", *table, strict=True):
        found = score.labels[label]
        assert [found.precision, found.recall, found.f1] == pytest.approx([100 * one for one in figures], abs=1e-9)
        assert found.n == n
    confusion = metrics.confusion_matrix(gold, predicted, labels=list("abcde"))
    mine = score.details["confusion"]
    assert isinstance(mine, dict)
    for row, truth in enumerate("abcde"):
        cells = mine[truth]
        assert isinstance(cells, dict)
        assert [cells.get(label, 0) for label in "abcde"] == confusion[row].tolist()


def test_a_score_as_json() -> None:
    score = span_f1([["B-PER", "O"], ["B-LOC"]], [["B-PER", "B-LOC"], ["O"]], task="ner")
    assert json.loads(json.dumps(score.to_dict())) == {
        "task": "ner",
        "metric": "span F1",
        "score": 50.0,
        "n": 2,
        "precision": 50.0,
        "recall": 50.0,
        "labels": {
            "LOC": {"precision": 0.0, "recall": 0.0, "f1": 0.0, "n": 1},
            "PER": {"precision": 100.0, "recall": 100.0, "f1": 100.0, "n": 1},
        },
    }


def test_labels_that_only_one_side_has() -> None:
    score = accuracy(["a", "b"], ["a", "new"])
    assert score.score == 50.0
    assert score.labels["new"].n == 0
    assert (score.labels["new"].precision, score.labels["b"].recall) == (0.0, 0.0)


def test_tag_accuracy_counts_tokens() -> None:
    score = tag_accuracy([["N", "V"], ["N"]], [["N", "N"], ["N"]])
    assert score.score == pytest.approx(200 / 3)
    assert score.n == 3
    assert score.items.tolist() == [[1, 2], [1, 1]]


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: span_f1([["O"]], []), "0 predictions for 1 sentences; give one for each, in their order"),
        (lambda: accuracy([], []), "no labels to score; give at least one"),
        (lambda: span_f1([["O", "O"]], [["O"]]), "sentence 1: 1 tags predicted for 2 tokens; give as many"),
        (lambda: tag_accuracy([["O", "O"]], [["O"]]), "sentence 1: 1 tags predicted for 2 tokens; give as many"),
        (lambda: span_f1([["PER"]], [["O"]]), "the tag 'PER' is not one of BIO or BIOES"),
        (lambda: answer_f1([[]], ["x"]), "question 1: no right answer to compare with; give at least one"),
        (lambda: coreference_f1([[[(0, 1)], [(0, 1)]]], [[]]), "the mention (0, 1) is in two clusters of a document"),
        (lambda: coreference_f1([[[(2, 2)]]], [[]]), "the mention (2, 2) is empty"),
        (
            lambda: paired_bootstrap(accuracy(["a"], ["a"]), accuracy(["a", "b"], ["a", "b"])),
            "cannot compare accuracy over 1 items with accuracy over 2; score both predictions on the same data",
        ),
        (
            lambda: bootstrap_sums(np.ones((2, 1)), np.ones((2, 1)), lambda sums: sums[..., 0], samples=0),
            "samples is 0",
        ),
    ],
)
def test_what_cannot_be_scored_is_refused(wrong: object, message: str) -> None:
    assert callable(wrong)
    with pytest.raises(InputError) as raised:
        wrong()
    assert message in str(raised.value)


def test_answers_are_normalised() -> None:
    assert normalised("An  U.S. the-cat, THE") == "us thecat"
    assert answer_f1([["the"]], ["a"]).to_dict() | {"n": 0} == {
        "task": "answer",
        "metric": "F1",
        "score": 0.0,
        "n": 0,
        "labels": {},
        "exact_match": 100.0,
    }


def test_pieces_of_an_argument_count_as_one() -> None:
    gold = [Span(0, 1, "A1"), Span(2, 3, "V"), Span(4, 6, "C-A1"), Span(7, 8, "C-V")]
    assert role_f1([gold], [gold]).n == 1
    assert role_f1([gold], [gold[:2]]).score == 0.0
    assert role_f1([gold], [[Span(0, 1, "C-A1"), Span(4, 6, "C-A1")]]).score == 100.0


matrices = st.integers(1, 5).flatmap(
    lambda rows: st.integers(1, 5).flatmap(
        lambda columns: st.lists(
            st.lists(st.integers(0, 9), min_size=columns, max_size=columns), min_size=rows, max_size=rows
        )
    )
)


@given(matrices)
def test_assignment_as_a_search_through_all(table: list[list[int]]) -> None:
    weights = np.array(table)
    if len(weights) > weights.shape[1]:
        weights = weights.T
    rows, columns = weights.shape
    best = max(weights[range(rows), list(chosen)].sum() for chosen in itertools.permutations(range(columns), rows))
    named = {(row, column): float(weight) for (row, column), weight in np.ndenumerate(table) if weight}
    assert best_assignment(named) == best


def test_assignment_as_scipy() -> None:
    optimize = pytest.importorskip("scipy.optimize")
    random = np.random.default_rng(0)
    for rows, columns in ((40, 60), (60, 40), (50, 50)):
        weights = random.random((rows, columns))
        best = weights[optimize.linear_sum_assignment(weights, maximize=True)].sum()
        assert best_assignment(dict(np.ndenumerate(weights))) == pytest.approx(best, abs=1e-9)


spans = st.tuples(st.integers(0, 30), st.integers(1, 4)).map(lambda pair: (pair[0], pair[0] + pair[1]))
partitions = st.lists(spans, min_size=2, max_size=12, unique=True).flatmap(
    lambda mentions: st.lists(st.integers(0, 3), min_size=len(mentions), max_size=len(mentions)).map(
        lambda names: [
            [mention for mention, name in zip(mentions, names, strict=True) if name == one]
            for one in sorted(set(names))
        ]
    )
)


@given(partitions)
def test_coreference_depends_on_no_order(clusters: list[list[tuple[int, int]]]) -> None:
    other = [cluster[::-1] for cluster in clusters[::-1]]
    found, turned = coreference_f1([clusters], [other[:1]]), coreference_f1([other], [clusters[-1:]])
    assert found.to_dict() == turned.to_dict()
    same = coreference_f1([clusters], [other])
    parts = {name: figures["f1"] for name, figures in same.details.items() if isinstance(figures, dict)}
    assert parts["b_cubed"] == pytest.approx(100)
    assert parts["ceaf_e"] == pytest.approx(100)
    linked = any(len(cluster) > 1 for cluster in clusters)
    assert parts["muc"] == pytest.approx(100 if linked else 0)  # singletons have no link to find


def test_coreference_exchanges_precision_and_recall() -> None:
    one = [[(0, 1), (2, 3), (4, 5)], [(6, 8), (9, 10)]]
    two = [[(0, 1), (2, 3)], [(4, 5), (6, 8), (9, 10)]]
    there, back = coreference_f1([one], [two]), coreference_f1([two], [one])
    for name in ("muc", "b_cubed", "ceaf_e"):
        first, second = there.details[name], back.details[name]
        assert isinstance(first, dict)
        assert isinstance(second, dict)
        assert (first["precision"], first["recall"]) == (second["recall"], second["precision"])
    assert there.score == back.score
    # Of the links 0-2, 2-4 and 6-9 two are found, both ways. B-cubed: of 0, 2 and 4, two are together, one is alone.
    assert there.details["muc"] == pytest.approx({"precision": 200 / 3, "recall": 200 / 3, "f1": 200 / 3})
    b_cubed = (2 * 2 / 3 + 1 / 3 + 2) / 5
    assert there.details["b_cubed"] == pytest.approx(
        {"precision": 100 * (2 + 1 / 3 + 4 / 3) / 5} | {"recall": 100 * b_cubed, "f1": 100 * b_cubed}
    )


tag_lists = st.lists(st.lists(st.sampled_from(BIOES), min_size=1, max_size=8), min_size=1, max_size=6)


@given(tag_lists)
def test_what_is_right_scores_100(tags: list[list[str]]) -> None:
    score = span_f1(tags, tags)
    assert score.score == (100 if any(tag != "O" for sentence in tags for tag in sentence) else 0)
    assert span_f1(tags[::-1], tags[::-1]).labels == score.labels
    assert tag_accuracy(tags, tags).score == 100


@given(st.lists(st.sampled_from(BIOES), max_size=10))
def test_mended_tags_have_the_same_spans(tags: list[str]) -> None:
    mended: list[str] = []
    for tag in tags:
        mended.append(mend_tag(mended[-1] if mended else "O", tag))
    before = "O"
    for tag in mended:
        assert mend_tag(before, tag) == tag
        before = tag
    # S- for a lone E- ends a span that I- would have gone on with; BIO has no such case.
    if not any(tag.startswith("E-") for tag in tags):
        assert list(tag_spans(mended)) == list(tag_spans(tags))


def scored(right: list[int]) -> Score:
    return accuracy(["a"] * len(right), ["a" if one else "b" for one in right])


def test_bootstrap_as_the_exact_distribution() -> None:
    first, second = scored([1, 1, 1, 0, 1]), scored([0, 1, 0, 1, 1])
    found = paired_bootstrap(first, second, samples=200_000, seed=1)
    gain = np.array([1, 0, 1, -1, 0])
    draws = np.array([gain[list(drawn)].sum() for drawn in itertools.product(range(5), repeat=5)])
    assert found.difference == pytest.approx(20.0)
    assert found.p == pytest.approx(2 * min((draws <= 0).mean(), (draws >= 0).mean()), abs=0.01)
    assert [found.low, found.high] == pytest.approx(20 * np.quantile(draws, [0.025, 0.975]))
    assert (found.n, found.samples) == (5, 200_000)
    assert found == paired_bootstrap(first, second, samples=200_000, seed=1)
    assert found != paired_bootstrap(first, second, samples=200_000, seed=2)


def test_bootstrap_of_equal_and_of_unlike_scores() -> None:
    same = paired_bootstrap(scored([1, 0] * 20), scored([1, 0] * 20), samples=100)
    assert (same.difference, same.low, same.high, same.p) == (0, 0, 0, 1)
    apart = paired_bootstrap(scored([1] * 50), scored([0] * 50), samples=999)
    assert (apart.difference, apart.low, apart.p) == (100, 100, 0.002)
    assert apart.to_dict() == {"difference": 100, "low": 100, "high": 100, "p": 0.002, "samples": 999, "n": 50}


def test_bootstrap_resamples_f1_by_its_sums() -> None:
    gold, one = sequences(BIO, 1)
    first, second = span_f1(gold, gold), span_f1(gold, one)

    def slow(times: Sums, score: Score) -> float:
        right, made, wanted = (times[:, None] * score.items).sum(0)
        return float(200 * right / (made + wanted))

    found = paired_bootstrap(first, second, samples=50, seed=4)
    times = np.random.default_rng(4).multinomial(30, np.full(30, 1 / 30), size=50).astype(float)
    drawn = [slow(one, first) - slow(one, second) for one in times]
    assert [found.low, found.high] == pytest.approx(np.quantile(drawn, [0.025, 0.975]))
