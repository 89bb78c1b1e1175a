"""What each layer knows: how well a linear probe reads a label of a word from its vector."""

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple

import numpy as np

from polyseme.embed.source import VectorSource
from polyseme.errors import InputError
from polyseme.index import Advance
from polyseme.study.linear_probe import LinearProbes
from polyseme.text.labels import NOT_GIVEN, LabelledSentence, LabelledText

MOST_WORDS = 250_000
"""Words of a file that are used by default. The training vectors stand in memory in 2 bytes a number: this many, of 3
layers of 1,024 numbers, take 1.5 GB."""
MOST_LABELS = 1000
"""Labels that are learnt, the most frequent ones."""


class LayerAccuracy(NamedTuple):
    """How well one layer's vectors tell the label."""

    layer: int | Literal["mean"]
    accuracy: float


@dataclass(frozen=True)
class ProbeResult:
    """Accuracy on the test file by layer, the mean of all layers last."""

    layers: list[LayerAccuracy]
    baseline: float
    """Of giving each word the label it has most often in training, and an unknown word the most frequent label."""
    labels: int
    """That were learnt."""
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

    def facts(self) -> dict[str, Any]:
        """Everything, for JSON."""
        return {**vars(self), "layers": [one._asdict() for one in self.layers]}


def probe(
    embedder: VectorSource,
    train: str | Path,
    test: str | Path,
    column: str = "upos",
    *,
    most: int = MOST_WORDS,
    seed: int = 1,
    advance: Advance | None = None,
) -> ProbeResult:
    """Train a softmax regression on each layer, and on their mean, and measure it on another file.

    Args:
        embedder: What makes the vectors.
        train: CoNLL-U to learn from.
        test: CoNLL-U to measure on.
        column: Where the label stands, as in `LabelledText`: ``upos``, ``feats:Case``, a column's number, ...
        most: Words of a file that are used; of a larger one, sentences spread evenly over it.
        seed: Of the order of training.
        advance: Told of words embedded and of the share of the work that is done. Learning counts as much as embedding
            the words that are learnt from.

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
    counts = Counter(label for sentence in learnt for label in sentence.labels)
    if len(counts) < 2:
        raise InputError(
            f"{train}: column {column} is {next(iter(counts))!r} on every word; a probe tells at least two labels "
            "apart, choose another column or file"
        )
    classes = {label: number for number, (label, _) in enumerate(counts.most_common(MOST_LABELS))}
    train_labels, test_labels = (
        np.array([classes.get(label, -1) for sentence in sentences for label in sentence.labels])
        for sentences in (learnt, measured)
    )
    report = _share_of(2 * len(train_labels) + len(test_labels), advance)

    vectors = np.empty((int((train_labels >= 0).sum()), embedder.layers, embedder.dim), dtype=np.float16)
    end = 0
    for known, rows in _rows(embedder, learnt, train_labels, report):
        rows = rows[known >= 0]
        vectors[end : end + len(rows)] = rows
        end += len(rows)
    probes = LinearProbes.fit(
        vectors,
        train_labels[train_labels >= 0],
        len(classes),
        seed=seed,
        passed=lambda share: report(0, share * len(train_labels)),
    )
    del vectors

    right = np.zeros(embedder.layers + 1, dtype=np.int64)
    for known, rows in _rows(embedder, measured, test_labels, report):
        right += (probes.predict(rows) == known).sum(axis=1)
    names: list[int | Literal["mean"]] = [*range(embedder.layers), "mean"]
    return ProbeResult(
        layers=[LayerAccuracy(name, int(count) / len(test_labels)) for name, count in zip(names, right, strict=True)],
        baseline=baseline_accuracy(learnt, measured, classes),
        labels=len(classes),
        train_words=len(train_labels),
        test_words=len(test_labels),
        unseen=int((test_labels < 0).sum()),
        sampled=all_train > len(train_labels) or all_test > len(test_labels),
        rare=int((train_labels < 0).sum()),
        repairs=[f"{text.path}: {text.repairs}" for text in texts if text.repairs],
    )


def baseline_accuracy(
    train: Iterable[LabelledSentence], test: Iterable[LabelledSentence], labels: Iterable[str]
) -> float:
    """The accuracy of each word's most frequent label, and of the most frequent of all for unknown words.

    Of labels that are equally frequent the one met first counts. Only ``labels`` are ever given.
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
    """Sentences with about as many words as are wanted, spread evenly, and the number of words there are in all."""
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


def _rows(
    embedder: VectorSource,
    sentences: Sequence[LabelledSentence],
    labels: np.ndarray[Any, np.dtype[np.int64]],
    report: Callable[[int, float], None],
) -> Iterator[tuple[np.ndarray[Any, np.dtype[np.int64]], np.ndarray[Any, np.dtype[np.float32]]]]:
    """The labels (T,) and vectors (T, L, D) of each sentence."""
    start = 0
    for array in embedder.stream((sentence.tokens for sentence in sentences), layers="all"):
        rows = array.transpose(1, 0, 2)
        yield labels[start : start + len(rows)], rows
        start += len(rows)
        report(len(rows), len(rows))


def _share_of(total: float, advance: Advance | None) -> Callable[[int, float], None]:
    """Tells of so many words embedded, and so much work done."""
    done = 0.0

    def report(words: int, work: float) -> None:
        nonlocal done
        done += work
        if advance is not None:
            advance(words, min(1.0, done / total))

    return report
