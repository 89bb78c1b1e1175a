"""``polyseme embed`` that is killed, stopped by a signal, or started twice."""

import json
import os
import random
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from conftest import GOLDEN, Run, refused
from writer_cases import SUFFIXES, read

from polyseme.embed.job import embed_corpus
from polyseme.embed.load import load
from polyseme.embed.writers import VectorWriter
from polyseme.text.corpus import Corpus

TWO = GOLDEN / "allennlp" / "two_layers"
COUNT = 1200

# Small parts, so that a short run has many; handlers as in a terminal, whatever this process was started with. Before
# sentence 1000 the run waits for a file, so that it cannot end before it is meant to, however slow the machine is.
SCRIPT = """
import os, signal, time
signal.signal(signal.SIGINT, signal.default_int_handler)
signal.signal(signal.SIGTERM, signal.SIG_DFL)
from polyseme.embed.writers import opening
opening.open_writer.__kwdefaults__["part_bytes"] = 1 << 15
from polyseme.embed.writers.writer import VectorWriter
write = VectorWriter.write
def wait_and_write(self, record, **options):
    while self.taken == 1000 and not os.path.exists(os.environ["WAIT_FOR"]):
        time.sleep(0.01)
    write(self, record, **options)
VectorWriter.write = wait_and_write
from polyseme.cli.main import main
main()
"""


@pytest.fixture
def text(tmp_path: Path) -> Path:
    path = tmp_path / "text.txt"
    path.write_text("".join(f"sentence {number} on the river bank\n" for number in range(COUNT)))
    return path


def arguments(text: Path, output: Path) -> list[str]:
    return ["embed", str(text), "-m", str(TWO), "-o", str(output), "--layers", "top", "--batch-tokens", "128"]


def start(text: Path, output: Path, *options: str) -> "subprocess.Popen[str]":
    command = [sys.executable, "-c", SCRIPT, *arguments(text, output), *options]
    environment = {**os.environ, "WAIT_FOR": str(output.with_name("go"))}
    return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment)


def wait_for_parts(process: "subprocess.Popen[str]", output: Path, count: int) -> None:
    folder = Path(f"{output}.partial")
    while len(list(folder.glob("part-*"))) < count:
        assert process.poll() is None
        time.sleep(0.002)


def same(one: Path, other: Path) -> None:
    """The same vectors; archives that were joined of other parts are the same to the byte."""
    if one.suffix == ".npz":
        assert one.read_bytes() == other.read_bytes()
    for left, right in zip(read(one, "one layer", COUNT), read(other, "one layer", COUNT), strict=True):
        np.testing.assert_array_equal(left, right)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_kills_at_any_moment_end_in_the_file_of_an_unbroken_run(
    run: Callable[..., Run], tmp_path: Path, text: Path, suffix: str
) -> None:
    output, whole = tmp_path / f"out{suffix}", tmp_path / f"whole{suffix}"
    embed_corpus(load(TWO, batch_tokens=128), Corpus([text]), whole, layers="top")
    chance = random.Random(suffix)
    for parts in (1, 6):
        with start(text, output, "--resume") as process:
            wait_for_parts(process, output, parts)
            time.sleep(chance.uniform(0, 0.05))
            process.kill()
            process.communicate()
        assert process.returncode == -signal.SIGKILL
        assert not output.exists()
    resumed = run(*arguments(text, output), "--resume")
    assert resumed.code == 0
    assert re.search(r"continuing after [\d,]+ sentences", resumed.err)
    same(output, whole)
    assert {path.name for path in tmp_path.iterdir()} == {output.name, whole.name, text.name}


