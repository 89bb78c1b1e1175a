"""What each layer knows: how well a linear classifier reads a label of a word from its vector."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from polyseme.arrays import Numbers, Vectors
from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.progress import TokenCounter, Watcher, watching
from polyseme.study.linear_probe import LinearProbes
from polyseme.text.labels import NOT_GIVEN, LabelledSentence, LabelledText

MOST_WORDS = 250_000
"""Words of a file that are used by default. The training vectors are held in memory in 2 bytes per number: this many,
of 3 layers of 1,024 numbers, take 1.5 GB."""
MOST_LABELS = 1000
"""How many labels are learnt: the most frequent ones."""


class LayerAccuracy(NamedTuple):
    """How often the label is read rightly from the vectors of one layer."""

    layer: int | Literal["mean"]
    accuracy: float

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {"layer": self.layer, "accuracy": self.accuracy}


@dataclass(frozen=True)
class ProbeResult:
    """Accuracy on the test file by layer, the mean of all layers last."""

    layers: list[LayerAccuracy]
    baseline: float
    """The accuracy of giving each word the label it has most often in training, and an unknown word the most frequent
    label."""
    labels: int
    """How many were learnt."""
    train_words: int
    test_words: int
    unseen: int
    """Words of the test file whose label was not learnt; they count as wrong everywhere."""
    sampled: bool
    """Whether a file was larger than the limit, so that only some of its sentences were used."""
    rare: int
    """Training words left out because their label was not among the most frequent ones."""
    repairs: list[str]
    """What was not text in either file."""

    def to_dict(self) -> dict[str, JSON]:
        """As JSON holds it."""
        return {**vars(self), "layers": [one.to_dict() for one in self.layers], "repairs": [*self.repairs]}


class _Part(NamedTuple):
    """The sentences of a file that are used."""

    sentences: list[LabelledSentence]
    labels: Numbers
    """(N,) the number of each word's label, -1 for one that is not learnt."""
    name: str


def probe(
    embedder: VectorSource,
    train: str | Path,
    test: str | Path,
    column: str = "upos",
    *,
    most: int = MOST_WORDS,
    seed: int = 1,
    watcher: Watcher | None = None,
) -> ProbeResult:
    """Train a softmax regression on each layer, and on their mean, and measure it on another file.

    Args:
        embedder: Computes the vectors.
        train: CoNLL-U to learn from.
        test: CoNLL-U to measure on.
        column: Where the label is, as in `LabelledText`: ``upos``, ``feats:Case``, the number of a column, ...
        most: Words of a file that are used; of a larger one, sentences spread evenly over it.
        seed: Of the order of training.
        watcher: Is told how the work goes; by default a bar in a notebook.

    Example:
        >>> from polyseme import load
        >>> result = probe(load("english-small"), "train.conllu", "dev.conllu")
        >>> result.layers[1]
        LayerAccuracy(layer=1, accuracy=...)
    """
    if most < 1:
        raise InputError(f"most is {most}, expected how many words of a file to use, at least 1")
    texts = [LabelledText(path, column) for path in (train, test)]
    (learnt, all_train), (measured, all_test) = (_sample(text, most) for text in texts)
    classes = _classes(learnt, f"{train}: column {column}")
    train_part, test_part = (
        _Part(some, np.array([classes.get(label, -1) for one in some for label in one.labels]), str(path))
        for some, path in ((learnt, train), (measured, test))
    )
    with watching(watcher) as told:
        probes = _fit(embedder, train_part, len(classes), seed, told)
        accuracies = _measure(embedder, probes, test_part, told)
    names: list[int | Literal["mean"]] = [*range(embedder.layers), "mean"]
    return ProbeResult(
        layers=[LayerAccuracy(name, accuracy) for name, accuracy in zip(names, accuracies, strict=True)],
        baseline=baseline_accuracy(learnt, measured, classes),
        labels=len(classes),
        train_words=len(train_part.labels),
        test_words=len(test_part.labels),
        unseen=int((test_part.labels < 0).sum()),
        sampled=all_train > len(train_part.labels) or all_test > len(test_part.labels),
        rare=int((train_part.labels < 0).sum()),
        repairs=[f"{text.path}: {text.repairs}" for text in texts if text.repairs],
    )


