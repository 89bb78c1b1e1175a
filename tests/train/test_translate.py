"""Training of translators: what is learnt, what is written, and what is refused."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from recorder import Recorder
from sacrebleu import corpus_bleu
from tiny_translator import pairs, tiny_translator, write_table, write_vectors

import polyseme
from polyseme.errors import FormatError, InputError
from polyseme.formats import translator_folder
from polyseme.progress import Figure, Watcher
from polyseme.train.engine.distributed import World
from polyseme.train.translate import evaluate
from polyseme.train.translate.batches import PairBatches, read_batch
from polyseme.train.translate.evaluate import bleu, perplexity
from polyseme.train.translate.objective import Objective
from polyseme.train.translate.pair_store import Pairs, open_store
from polyseme.train.translate.run import train_translator
from polyseme.train.translate.settings import TranslateSettings

MINI: dict[str, Any] = {
    "encoder_dim": 24,
    "encoder_layers": 1,
    "decoder_dim": 32,
    "batch_tokens": 160,
    "dropout": 0.0,
    "learning_rate": 0.01,
    "min_count": 1,
    "precision": "float32",
    "heldout_pairs": 40,
    "max_length": 20,
    "warmup": 20,
}


@pytest.fixture
def data(tmp_path: Path) -> dict[str, Path]:
    table = write_table(tmp_path / "pairs.tsv", pairs(1500))
    return {"parallel": table, "vectors": write_vectors(tmp_path / "vectors.txt")}


def test_a_reversed_language_is_learnt(tmp_path: Path, data: dict[str, Path]) -> None:
    watcher = Recorder()
    outcome = train_translator(
        data["parallel"], tmp_path / "model", vectors=data["vectors"], epochs=14, watcher=watcher, **MINI
    )
    assert outcome.run.finished
    assert outcome.final is not None
    assert outcome.run.score is not None
    assert outcome.run.score < 1.1  # a perplexity of 1 is certainty
    assert outcome.final.greedy.score > 90
    assert outcome.final.beam.score > 90
    model = translator_folder.read(tmp_path / "model")
    found = model.translate_lines(["two five one", "eight"], beam=4)
    assert found == ["uno cinco dos", "ocho"]
    assert outcome.to_dict()["bleu_beam"] == outcome.final.beam.score
    card = (tmp_path / "model/README.md").read_text(encoding="utf-8")
    assert f"{outcome.final.beam.score:.2f} with a beam of 4 (nrefs:1|case:mixed|eff:no|tok:13a" in card
    assert len(outcome.final.samples) == 10
    assert card.count(outcome.final.samples[3].reference)
    assert (tmp_path / "model/learning-curve.png").exists()
    assert not (tmp_path / "model.training").exists()


def test_the_encoder_is_a_cove_model(tmp_path: Path, data: dict[str, Path]) -> None:
    train_translator(data["parallel"], tmp_path / "model", vectors=data["vectors"], updates=3, **MINI)
    model = translator_folder.read(tmp_path / "model")
    source = polyseme.load(tmp_path / "model/cove")
    sentence = ["two", "Five", "zzz", "one"]
    layers = source.embed([sentence])[0]
    assert layers.shape == (2, 4, 48)
    rows = [model.table.find(word) for word in sentence]
    vectors = np.stack([np.zeros(12, np.float32) if row is None else model.table.matrix[row] for row in rows])
    lstm = torch.nn.LSTM(12, 24, bidirectional=True)
    lstm.load_state_dict(model.network.encoder.state_dict())
    with torch.no_grad():
        expected, _ = lstm(torch.from_numpy(vectors))
    np.testing.assert_allclose(layers[1], expected.numpy(), atol=1e-6)


class _Stop(Watcher):
    """Raises an error after some updates, as if the process had died."""

    def __init__(self, update: int) -> None:
        self.update = update

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        if figures.get("update") == self.update:
            raise KeyboardInterrupt


@pytest.mark.parametrize("softmax", ["full", "sampled"])
def test_a_resumed_run_reaches_the_same_weights(tmp_path: Path, data: dict[str, Path], softmax: str) -> None:
    settings = {**MINI, "softmax": softmax, "samples": 4, "updates": 30, "dropout": 0.2, "evaluate_every": 10}
    settings |= {"checkpoint_every": 1e-6}
    train_translator(data["parallel"], tmp_path / "whole", vectors=data["vectors"], **settings)
    with pytest.raises(KeyboardInterrupt):
        train_translator(data["parallel"], tmp_path / "parts", vectors=data["vectors"], watcher=_Stop(17), **settings)
    for path in data.values():
        path.unlink()  # everything is in the work folder
    with pytest.raises(InputError, match=r"was begun with dropout 0.2, not 0.3; resume it with the same"):
        train_translator([], tmp_path / "parts", resume=True, dropout=0.3)
    outcome = train_translator([], tmp_path / "parts", resume=True)
    assert outcome.run.finished
    one, two = (translator_folder.read(tmp_path / name).network.state_dict() for name in ("whole", "parts"))
    assert all(torch.equal(one[name], two[name]) for name in one)
    records = [
        [json.loads(line) for line in (tmp_path / name / "metrics.jsonl").read_text().splitlines()]
        for name in ("whole", "parts")
    ]
    whole, parts = ([record["bleu"] for record in some if record["kind"] == "heldout"] for some in records)
    assert whole == parts


def _pairs(some: list[tuple[list[int], list[int]]]) -> Pairs:
    sources, targets = zip(*some, strict=True)
    flat = [np.concatenate([np.array(one, dtype=np.int32) for one in side]) for side in (sources, targets)]
    starts = [np.cumsum([0, *map(len, side)]) for side in (sources, targets)]
    return Pairs(flat[0], starts[0], flat[1], starts[1])


def test_the_loss_of_a_batch_is_that_of_its_pairs_alone() -> None:
    model = tiny_translator()
    some = _pairs([([0, 1, 2], [4, 5]), ([3], [6, 7, 8, 9]), ([-1, 4], [10])])
    objective = Objective(model.network.double(), torch.from_numpy(model.table.matrix).double())
    device = torch.device("cpu")
    with torch.no_grad():
        together = objective(read_batch(some, np.arange(3), device), None)
        alone = [objective(read_batch(some, np.array([number]), device), None) for number in range(3)]
    assert float(together.total) == pytest.approx(sum(float(one.total) for one in alone), rel=1e-6)
    assert together.predictions == together.tokens == 10  # with the end markers
    mean = perplexity(model, some, objective.vectors, batch_tokens=5, world=World())
    assert np.log(mean) * 10 == pytest.approx(float(together.total), rel=1e-6)
    starts = np.cumsum([0, 3, 5, 2])  # and the states themselves are equal, to the precision of the numbers
    with torch.no_grad():
        states = [
            objective.states(batch, model.network.softmax.weight[batch.before])[batch.target_packing.packed_of_flat]
            for batch in (read_batch(some, numbers, device) for numbers in (np.arange(3), *np.arange(3)[:, None]))
        ]
    for number in range(3):
        own = states[0][starts[number] : starts[number + 1]]
        torch.testing.assert_close(own, states[number + 1], rtol=0, atol=1e-12)


def test_label_smoothing_is_that_of_torch() -> None:
    model = tiny_translator()
    some = _pairs([([0, 1, 2], [4, 5]), ([3], [6, 7, 8, 9])])
    batch = read_batch(some, np.arange(2), torch.device("cpu"))
    network = model.network.double()
    objective = Objective(network, torch.from_numpy(model.table.matrix).double(), label_smoothing=0.1)
    total = objective(batch, None).total
    states = objective.states(batch, network.softmax.weight[batch.before])
    logits = torch.nn.functional.linear(states, network.softmax.weight, network.softmax.bias)
    wanted = torch.nn.functional.cross_entropy(logits, batch.target, reduction="sum", label_smoothing=0.1)
    torch.testing.assert_close(total, wanted, rtol=1e-7, atol=0)  # its logarithms are float32
    parameters = list(network.parameters())
    ours, torchs = (torch.autograd.grad(one, parameters, retain_graph=True) for one in (total, wanted))
    for one, two in zip(ours, torchs, strict=True):
        torch.testing.assert_close(one, two, rtol=1e-7, atol=1e-9)


def test_every_pair_is_in_one_batch_of_an_epoch() -> None:
    generator = np.random.default_rng(2)
    some = _pairs([([1] * int(a), [4] * int(b)) for a, b in generator.integers(1, 12, size=(300, 2))])
    batches = PairBatches(some, batch_tokens=60, group=2, seed=3)
    groups = list(batches.groups(0, 0))
    assert sorted(np.concatenate([batch for group in groups for batch in group.batches]).tolist()) == list(range(300))
    assert groups[-1].share == 1.0
    both = some.source_lengths + some.target_lengths
    assert all(both[batch].sum() <= 60 for group in groups for batch in group.batches)
    later = list(batches.groups(0, 4))
    assert [[b.tolist() for b in g.batches] for g in later] == [[b.tolist() for b in g.batches] for g in groups[4:]]
    assert [b.tolist() for b in next(batches.groups(1, 0)).batches] != [b.tolist() for b in groups[0].batches]


def test_bleu_is_that_of_sacrebleu() -> None:
    lines, references = ["El gato está en casa.", "No lo sé, Tom."], ["El gato está en la casa.", "No lo sé."]
    found = bleu(lines, references, "en")
    assert found.score == corpus_bleu(lines, [references]).score > 0
    assert "tok:13a" in found.signature
    chinese = bleu(["我们回家吧。"], ["我们回家了。"], "char")
    assert chinese.score == corpus_bleu(["我们回家吧。"], [["我们回家了。"]], tokenize="zh").score > 0


def test_an_evaluation_translates_as_the_model_does(tmp_path: Path, data: dict[str, Path]) -> None:
    outcome = train_translator(data["parallel"], tmp_path / "model", vectors=data["vectors"], epochs=2, **MINI)
    model = translator_folder.read(tmp_path / "model")
    assert outcome.final is not None
    sources, references = zip(*((one.source, one.reference) for one in outcome.final.samples), strict=True)
    assert [one.translation for one in outcome.final.samples] == model.translate_lines(sources, beam=4)
    assert all(
        " ".join(reversed(source.split())) != reference for source, reference in zip(sources, references, strict=True)
    )


def test_pairs_that_are_left_out_are_told(tmp_path: Path, data: dict[str, Path]) -> None:
    some = pairs(200)
    some[4:4] = [("", "uno"), ("one", "  ")]
    some[9:9] = [("one " * 30, "uno")]
    table = write_table(tmp_path / "gaps.tsv", some)
    watcher = Recorder()
    settings = {**MINI, "updates": 1}
    train_translator(table, tmp_path / "model", vectors=data["vectors"], watcher=watcher, **settings)
    assert f"2 pairs with an empty side left out, the first at {table}:5" in watcher.notes
    assert f"1 pair with a side of more than 20 tokens left out, the first at {table}:10" in watcher.notes


def test_held_out_files_that_overlap_are_told(tmp_path: Path, data: dict[str, Path]) -> None:
    heldout = write_table(tmp_path / "held.tsv", [pairs(1500)[0], ("six six six six six six", "x y"), ("a", "b")])
    watcher = Recorder()
    outcome = train_translator(
        data["parallel"],
        tmp_path / "model",
        vectors=data["vectors"],
        heldout=heldout,
        watcher=watcher,
        updates=1,
        **MINI,
    )
    assert outcome.final is not None
    assert outcome.final.pairs == 3
    note = next(note for note in watcher.notes if "held-out" in note)
    assert note.startswith(f"{heldout}: 1 of 3 held-out pairs have a sentence that is also in the training pairs")


def test_bad_input_is_one_line(tmp_path: Path, data: dict[str, Path]) -> None:
    table, vectors, out = data["parallel"], data["vectors"], tmp_path / "model"
    few = write_table(tmp_path / "few.tsv", [("one", "uno"), ("one", "dos")])
    foreign = write_table(tmp_path / "foreign.tsv", [(f"w{n} v{n}", f"x{n} y{n}") for n in range(40)])
    empty = write_table(tmp_path / "empty.tsv", [("", "uno")])
    cases: list[tuple[Path, dict[str, Any], str]] = [
        (table, {}, "no static vectors given"),
        (few, {"vectors": vectors}, "few.tsv: of 2 pairs none can be held out .*; give more pairs, or --heldout"),
        (foreign, {"vectors": vectors}, "vectors.txt.*: has a vector for none of the 80 source words"),
        (empty, {"vectors": vectors}, "empty.tsv: no pair with tokens on both sides"),
        (table, {"vectors": vectors, "min_count": 10**6}, "no target word occurs 1000000 times or more"),
        (
            table,
            {"vectors": vectors, "softmax": "sampled", "label_smoothing": 0.1},
            "label_smoothing needs the full softmax",
        ),
        (table, {"vectors": vectors, "softmax": "sampled"}, "samples is 4,096 but the vocabulary has 11 words"),
        (table, {"vectors": vectors, "layers": 3}, "unknown setting 'layers'"),
        (table, {"vectors": vectors, "source_tokenize": "fr"}, "unknown tokenizer 'fr'"),
    ]
    for files, options, message in cases:
        with pytest.raises(InputError, match=message):
            train_translator(files, out, **{**MINI, **options})
        assert not out.exists()
        assert not out.with_name("model.training").exists()


def test_without_sacrebleu(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(__import__("sys").modules, "sacrebleu", None)
    with pytest.raises(polyseme.errors.MissingPart, match=r"BLEU needs sacrebleu; run: pip install 'polyseme\[cove\]'"):
        evaluate.check_installed()


def test_damaged_pairs_are_refused(tmp_path: Path, data: dict[str, Path]) -> None:
    with pytest.raises(KeyboardInterrupt):
        train_translator(
            data["parallel"], tmp_path / "m", vectors=data["vectors"], watcher=_Stop(2), checkpoint_every=1e-6, **MINI
        )
    folder = tmp_path / "m.training/pairs"
    store = open_store(folder)
    assert len(store.heldout) == len(store.heldout_sources) == 40
    (folder / "pairs.npz").write_bytes((folder / "pairs.npz").read_bytes()[:900])
    with pytest.raises(FormatError, match=r"pairs.npz: not as it was written"):
        open_store(folder)


def test_which_softmax() -> None:
    settings = TranslateSettings.model_validate({})
    assert not settings.sampled(8192)
    assert settings.sampled(8193)
    assert not TranslateSettings.model_validate({"label_smoothing": 0.1}).sampled(50_000)
    assert TranslateSettings.model_validate({"softmax": "sampled"}).sampled(10)
