"""A run that is killed at any step, and resumed, leaves the index that an uninterrupted run makes."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

SCRIPT = """
import sys
sys.path.insert(0, sys.argv[1])
from killing import Bench, Path, every_step, random_moments
bench = Bench(Path(sys.argv[2]))
append = sys.argv[3] == "append"
for first, resume in ((3, True), (9, False)):  # every step takes minutes; killing.py does it by hand
    assert every_step(bench, append=append, resume=resume, first=first, stride=13) >= 3
assert sum(random_moments(bench, 3, append=append).values()) == 3
print("done")
"""


@pytest.mark.skipif(not hasattr(os, "fork"), reason="the system cannot fork")
@pytest.mark.parametrize("what", ["build", "append"])
def test_killed_and_resumed(what: str, tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", SCRIPT, Path(__file__).parent, tmp_path / "bench", what],
        env={**os.environ, "OMP_NUM_THREADS": "1"},  # a process that was forked has no other threads
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.stdout == "done\n", done.stderr