def _classes(sentences: Iterable[LabelledSentence], where: str) -> dict[str, int]:
    """The labels to learn, the most frequent first, each with its number."""
    counts = Counter(label for sentence in sentences for label in sentence.labels)
    if len(counts) < 2:
        raise InputError(
            f"{where} is {next(iter(counts))!r} on every word; a probe tells at least two labels apart, choose another "
            "column or file"
        )
    return {label: number for number, (label, _) in enumerate(counts.most_common(MOST_LABELS))}


def _fit(embedder: VectorSource, part: _Part, classes: int, seed: int, watcher: Watcher) -> LinearProbes:
    known = part.labels >= 0
    vectors = np.empty((int(known.sum()), embedder.layers, embedder.dim), dtype=np.float16)
    end = 0
    for labels, rows in _rows(embedder, part, watcher):
        rows = rows[labels >= 0]
        vectors[end : end + len(rows)] = rows
        end += len(rows)
    return LinearProbes.fit(vectors, part.labels[known], classes, seed=seed, watcher=watcher)


def _measure(embedder: VectorSource, probes: LinearProbes, part: _Part, watcher: Watcher) -> list[float]:
    """The accuracy of each probe."""
    right = np.zeros(embedder.layers + 1, dtype=np.int64)
    for labels, rows in _rows(embedder, part, watcher):
        right += (probes.predict(rows) == labels).sum(axis=1)
    return [int(count) / len(part.labels) for count in right]


def baseline_accuracy(
    train: Iterable[LabelledSentence], test: Iterable[LabelledSentence], labels: Iterable[str]
) -> float:
    """The accuracy of each word's most frequent label, and of the most frequent of all for unknown words.

    Of labels that are equally frequent the one that comes first counts. Only ``labels`` are ever given.
    """
    allowed = set(labels)
    by_word: defaultdict[str, Counter[str]] = defaultdict(Counter)
    of_all: Counter[str] = Counter()
    for sentence in train:
        for token, label in zip(sentence.tokens, sentence.labels, strict=True):
            if label in allowed:
                by_word[token][label] += 1
                of_all[label] += 1
    best = {word: counts.most_common(1)[0][0] for word, counts in by_word.items()}
    most_frequent = of_all.most_common(1)[0][0]
    right = [
        best.get(token, most_frequent) == label
        for sentence in test
        for token, label in zip(sentence.tokens, sentence.labels, strict=True)
    ]
    return sum(right) / len(right)


def _sample(text: LabelledText, most: int) -> tuple[list[LabelledSentence], int]:
    """Sentences with about as many words as are wanted, spread evenly, and the number of words in the whole file."""
    total, given = 0, False
    for sentence in text:
        total += len(sentence.tokens)
        given = given or any(label != NOT_GIVEN for label in sentence.labels)
    if not total:
        raise InputError(f"{text.path}: no words; give CoNLL-U with at least one sentence")
    if not given:
        raise InputError(
            f"{text.path}: column {text.column} is not given ({NOT_GIVEN}) on any of its {total:,} words; give a file "
            "that has it, or choose another column"
        )
    chosen: list[LabelledSentence] = []
    read = kept = 0
    for sentence in text:
        # Whether a sentence is taken depends on those before it alone, so that long and short ones have equal chances.
        if kept <= read * most / total or total <= most:
            chosen.append(sentence)
            kept += len(sentence.tokens)
        read += len(sentence.tokens)
    return chosen, total


def _rows(embedder: VectorSource, part: _Part, watcher: Watcher) -> Iterator[tuple[Numbers, Vectors]]:
    """The labels (T,) and vectors (T, L, D) of each sentence."""
    counter = TokenCounter(watcher, f"embedding {part.name}")
    for array in embedder.stream((sentence.tokens for sentence in part.sentences), layers="all"):
        rows = array.transpose(1, 0, 2)
        start = counter.tokens
        yield part.labels[start : start + len(rows)], rows
        counter.add(len(rows), (start + len(rows)) / len(part.labels))
