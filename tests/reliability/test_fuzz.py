"""A small fixed part of ``make fuzz``: the same cases each time, and what the fuzzer itself promises."""

import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from reliability.damage.folder import damage_content, damage_folder
from reliability.ledger import Batch, next_case, read, record, table, take_failed

ROOT = Path(__file__).parents[2]
linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured as Linux does")
# One of each group, so that the whole takes seconds; make fuzz tries all of them, for as long as one likes.
PARTS = (
    *("AllenNLP", "TensorFlow", "characters", "mixes", "state dict", "combination", "word vectors", "zip", "embed, h5"),
    *("index, int8", "interrupted append", "interrupted cove", "task folder, tag", "task data", "text", "tokenisers"),
)


@linux
def test_a_fixed_part_of_the_cases(tmp_path: Path) -> None:
    wanted = [f"--target={name}" for name in PARTS]
    command = [sys.executable, "-m", "reliability.fuzz", "--cases=5", "--minutes=9", "--seed=3", *wanted]
    done = subprocess.run(
        [*command, f"--folder={tmp_path}"], cwd=ROOT, capture_output=True, text=True, check=False, timeout=590
    )
    assert done.returncode == 0, done.stdout + done.stderr
    total = done.stdout.splitlines()[-1].split("|")
    assert total[1].strip() == "all"
    tried, refused, accepted = (int(number.replace(",", "")) for number in total[2:5])
    assert tried == refused + accepted > 150
    assert refused > 50
    assert accepted > 20


CASES = """
import ctypes, sys
from pathlib import Path
from polyseme.errors import InputError
from reliability import forked
from reliability.target import Target

def attempt(folder):
    match (folder / "what").read_text():
        case "refused":
            raise InputError("a.txt: one line")
        case "two lines":
            raise InputError("a.txt:\\ntwo lines")
        case "key":
            raise KeyError("x")
        case "memory":
            return bytearray(b"x") * (200 << 20)
        case "more than there is":
            return bytearray(40 << 30)
        case "address":
            return ctypes.string_at(0)
        case "loop":
            while True:
                pass

forked.CPU_SECONDS = 1
folder = Path(sys.argv[1])
(folder / "good").mkdir()
for what in sys.argv[2:]:
    target = Target("made", print, attempt, lambda folder, draw: (folder / "what").write_text(what))
    print(forked.run_case(target, folder / "good", folder / "case", 0, 0).verdict)
"""


@linux
def test_every_verdict(tmp_path: Path) -> None:
    expected = {
        "refused": "refused",
        "nothing": "accepted",
        "two lines": "traceback",
        "key": "traceback",
        "memory": "over-memory",
        "more than there is": "over-memory",
        "address": "crash",
        "loop": "hang",
    }
    command = [sys.executable, "-c", CASES, str(tmp_path), *expected]  # a process without threads
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True, timeout=590)
    assert dict(zip(expected, done.stdout.splitlines(), strict=True)) == expected


def test_a_case_is_the_same_again(tmp_path: Path) -> None:
    made = []
    for name in ("one", "two"):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "a.json").write_text('{"a": [1, 2, {"b": "c"}], "d": null}')
        (folder / "b.txt").write_text("one two\nthree\n")
        for number in range(20):
            damage_folder(folder, random.Random(number))
        made.append({path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()})
    assert made[0] == made[1]


def test_damage_changes_what_is_there() -> None:
    text = b"the river bank\nwas steep\n" * 4
    changed = sum(damage_content("a.txt", text, random.Random(number)) != text for number in range(100))
    assert changed > 90


def test_batches_are_counted_and_failed_ones_taken_back(tmp_path: Path) -> None:
    path = tmp_path / "cases.jsonl"
    for first, counts in ((0, {"refused": 50}), (50, {"refused": 49, "traceback": 1})):
        record(path, Batch(target="zip", seed=1, first=first, counts=Counter(counts), largest=3 << 20))
    assert next_case(path, "zip", 1) == 100
    assert next_case(path, "zip", 2) == 0
    assert table(read(path)).splitlines()[-1] == "| all | 100 | 99 | 0 | 1 | 0 | 0 | 0 | 3 MiB |"
    assert [batch.first for batch in take_failed(path, {"zip"}, 1)] == [50]
    assert next_case(path, "zip", 1) == 50
