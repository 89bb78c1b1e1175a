"""One process at a time writes an output."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from polyseme.errors import InputError, OutputError
from polyseme.files.lock import locked

HOLD = """
import sys, time
from pathlib import Path
from polyseme.files.lock import locked
with locked(Path(sys.argv[1])):
    print("held", flush=True)
    time.sleep(60)
"""


def holding(output: Path) -> "subprocess.Popen[str]":
    process = subprocess.Popen([sys.executable, "-c", HOLD, str(output)], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    assert process.stdout.readline() == "held\n"
    return process


def test_a_second_process_is_refused_and_the_first_is_named(tmp_path: Path) -> None:
    output = tmp_path / "out.h5"
    process = holding(output)
    try:
        with (
            pytest.raises(OutputError, match=rf"out\.h5: is being written by process {process.pid}; wait until"),
            locked(output),
        ):
            pass
        with locked(tmp_path / "out.npz"):  # another output
            pass
    finally:
        process.kill()
        process.communicate()


def test_the_lock_of_a_killed_process_locks_nothing(tmp_path: Path) -> None:
    output = tmp_path / "out.h5"
    process = holding(output)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate()
    assert (tmp_path / "out.h5.lock").exists()
    with locked(output):
        pass
    assert not (tmp_path / "out.h5.lock").exists()


def test_a_lock_is_released_and_taken_again(tmp_path: Path) -> None:
    for _ in range(3):
        with locked(tmp_path / "out"):
            assert (tmp_path / "out.lock").exists()
            with pytest.raises(OutputError, match=f"process {os.getpid()}"), locked(tmp_path / "out"):
                pass
        assert not (tmp_path / "out.lock").exists()


def test_a_folder_that_does_not_exist_is_named(tmp_path: Path) -> None:
    with (
        pytest.raises(InputError, match=r"no such folder to write out into; create it first"),
        locked(tmp_path / "no" / "out"),
    ):
        pass


def test_of_many_processes_at_once_one_holds_the_lock(tmp_path: Path) -> None:
    """Processes that open, lock and remove the file in turn never hold it together."""
    script = """
import sys, time
from pathlib import Path
from polyseme.errors import OutputError
from polyseme.files.lock import locked
folder = Path(sys.argv[1])
got = 0
while got < 30:
    try:
        with locked(folder / "out"):
            (folder / "inside").mkdir()  # fails if another is inside
            (folder / "inside").rmdir()
            got += 1
    except OutputError:
        time.sleep(0.0005)
"""
    processes = [subprocess.Popen([sys.executable, "-c", script, str(tmp_path)]) for _ in range(4)]
    assert [process.wait() for process in processes] == [0] * 4


def test_a_process_that_has_just_taken_the_lock_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The name of the holder is written a moment after the lock is taken."""
    output = tmp_path / "out"
    with locked(output):
        signed = (tmp_path / "out.lock").read_bytes()
        (tmp_path / "out.lock").write_bytes(b"")
        monkeypatch.setattr(time, "sleep", lambda _: (tmp_path / "out.lock").write_bytes(signed))
        with pytest.raises(OutputError, match=f"process {os.getpid()}"), locked(output):
            pass


FULL = """
import resource, signal, sys
from pathlib import Path
from polyseme.errors import OutputError
from polyseme.files.lock import locked
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))
try:
    with locked(Path(sys.argv[1])):
        raise OutputError("no room")
except OutputError as error:
    print(error)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="the size of files is limited as Unix does")
def test_a_lock_on_a_full_disk_hides_no_other_error(tmp_path: Path) -> None:
    command = [sys.executable, "-c", FULL, str(tmp_path / "out.h5")]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "no room\n"
    assert not any(tmp_path.iterdir())
