"""Letter-case noise: which sentences, what is read of them, and what stays to be predicted."""

import json
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch
from chains import MINI
from recorder import PowerCut, Recorder

from polyseme.models.bilm import BiLM
from polyseme.train.engine.distributed import World
from polyseme.train.lm.batches import RowBatch, RowBatches, SentenceBatch, SentenceBatches
from polyseme.train.lm.case_noise import CaseNoise, add_counts, add_forms, changes_anything, forms_of
from polyseme.train.lm.plan import LmPlan, TextSource
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import settings_of
from polyseme.train.lm.text_store import TextPart

WORDS = ["<S>", "</S>", "the", "Cat", "sat", "NASA", "42", "don't", "<s>"]


def test_forms_are_added_to_the_words_and_markers_stay_markers() -> None:
    words, forms = add_forms(WORDS)
    assert words[: len(WORDS)] == WORDS
    assert len(set(words)) == len(words)
    read = [[words[form] for form in row] for row in forms]
    assert read[0] == ["<S>"] * 3
    assert read[1] == ["</S>"] * 3
    assert read[2:8] == [
        ["the", "THE", "The"],
        ["cat", "CAT", "Cat"],
        ["sat", "SAT", "Sat"],
        ["nasa", "NASA", "NASA"],
        ["42", "42", "42"],
        ["don't", "DON'T", "Don't"],
    ]
    assert read[8] == ["<s>"] * 3  # not the marker
    assert forms_of("straße") == ("straße", "STRASSE", "Straße")
    assert changes_anything(forms)
    assert not changes_anything(add_forms(["<S>", "</S>", "水", "42"])[1])


def test_characters_that_only_noise_reads_are_counted_if_their_word_is() -> None:
    words, forms = add_forms(["<S>", "</S>", "ab", "cd"])
    counts = add_counts(np.array([9, 9, 5, 0]), forms, len(words))
    assert dict(zip(words, counts.tolist(), strict=True)) == {
        "<S>": 9, "</S>": 9, "ab": 5, "cd": 0, "AB": 1, "Ab": 1, "CD": 0, "Cd": 0,
    }  # fmt: skip


def _noise(share: float, seed: int = 1) -> CaseNoise:
    return CaseNoise(add_forms(WORDS)[1], share, seed)


def test_the_share_is_right_and_choices_depend_on_seed_epoch_and_sentence_alone() -> None:
    numbers = np.arange(40_000)
    found = _noise(0.1).choices(numbers, epoch=0)
    shares = [float((found == choice).mean()) for choice in (0, 1, 2)]
    assert shares == pytest.approx([0.04, 0.04, 0.02], abs=0.004)
    assert (_noise(0.1).choices(numbers[::-1], 0)[::-1] == found).all()
    for other in (_noise(0.1).choices(numbers, 1), _noise(0.1, seed=2).choices(numbers, 0)):
        both = float(((other >= 0) & (found >= 0)).mean())
        assert both == pytest.approx(0.01, abs=0.003)  # independent


def _part() -> TextPart:
    generator = np.random.default_rng(0)
    sentences = [[0, *generator.integers(2, len(WORDS), generator.integers(1, 12)), 1] for _ in range(200)]
    starts = np.cumsum([0, *map(len, sentences)])
    return TextPart(np.concatenate(sentences).astype(np.int32), starts.astype(np.int64))


def test_whole_sentences_are_read_in_one_form_and_predict_the_text() -> None:
    words, forms = add_forms(WORDS)
    noise = _noise(0.5)
    settings = settings_of(batch_tokens=64)
    stream, plain = SentenceBatches(_part(), settings, 1, noise), SentenceBatches(_part(), settings, 1)
    seen = set()
    for group in stream.groups(3, 0):
        (place,) = group.batches
        batch = stream.read(place)
        assert isinstance(batch, SentenceBatch)
        assert batch.noisy is not None
        assert (batch.types == plain.read(place).types).all()
        assert (batch.noisy == stream.read(place).noisy).all()
        chosen = noise.choices(place.numbers, 3)
        ends = np.cumsum(batch.lengths)
        for choice, end, length in zip(chosen.tolist(), ends, batch.lengths, strict=True):
            text, read = batch.types[end - length : end], batch.noisy[end - length : end]
            expected = [words[kind] if choice < 0 else words[forms[kind, choice]] for kind in text]
            assert [words[kind] for kind in read] == expected
            seen.add(choice)
    assert seen == {-1, 0, 1, 2}


