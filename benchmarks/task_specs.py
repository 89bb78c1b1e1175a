"""The tables of `benchmarks.tasks`: which data each task learns from, its settings, and the paper's figures."""

import gzip
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from polyseme.files.whole import whole_file
from polyseme.tasks.choices import TaskName
from polyseme.tasks.data_files import ReadingChoices

_HELD_OUT = 10
"""Every so many articles or sentences of training data are held out where a data set has no part for it."""


class Files(NamedTuple):
    """Where the three parts of a data set are."""

    train: Path
    dev: Path
    test: Path


class Published(NamedTuple):
    """The figures of the ELMo paper for the task, on its own, larger data."""

    baseline: float
    elmo: float


@dataclass(frozen=True)
class Spec:
    """One row of the table.

    Attributes:
        name: The data set.
        task: Which task.
        files: From the folder of the data sets, and a folder for parts that are cut out of them, to the files.
        reading: How the files are read.
        settings: What differs from the task's own settings, for both models alike.
        published: The paper's figures; None if it has none.
        sanity: Whether TF-IDF with logistic regression is measured beside it.
    """

    name: str
    task: TaskName
    files: Callable[[Path, Path], Files]
    reading: ReadingChoices = field(default_factory=ReadingChoices)
    settings: Mapping[str, object] = field(default_factory=dict)
    published: Published | None = None
    sanity: bool = False


def _three(folder: str, train: str, dev: str, test: str) -> Callable[[Path, Path], Files]:
    return lambda data, work: Files(*(data / folder / name for name in (train, dev, test)))


def _squad(data: Path, work: Path) -> Files:
    """Every tenth article of the training part is held out, so that no passage is in two parts."""
    whole = data / "squad/train.json.gz"
    train, dev = work / "squad-train.json", work / "squad-dev.json"
    if not (train.exists() and dev.exists()):
        with gzip.open(whole, "rt", encoding="utf-8") as file:
            content = json.load(file)
        articles = content["data"]
        parts = {dev: articles[::_HELD_OUT], train: [a for i, a in enumerate(articles) if i % _HELD_OUT]}
        for path, some in parts.items():
            _write(path, json.dumps({**content, "data": some}))
    return Files(train, dev, data / "squad/dev.json.gz")


def _roles(data: Path, work: Path) -> Files:
    """Every tenth sentence of the part that serves as training data is held out."""
    train, dev = work / "roles-train.conllu", work / "roles-dev.conllu"
    if not (train.exists() and dev.exists()):
        with gzip.open(data / "srl-up-ewt/dev.conllu.gz", "rt", encoding="utf-8") as file:
            sentences = [block for block in file.read().split("\n\n") if block.strip()]
        parts = {dev: sentences[::_HELD_OUT], train: [s for i, s in enumerate(sentences) if i % _HELD_OUT]}
        for path, some in parts.items():
            _write(path, "\n\n".join(some) + "\n\n")
    return Files(train, dev, data / "srl-up-ewt/test.conllu.gz")


def _write(path: Path, text: str) -> None:
    with whole_file(path) as target:
        target.write_text(text, encoding="utf-8")


SPECS = {
    "answer": Spec("SQuAD (8,119 questions)", "answer", _squad, published=Published(81.1, 85.8)),
    "entail": Spec(
        "SICK",
        "entail",
        _three("nli-sick", "SICK_train.txt", "SICK_trial.txt", "SICK_test_annotated.txt"),
        published=Published(88.0, 88.7),
    ),
    "roles": Spec("Universal Propositions, EWT", "roles", _roles, published=Published(81.4, 84.6)),
    "coref": Spec(
        "OntoGUM",
        "coref",
        _three("coref-ontogum", "train.conll.gz", "dev.conll.gz", "test.conll.gz"),
        published=Published(67.2, 70.4),
    ),
    "ner": Spec(
        "WikiANN English",
        "ner",
        _three("ner-wikiann-en", "train.conll.gz", "dev.conll.gz", "test.conll.gz"),
        published=Published(90.15, 92.22),
    ),
    "classify": Spec(
        "SST-5, with phrases",
        "classify",
        _three("sst", "train.txt", "dev.txt", "test.txt"),
        reading=ReadingChoices(subtrees=True),
        settings={"epochs": 4, "patience": 4},
        published=Published(51.4, 54.7),
        sanity=True,
    ),
    "tag": Spec(
        "UD English EWT, part of speech", "tag", _three("ud-ewt", "train.conllu.gz", "dev.conllu.gz", "test.conllu.gz")
    ),
}
"""The six tasks of the paper, and parts of speech, by the name of the task."""
