"""Work is not lost: kills, Ctrl-C, NaN."""

import json
import math
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from chains import MINI, Chain, write

import polyseme
from polyseme.errors import Diverged, FormatError, InputError, OutputError
from polyseme.progress import Figure, Watcher
from polyseme.train.engine import checkpoint, loop
from polyseme.train.engine.job import BatchLoss
from polyseme.train.lm.objective import Objective
from polyseme.train.lm.run import train

CHAIN = Chain()

SCRIPT = """
import sys, json
import torch
from polyseme.train.lm.run import train
from polyseme.progress import Watcher
torch.set_num_threads(1)

class Slow(Watcher):
    def step(self, share, figures):
        if "update" not in figures:
            return
        print(figures["update"], flush=True)
        sys.stdin.readline()  # one update a line: the test decides when

if __name__ == "__main__":
    settings = json.loads(sys.argv[3])
    outcome = train([sys.argv[1]], sys.argv[2], watcher=Slow(), **settings)
    print("finished" if outcome.finished else "interrupted", flush=True)
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    return write(tmp_path / "text.txt", CHAIN.sentences(250, seed=1))


def _settings(**settings: Any) -> dict[str, Any]:
    return {**MINI, "epochs": 2, "dropout": 0.1, "batch_tokens": 128, "checkpoint_every": 1e-6, **settings}


class _Run:
    """A training process that makes one update at a time."""

    def __init__(self, text: Path, output: Path, **settings: Any) -> None:
        arguments = [sys.executable, "-c", SCRIPT, str(text), str(output), json.dumps(_settings(**settings))]
        self.process = subprocess.Popen(
            arguments,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env={**os.environ, "OMP_NUM_THREADS": "1"},
        )

    def line(self) -> str:
        assert self.process.stdout is not None
        return self.process.stdout.readline().strip()

    def go(self) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write("\n")
        self.process.stdin.flush()

    def until(self, update: int) -> None:
        while int(self.line()) < update:
            self.go()

    def kill(self, number: int) -> None:
        self.process.send_signal(number)

    def end(self) -> str:
        out, _ = self.process.communicate("\n" * 100_000)
        return out.split()[-1] if out.split() else ""


def _losses(output: Path) -> list[dict[str, Any]]:
    records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return [{k: v for k, v in r.items() if k not in ("elapsed", "tokens_per_second")} for r in records]


@pytest.mark.parametrize(
    "settings",
    [{"optimizer": "muon", "context_weight": 0.3}, {"layout": "rows", "softmax": "sampled", "average": 0.3}],
    ids=["sentences", "rows"],
)
def test_a_killed_run_goes_on_to_the_very_same_model(settings: dict[str, Any], text: Path, tmp_path: Path) -> None:
    threads = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        train([text], tmp_path / "unbroken", **_settings(**settings))
    finally:
        torch.set_num_threads(threads)
    run = _Run(text, tmp_path / "broken", **settings)
    run.until(7)
    run.go()
    time.sleep(0.01)  # somewhere in an update or in writing a checkpoint
    run.kill(signal.SIGKILL)
    run.process.wait()
    assert run.process.stdin is not None
    assert run.process.stdout is not None
    run.process.stdin.close()
    run.process.stdout.close()
    assert (tmp_path / "broken.training" / checkpoint.FILE).exists()
    again = _Run(text, tmp_path / "broken", resume=True, **settings)
    assert int(again.line()) >= 7
    assert again.end() == "finished"
    assert _losses(tmp_path / "broken") == _losses(tmp_path / "unbroken")
    for name in ("model.safetensors", "vocabulary.txt", "config.json"):
        assert (tmp_path / "broken" / name).read_bytes() == (tmp_path / "unbroken" / name).read_bytes()


def test_ctrl_c_saves_and_leaves_a_usable_model(text: Path, tmp_path: Path) -> None:
    run = _Run(text, tmp_path / "model", checkpoint_every=1e6)
    run.until(3)
    run.kill(signal.SIGINT)
    assert run.end() == "interrupted"
    assert len(polyseme.load(tmp_path / "model").embed([["ba", "ce"]])[0]) == 2
    assert train([], tmp_path / "model", resume=True).finished


class _Stop(Watcher):
    """Breaks off after an update, as a power cut would."""

    def __init__(self, update: int) -> None:
        self.update, self.notes = update, list[str]()

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        if figures.get("update") == self.update:
            raise RuntimeError("power cut")

    def note(self, text: str) -> None:
        self.notes.append(text)


def test_resuming_another_configuration_is_refused_and_changes_nothing(text: Path, tmp_path: Path) -> None:
    output = tmp_path / "model"
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], output, watcher=_Stop(2), **_settings())
    before = {path: path.read_bytes() for path in (tmp_path / "model.training").rglob("*") if path.is_file()}
    with pytest.raises(InputError, match=r"model.training: this run was begun with hidden_dim 48, not 64; resume it"):
        train([text], output, resume=True, **_settings(hidden_dim=64))
    other = write(tmp_path / "other.txt", CHAIN.sentences(5, seed=1))
    with pytest.raises(InputError, match=r"this run was begun with corpus \['.*text.txt'\], not \['.*other.txt'\]"):
        train([other], output, resume=True)
    with pytest.raises(InputError, match=r"this run was begun with .*; resume it"):
        train([text], output, resume=True, preset="small")  # given, though it is the default
    with pytest.raises(InputError, match=r"model.training: holds the work of an interrupted run; continue it"):
        train([text], output, **_settings())
    assert before == {path: path.read_bytes() for path in before}
    assert train([text], output, resume=True, **_settings()).finished
    with pytest.raises(InputError, match=r"model.training: no interrupted run is there, so there is nothing to resume"):
        train([text], output, resume=True)
    with pytest.raises(InputError, match=r"model: exists already; give the name of a new folder"):
        train([text], output, **_settings())


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (
            {"layout": "rows", "accumulate": 5000},
            r"^a corpus of \d+ tokens cannot be divided into 5000 rows; use layout",
        ),
        ({"softmax": "sampled", "samples": 2048}, r"^samples is 2,048 but the vocabulary has 13 words"),
        ({"layers": 65}, r"^setting layers: should be at most 64, got 65"),
    ],
    ids=["rows", "samples", "layers"],
)
def test_what_fails_before_it_learns_leaves_nothing(
    wrong: dict[str, Any], message: str, text: Path, tmp_path: Path
) -> None:
    output = tmp_path / "model"
    with pytest.raises(InputError, match=message):
        train(text, output, **_settings(**wrong))
    assert sorted(path.name for path in tmp_path.iterdir()) == ["text.txt"]
    assert train(text, output, **_settings(updates=1)).finished


def test_a_text_is_kept_where_only_room_for_the_first_checkpoint_was_missing(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*arguments: object) -> None:
        raise OutputError("no room")

    with monkeypatch.context() as patch:
        patch.setattr(checkpoint, "save", full)
        with pytest.raises(OutputError, match="no room"):
            train(text, tmp_path / "model", **_settings())
    text.unlink()  # the resumed run needs it no more
    assert train([], tmp_path / "model", resume=True).finished


_DAMAGE: dict[str, Callable[[bytes], bytes]] = {
    "emptied": lambda content: b"",
    "truncated": lambda content: content[: len(content) // 2],
    "replaced": lambda content: b"nothing",
    "nested": lambda content: b"[" * 100_000,
}


@pytest.mark.parametrize("damage", _DAMAGE)
@pytest.mark.parametrize(
    "name", [checkpoint.FILE, "run.json", "text/tables.json", "text/whole.json", "text/training.types", "text/outputs"]
)
def test_a_damaged_file_of_a_run_gets_one_line(name: str, damage: str, text: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "model", watcher=_Stop(2), **_settings())
    path = tmp_path / "model.training" / name
    path.write_bytes(_DAMAGE[damage](path.read_bytes()))
    with pytest.raises(FormatError) as caught:
        train([text], tmp_path / "model", resume=True)
    message = str(caught.value)
    assert "model.training" in message
    assert "begin again" in message
    assert "\n" not in message


def test_a_checkpoint_of_another_network_is_refused(text: Path, tmp_path: Path) -> None:
    for name, units in (("one", 48), ("two", 32)):
        with pytest.raises(RuntimeError, match="power cut"):
            train([text], tmp_path / name, watcher=_Stop(2), **_settings(hidden_dim=units))
    other = tmp_path / "two.training" / checkpoint.FILE
    (tmp_path / "one.training" / checkpoint.FILE).write_bytes(other.read_bytes())
    with pytest.raises(FormatError, match=r"checkpoint.pt: does not belong to this run, or is damaged"):
        train([text], tmp_path / "one", resume=True)


def test_a_checkpoint_whose_weights_are_no_numbers_is_refused(text: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "model", watcher=_Stop(2), **_settings())
    path = tmp_path / "model.training" / checkpoint.FILE
    state = torch.load(path)
    next(iter(state["network"].values())).view(-1)[0] = float("nan")
    torch.save(state, path)
    with pytest.raises(FormatError, match=r"checkpoint.pt: does not .*, or is damaged \(weights that hold NaN"):
        train([text], tmp_path / "model", resume=True)


@pytest.mark.parametrize("carried", [7, {0: 7}, {0: [(torch.tensor([float("nan")]), 7)]}])
def test_a_checkpoint_whose_rows_carry_no_state_is_refused(text: Path, tmp_path: Path, carried: object) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "model", watcher=_Stop(2), **_settings(layout="rows"))
    path = tmp_path / "model.training" / checkpoint.FILE
    state = torch.load(path)
    assert state["job"]["carried"]
    torch.save(state | {"job": {"carried": carried}}, path)
    with pytest.raises(FormatError, match=r"checkpoint.pt: does not .*, or is damaged \(the carried state is no"):
        train([text], tmp_path / "model", resume=True)


def test_a_folder_in_place_of_the_metrics_is_named(text: Path, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match="power cut"):
        train([text], tmp_path / "model", watcher=_Stop(2), **_settings())
    metrics = tmp_path / "model.training" / "metrics.jsonl"
    metrics.unlink()
    metrics.mkdir()
    with pytest.raises(OutputError, match=r"metrics\.jsonl: could not be written \(Is a directory\); put that right"):
        train([text], tmp_path / "model", resume=True)


def test_a_second_process_on_the_same_output_is_refused_and_named(text: Path, tmp_path: Path) -> None:
    run = _Run(text, tmp_path / "model")
    run.until(2)
    try:
        with pytest.raises(OutputError, match=rf"model: is being written by process {run.process.pid}; wait until"):
            train([text], tmp_path / "model", resume=True)
    finally:
        assert run.end() == "finished"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "text.txt"]


def test_nan_goes_back_to_the_last_good_state_with_a_lower_rate(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = 0
    plain = Objective.__call__

    def sometimes(self: Objective, *arguments: Any) -> BatchLoss:
        nonlocal calls
        calls += 1
        loss = plain(self, *arguments)
        return replace(loss, total=loss.total * math.nan) if calls in (6, 9) else loss

    monkeypatch.setattr(Objective, "__call__", sometimes)
    watcher = _Stop(-1)
    outcome = train([text], tmp_path / "model", watcher=watcher, **_settings())
    assert outcome.finished
    assert [note for note in watcher.notes if "went back" in note] == [
        "the loss became nan at update 5; went back to update 5 with 0.5 of the rate",
        "the loss became nan at update 7; went back to update 7 with 0.25 of the rate",
    ]
    setbacks = [record for record in _losses(tmp_path / "model") if record["kind"] == "setback"]
    assert [record["rate_scale"] for record in setbacks] == [0.5, 0.25]


def test_a_run_that_always_diverges_ends_with_one_clear_line(
    text: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "DIVERGED", -1.0)
    with pytest.raises(Diverged, match=r"training diverged 9 times, last at update 1 .* begin with a lower"):
        train([text], tmp_path / "model", **_settings())
