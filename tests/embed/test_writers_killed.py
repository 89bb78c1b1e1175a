"""kill -9 at any moment, again and again: the resumed runs end in the file of an unbroken run."""

import random
import subprocess
import sys
import time
from pathlib import Path

import pytest
from writer_cases import SUFFIXES, read, same

RUN = """
import sys
from writer_cases import SETTINGS, record
from polyseme.embed.writers import open_writer

writer = open_writer(sys.argv[1], settings=SETTINGS, resume=True, part_bytes=20_000)
print(writer.done, flush=True)
with writer:
    for number in range(writer.done, 300):
        writer.write(record(number, width=300))
"""


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_runs_that_are_killed_lose_nothing_stored(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    chance = random.Random(suffix)
    paths = ":".join(sys.path)
    done, killed = 0, 0
    for attempt in range(9):
        command = [sys.executable, "-c", RUN, str(path)]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env={"PYTHONPATH": paths}) as process:
            assert process.stdout is not None
            stored = int(process.stdout.readline())
            assert stored >= done, "a part was lost"
            done = stored
            if attempt < 8:
                time.sleep(chance.uniform(0, 0.06))
                process.kill()
            process.wait()
        killed += process.returncode == -9
        assert process.returncode in (0, -9)
        if path.exists():  # from the first moment on it must be whole
            break
    assert killed > 0
    same(read(path, "all layers", 300), "all layers", 300, width=300)
