"""Two processes learn what one would with the same global batch."""

import json
import os
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import torch
from chains import MINI, Chain, write
from safetensors.torch import load_file

from polyseme.train.lm.run import train

SCRIPT = """
import json, os, sys
import torch
from polyseme.train.lm.run import train
torch.set_num_threads(1)
for port, output, settings in json.loads(sys.argv[2]):
    os.environ["MASTER_PORT"] = str(port)
    assert train([sys.argv[1]], output, **settings).finished
"""


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _heldout(output: Path) -> dict[str, Any]:
    records = [json.loads(line) for line in (output / "metrics.jsonl").read_text().splitlines()]
    return next(record for record in records if record["kind"] == "heldout")


def test_two_processes_give_the_model_of_one_with_both_batches(tmp_path: Path) -> None:
    text = write(tmp_path / "text.txt", Chain().sentences(120, seed=1))
    # Adagrad moves by the gradient itself, whatever its size, so that equal models mean equal gradients.
    common = {**MINI, "updates": 3, "batch_tokens": 64, "optimizer": "adagrad", "warmup": 0, "dropout": 0.1}
    ways: dict[str, dict[str, Any]] = {
        "full": {"softmax": "full"},
        "sampled": {"softmax": "sampled"},
        "rows-alone": {"softmax": "sampled", "freeze": "encoder"},  # nothing dense learns
    }
    jobs = [(_free_port(), str(tmp_path / f"two-{way}"), {**common, **given}) for way, given in ways.items()]
    world = {**os.environ, "MASTER_ADDR": "127.0.0.1", "WORLD_SIZE": "2", "OMP_NUM_THREADS": "1"}
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", SCRIPT, str(text), json.dumps(jobs)],
            env={**world, "RANK": str(rank), "LOCAL_RANK": str(rank)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in (0, 1)
    ]
    for process in processes:
        _, err = process.communicate(timeout=200)
        assert process.returncode == 0, err
    for way, (_, two, settings) in zip(ways, jobs, strict=True):
        one, half = tmp_path / f"one-{way}", tmp_path / f"half-{way}"
        train([text], one, **settings, accumulate=2)
        train([text], half, **settings)
        weights, others, halves = (load_file(Path(folder) / "model.safetensors") for folder in (one, two, half))
        for name, tensor in weights.items():
            torch.testing.assert_close(others[name], tensor, rtol=1e-5, atol=1e-6)
        # The test can fail: with one process's batches alone the model is another.
        assert max(float((tensor - halves[name]).abs().max()) for name, tensor in weights.items()) > 1e-4
        figures = [_heldout(one), _heldout(Path(two))]
        assert figures[0]["forward"] == pytest.approx(figures[1]["forward"], rel=1e-5)
        assert figures[0]["heldout_tokens"] == figures[1]["heldout_tokens"]