def test_rows_read_noise_in_both_directions_and_predict_the_text() -> None:
    part, noise = _part(), _noise(0.5)
    settings = settings_of(rows=4, steps_a_row=7, layout="rows")
    stream, plain = RowBatches(part, settings, 1, noise), RowBatches(part, settings, 1)
    sentence_of = np.repeat(np.arange(len(part.starts) - 1), part.lengths)
    whole = noise.read(part.types, noise.choices(sentence_of, 2))
    shift = int(np.random.default_rng([settings.seed, 2]).integers(len(part.types)))
    for step, group in enumerate(stream.groups(2, 0)):
        (place,) = group.batches
        batch, clean = stream.read(place), plain.read(place)
        assert isinstance(batch, RowBatch)
        assert (batch.ahead_next == clean.ahead_next).all()
        assert (batch.back_next == clean.back_next).all()
        first = shift + step * settings.steps_a_row
        expected = whole[np.arange(first, first + batch.ahead.shape[1]) % len(whole)]
        assert (batch.ahead[0] == expected).all()
        last = shift + stream.length - 1 - step * settings.steps_a_row
        assert (batch.back[0] == whole[np.arange(last, last - batch.back.shape[1], -1) % len(whole)]).all()


def _text(folder: Path) -> Path:
    path = folder / "text.txt"
    path.write_text("".join(f"the Cat sat on Mat {number % 7}\n" for number in range(200)), encoding="utf-8")
    return path


@pytest.mark.parametrize("characters", ["bytes", "unicode"])
def test_the_network_reads_the_noise_and_predicts_words_of_the_text(
    characters: Literal["bytes", "unicode"], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    settings = settings_of(**{**MINI, "characters": characters, "case_noise": 0.9})
    plan = LmPlan(TextSource(corpus=[str(_text(tmp_path))]), settings, tmp_path / "model")
    watcher = Recorder()
    plan.prepare(tmp_path / "work", watcher)
    job = plan.open(tmp_path / "work", settings, World(), watcher)
    assert job.sizes.types == 14  # of the text: markers, five words, seven numbers
    read = list[torch.Tensor]()
    encode = BiLM.encode_words

    def seen(self: BiLM, ids: torch.Tensor) -> torch.Tensor:
        read.append(ids)
        return encode(self, ids)

    monkeypatch.setattr(BiLM, "encode_words", seen)
    group = next(job.groups(0, 0))
    loss = job.loss(group.batches[0])
    assert loss.predictions == 2 * loss.tokens
    wanted = {tuple(row) for row in job.model.indexer.ids(["THE", "CAT", "cat", "ON", "On"]).tolist()}
    assert wanted <= {tuple(row) for row in read[0].tolist()}
    assert len(wanted) == 5  # no capital is an unknown character
    assert "THE" not in job.model.vocabulary  # type: ignore[operator]


def test_text_without_letter_case_gets_a_note(tmp_path: Path) -> None:
    path = tmp_path / "text.txt"
    path.write_text("水 火 木 42\n" * 50, encoding="utf-8")
    watcher = Recorder()
    train([path], tmp_path / "model", watcher=watcher, tokenize="none", **{**MINI, "updates": 1, "case_noise": 0.2})
    assert any("has upper or lower case, so that --case-noise changes nothing" in note for note in watcher.notes)


@pytest.mark.parametrize("layout", [{}, {"layout": "rows"}], ids=["sentences", "rows"])
def test_a_run_with_noise_goes_on_to_the_same_model(layout: dict[str, Any], tmp_path: Path) -> None:
    settings = {**MINI, **layout, "updates": 12, "checkpoint_every": 1e-6, "case_noise": 0.3, "batch_tokens": 64}
    text = _text(tmp_path)
    train([text], tmp_path / "whole", **settings)
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "cut", watcher=PowerCut(7), **settings)
    train([], tmp_path / "cut", resume=True)
    assert (tmp_path / "cut/model.safetensors").read_bytes() == (tmp_path / "whole/model.safetensors").read_bytes()
    config = json.loads((tmp_path / "cut/config.json").read_text())
    assert config["vocabulary_size"] == 15
