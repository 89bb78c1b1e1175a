"""Where the biases of the softmax begin."""

from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import torch
from chains import MINI, Chain, write

from polyseme.nn.softmax import FullSoftmax
from polyseme.progress import Watcher
from polyseme.train.engine.distributed import World
from polyseme.train.lm.job import LmJob
from polyseme.train.lm.plan import LmPlan, TextSource
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import settings_of

SENTENCES = Chain().sentences(200, seed=1)


def _job(folder: Path, start: Path | None = None, **settings: Any) -> LmJob:
    text, heldout = write(folder / "text.txt", SENTENCES), write(folder / "heldout.txt", SENTENCES[:5])
    source = TextSource(corpus=[str(text)], heldout=[str(heldout)], start=None if start is None else str(start))
    chosen = settings_of(**{**MINI, **settings})
    plan = LmPlan(source, chosen, folder / "model")
    plan.prepare(folder / "work", Watcher())
    return plan.open(folder / "work", chosen, World(), Watcher())


def _softmax(job: LmJob) -> FullSoftmax:
    assert isinstance(job.model.bilm.softmax, FullSoftmax)
    return job.model.bilm.softmax


def test_with_rows_of_zeros_the_softmax_predicts_how_often_words_occur(tmp_path: Path) -> None:
    softmax = _softmax(_job(tmp_path, output_bias="counts", min_count=30))
    with torch.no_grad():
        softmax.weight.zero_()
        share = softmax(torch.randn(1, 24))[0].exp()
    words = Counter(word for sentence in SENTENCES for word in ["<S>", *sentence, "</S>"])
    vocabulary = _job(tmp_path, min_count=30).store.vocabulary.words
    unknown = sum(count for word, count in words.items() if word not in vocabulary)
    counts = [words[word] if word != "<UNK>" else unknown for word in vocabulary]
    expected = [(count + 1) / (sum(counts) + len(counts)) for count in counts]
    assert share.tolist() == pytest.approx(expected, rel=1e-5)


def test_biases_are_zero_unless_asked_and_those_of_a_trained_softmax_stay(tmp_path: Path) -> None:
    assert not _softmax(_job(tmp_path)).bias.any()
    train([tmp_path / "text.txt"], tmp_path / "first", **{**MINI, "updates": 2})
    kept = _softmax(_job(tmp_path, tmp_path / "first"))
    asked = _softmax(_job(tmp_path, tmp_path / "first", output_bias="counts"))
    assert kept.bias.any()
    assert torch.equal(kept.bias, asked.bias)
