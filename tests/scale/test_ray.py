"""A real Ray cluster of two nodes on this machine: workers are lost, runs are interrupted, and nothing is missing."""

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from itertools import chain
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest

from benchmarks.ray_nodes import RayNodes
from polyseme.embed.load import load
from polyseme.text.corpus import Corpus

WORDS = ["the", "river", "bank", "was", "closed", "and", "money", "of", "a", "play", "in", "April", "ran", "out"]
MODEL = "english-small"


@pytest.fixture(scope="module")
def cluster() -> Iterator[RayNodes]:
    with RayNodes(2) as nodes:
        yield nodes


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return _written(tmp_path_factory.mktemp("text"), 1000)


def _written(folder: Path, lines_each: int) -> Path:
    """Two files of random sentences."""
    drawn = np.random.default_rng(1)
    for name in ("a.txt", "b.txt"):
        lines = (" ".join(drawn.choice(WORDS, drawn.integers(1, 30))) for _ in range(lines_each))
        (folder / name).write_text("\n".join(lines) + "\n")
    return folder


def command(cluster: RayNodes, text: Path, output: Path, *options: str) -> "subprocess.Popen[str]":
    polyseme = str(Path(sys.executable).with_name("polyseme"))
    given = ["embed", str(text), "-m", MODEL, "-o", str(output), "--layers", "mean", "--tokenize", "none"]
    given += ["--engine", "ray", "--address", cluster.address, "--part-bytes", "3000", "--json", *options]
    return subprocess.Popen(
        [polyseme, *given], env=cluster.environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )


def wait_until(true: Callable[[], object], process: "subprocess.Popen[str]") -> None:
    while not true():
        assert process.poll() is None, process.communicate()
        time.sleep(0.02)


def check_complete(output: Path, text: Path) -> None:
    """Every sentence is there once, with the vectors that one process computes."""
    sentences = [sentence.tokens for sentence in Corpus([text], tokenize=None)]
    wanted = np.concatenate(load(MODEL).embed(sentences, layers="mean"))
    manifest = json.loads((output / "_manifest.json").read_text())
    assert sorted(path.name for path in output.iterdir()) == sorted(
        ["_manifest.json", *(part["name"] for part in manifest["parts"])]
    )
    tables = [pq.read_table(output / part["name"]) for part in manifest["parts"]]
    numbers = [
        part["first_sentence"] + number
        for part, table in zip(manifest["parts"], tables, strict=True)
        for number in table["sentence"].to_pylist()
    ]
    assert numbers == [number for number, tokens in enumerate(sentences) for _ in tokens]
    assert [token for table in tables for token in table["token"].to_pylist()] == list(chain.from_iterable(sentences))
    found = np.concatenate([np.stack(table["vector"].to_numpy()) for table in tables])
    assert np.array_equal(found, wanted)
    assert manifest["sentences"] == len(sentences)
    assert len(manifest["instruction_sets"]) == 1


def test_an_actor_is_killed(cluster: RayNodes, tmp_path: Path) -> None:
    (tmp_path / "text").mkdir()
    text = _written(tmp_path / "text", 6000)  # so that there is much to do when the first part is done
    output, parts = tmp_path / "out", tmp_path / "out.partial" / "parts"
    process = command(cluster, text, output, "--progress", "lines")
    wait_until(lambda: parts.is_dir() and any(parts.glob("*.parquet")) and len(cluster.actors()) == 2, process)
    os.kill(cluster.actors()[0], signal.SIGKILL)
    out, err = process.communicate(timeout=300)
    assert process.returncode == 0, err
    assert "a worker was lost" in err
    check_complete(output, text)
    result = json.loads(out)
    assert (result["sentences"], result["parts_before"]) == (12000, 0)


def test_a_run_is_stopped_and_continued(cluster: RayNodes, text: Path, tmp_path: Path) -> None:
    output = tmp_path / "out"
    process = command(cluster, text, output)
    parts = tmp_path / "out.partial" / "parts"
    wait_until(lambda: parts.is_dir() and any(parts.glob("*.parquet")), process)
    process.send_signal(signal.SIGTERM)
    _, err = process.communicate(timeout=300)
    assert process.returncode == 128 + signal.SIGTERM
    assert "parts are complete in" in err.splitlines()[-1]
    assert err.splitlines()[-1].endswith("continue with --resume")
    assert not output.exists()
    (parts / "junk.parquet").write_bytes(b"")  # not of this run
    done = sorted(parts.glob("0*.parquet"))
    done[0].write_bytes(done[0].read_bytes()[:-1])  # as if its writer had been killed on another file system
    continued = command(cluster, text, output, "--resume")
    out, err = continued.communicate(timeout=300)
    assert continued.returncode == 0, err
    assert json.loads(out)["parts_before"] >= len(done) - 1
    check_complete(output, text)


DATASET = """
import sys
import numpy as np, ray
import polyseme.scale
from polyseme import load
ray.init(address=sys.argv[1], log_to_driver=False, logging_level="ERROR")
sentences = [["The", "bank", "closed"], ["Yes"], [], ["a", "b"]] * 50
rows = ray.data.from_items([{"number": n, "tokens": tokens} for n, tokens in enumerate(sentences)])
settings = polyseme.scale.ScaleSettings(actors=1)
found = polyseme.scale.embed(rows, "english-small", layers="top", batch_rows=32, settings=settings)
table = {row["number"]: row["vectors"] for row in found.iter_rows()}
wanted = load("english-small").embed(sentences, layers="top")
assert len(table) == len(sentences)
for number, vectors in enumerate(wanted):
    assert np.array_equal(np.array(list(table[number]), dtype=np.float32).reshape(vectors.shape), vectors)
print("equal")
"""


def test_a_dataset(cluster: RayNodes) -> None:
    done = subprocess.run(
        [sys.executable, "-c", DATASET, cluster.address], env=cluster.environment, capture_output=True, text=True
    )
    assert done.stdout.endswith("equal\n"), done.stderr[-3000:]
