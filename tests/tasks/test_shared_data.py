"""The published sets have the numbers of sentences, pairs, questions and documents that they are known for."""

from collections import Counter
from itertools import pairwise
from pathlib import Path

import pytest

from polyseme.tasks.choices import TaskName
from polyseme.tasks.examples import Document, Question, Roles, Tagged, Text
from polyseme.tasks.readers.opening import open_examples
from polyseme.tasks.readers.reading import Options
from polyseme.tasks.readers.repairs import NEUTRAL, WITHHELD

DATA = next(
    (folder / "shared/data" for folder in Path(__file__).resolve().parents if (folder / "shared/data").is_dir()), None
)
pytestmark = pytest.mark.skipif(DATA is None, reason="the sets that tasks are measured on are not here")


def path(name: str) -> Path:
    assert DATA is not None
    found = DATA / name
    if not found.exists():
        pytest.skip(f"{name} is not here")
    return found


@pytest.mark.parametrize(
    ("name", "task", "count"),
    [
        ("ner-wikiann-en/train.conll.gz", "ner", 20_000),
        ("ner-wikiann-en/dev.conll.gz", "ner", 10_000),
        ("ud-ewt/train.conllu.gz", "tag", 12_544),
        ("sst/train.txt", "classify", 8_543),
        ("sst/dev.txt", "classify", 1_101),
        ("sst/test.txt", "classify", 2_210),
        ("nli-sick/SICK_train.txt", "entail", 4_500),
        ("nli-sick/SICK_trial.txt", "entail", 500),
        ("nli-sick/SICK_test_annotated.txt", "entail", 4_927),
        ("squad/train.json.gz", "answer", 8_119),
        ("squad/dev.json.gz", "answer", 2_446),
    ],
)
def test_counts(name: str, task: TaskName, count: int) -> None:
    assert len(open_examples(path(name), task=task).read()) == count


@pytest.mark.parametrize(("part", "count"), [("train", 191), ("dev", 32), ("test", 32), ("test2", 26)])
def test_documents(part: str, count: int) -> None:
    examples = open_examples(path(f"coref-ontogum/{part}.conll.gz"), task="coref")
    found = [one for one in examples if isinstance(one, Document)]
    assert len(found) + examples.repairs[WITHHELD] == count
    for document in found:
        length = sum(map(len, document.sentences))
        assert document.clusters
        assert all(0 <= start < end <= length for cluster in document.clusters for start, end in cluster)


@pytest.mark.parametrize(("part", "count"), [("dev", 2_002), ("test", 2_077)])
def test_propositions(part: str, count: int) -> None:
    name = path(f"srl-up-ewt/{part}.conllu.gz")
    assert len(open_examples(name, task="tag").read()) == count
    heads = [one for one in open_examples(name, task="roles") if isinstance(one, Roles)]
    subtrees = [
        one for one in open_examples(name, task="roles", options=Options(spans="subtree")) if isinstance(one, Roles)
    ]
    assert [one.predicate for one in heads] == [one.predicate for one in subtrees]
    for head, subtree in zip(heads, subtrees, strict=True):
        assert head.spans is not None
        assert subtree.spans is not None
        assert [span.label for span in head.spans] == [span.label for span in subtree.spans]
        assert all(a.start <= b.start < a.end for a, b in zip(subtree.spans, head.spans, strict=True))
        ordered = sorted((span.start, span.end) for span in subtree.spans)
        assert all(end <= start for (_, end), (start, _) in pairwise(ordered))
        assert any(span.label == "V" and span.start == head.predicate for span in head.spans)


def test_labels() -> None:
    tags = Counter(
        tag
        for part in ("train", "dev", "test")
        for one in open_examples(path(f"ner-wikiann-en/{part}.conll.gz"), task="ner")
        if isinstance(one, Tagged)
        for tag in one.tags or ()
    )
    assert tags == {"B-LOC": 18_836, "B-ORG": 18_844, "B-PER": 18_355, "I-LOC": 25_981, "I-ORG": 46_471} | {
        "I-PER": 29_698,
        "O": 163_071,
    }
    two = open_examples(path("sst/train.txt"), task="classify", options=Options(classes=2))
    assert Counter(one.label for one in two if isinstance(one, Text)) == {"positive": 3_610, "negative": 3_310}
    assert two.repairs[NEUTRAL] == 1_623


def test_answers_are_where_they_are_said_to_be() -> None:
    for question in open_examples(path("squad/dev.json.gz"), task="answer"):
        assert isinstance(question, Question)
        assert question.answers
        for answer in question.answers:
            assert question.passage[answer.start : answer.start + len(answer.text)] == answer.text
        assert "".join(question.tokens) == "".join(question.passage.split())