@pytest.mark.parametrize(
    ("suffix", "number"), [(".npz", signal.SIGINT), (".h5", signal.SIGTERM), (".parquet", signal.SIGINT)]
)
def test_a_signal_stores_what_is_done(
    run: Callable[..., Run], tmp_path: Path, text: Path, suffix: str, number: signal.Signals
) -> None:
    output = tmp_path / f"out{suffix}"
    with start(text, output) as process:
        wait_for_parts(process, output, 2)
        process.send_signal(number)
        (tmp_path / "go").touch()
        _, messages = process.communicate()
    assert process.returncode == 128 + number
    match = re.fullmatch(
        rf"polyseme: {re.escape(str(output))}: interrupted; ([\d,]+) sentences stored in "
        rf"{re.escape(str(output))}\.partial; continue with --resume\n",
        messages,
    )
    assert match is not None, messages
    assert not Path(f"{output}.lock").exists()
    stored = int(match[1].replace(",", ""))
    stops = [int(path.stem.split("-")[2]) for path in Path(f"{output}.partial").glob("*.bin")]
    assert max(stops) == stored
    resumed = run(*arguments(text, output), "--resume")
    assert resumed.code == 0
    assert f"continuing after {stored:,} sentences" in resumed.err
    assert len(read(output, "one layer", COUNT)) == COUNT


@pytest.mark.parametrize(("suffix", "resume"), [(".npz", False), (".h5", True), (".parquet", False)])
def test_of_two_processes_one_is_refused_and_the_other_is_complete(
    tmp_path: Path, text: Path, suffix: str, resume: bool
) -> None:
    """Both start at once; neither can end before the other has tried."""
    output, go = tmp_path / f"out{suffix}", tmp_path / "go"
    both = [start(text, output, *(["--resume"] if resume else [])) for _ in range(2)]
    while all(process.poll() is None for process in both):
        time.sleep(0.01)
    go.touch()
    messages = {process.pid: process.communicate()[1] for process in both}
    refused_one, complete = sorted(both, key=lambda process: -process.returncode)
    assert [refused_one.returncode, complete.returncode] == [2, 0], messages
    assert messages[refused_one.pid] == (
        f"polyseme: {output}: is being written by process {complete.pid}; wait until it is done, or give another "
        "name for the output\n"
    )
    assert len(read(output, "one layer", COUNT)) == COUNT
    assert {path.name for path in tmp_path.iterdir()} == {output.name, text.name, go.name}


@pytest.mark.parametrize("content", [b"", b'{"format": "polyseme-run", "ki', b'{"kind": 3}', b"[]", b"[" * 100_000])
def test_a_damaged_record_gets_one_line(run: Callable[..., Run], tmp_path: Path, text: Path, content: bytes) -> None:
    output = tmp_path / "out.npz"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(VectorWriter, "_finish", lambda _: 1 / 0)
        with pytest.raises(ZeroDivisionError):
            embed_corpus(load(TWO), Corpus([text]), output, layers="top")
    record = tmp_path / "out.npz.partial" / "run.json"
    record.write_bytes(content)
    done = run("embed", text, "-m", TWO, "-o", output, "--layers", "top", "--resume")
    refused(done, f"polyseme: {record}: ")
    refused(done, f"delete {output}.partial to begin again")


def test_json_progress_is_json(run: Callable[..., Run], tmp_path: Path, text: Path) -> None:
    done = run("embed", text, "-m", TWO, "-o", tmp_path / "out.npz", "--progress", "json", "--json", "--resume")
    events = [json.loads(line) for line in done.err.splitlines()]
    kinds = [event["event"] for event in events]
    assert kinds[:3] == ["note", "begin", "step"]
    assert kinds[-4:] == ["step", "begin", "result", "end"]
    assert events[-4]["figures"]["tokens"] == 6 * COUNT
    assert json.loads(done.out)["sentences"] == COUNT


def test_progress_none_says_nothing_and_an_unknown_kind_lists_the_choices(
    run: Callable[..., Run], tmp_path: Path, text: Path
) -> None:
    done = run("embed", text, "-m", TWO, "-o", tmp_path / "out.npz", "--progress", "none")
    assert (done.code, done.out, done.err) == (0, "", "")
    refused(run("embed", text, "-m", TWO, "-o", tmp_path / "no.npz", "--progress", "dots"), "'auto', 'bar', 'lines'")
