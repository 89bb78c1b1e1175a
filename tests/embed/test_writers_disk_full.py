"""A full disk, mostly made with the system's limit on the size of a file, loses nothing that was complete."""

import contextlib
import errno
import os
import resource
from collections.abc import Iterator
from pathlib import Path

import pytest
from writer_cases import SETTINGS, SUFFIXES, read, record, same

from polyseme.embed.writers import VectorWriter, open_writer
from polyseme.errors import OutputError

LARGE = 4000  # vectors of this many dimensions, in a part of their own, are past the limit


@contextlib.contextmanager
def file_size_limit(size: int) -> Iterator[None]:
    """Let writes past `size` bytes fail with EFBIG; Python ignores the signal that comes with it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def start(path: Path, *, part_bytes: int, resume: bool = False) -> VectorWriter:
    return open_writer(path, settings=SETTINGS, part_bytes=part_bytes, resume=resume)


def write(path: Path, count: int, *, limit: int, part_bytes: int) -> None:
    with file_size_limit(limit), start(path, part_bytes=part_bytes) as writer:
        for number in range(count):
            writer.write(record(number, width=LARGE))


def finish(path: Path, *, expected_done: int, count: int, width: int) -> None:
    with start(path, part_bytes=1, resume=True) as writer:
        assert writer.done == expected_done
        for number in range(writer.done, count):
            writer.write(record(number, width=width))
    same(read(path, "all layers", count), "all layers", count, width=width)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_part_that_does_not_fit(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    # Sentences 1 and 2 have one and two tokens: 48 and 96 kB; 3 has 144 kB.
    with pytest.raises(OutputError) as caught:
        write(path, 4, limit=200_000, part_bytes=1)
    assert str(caught.value) == (
        f"{path}: File too large after 3 sentences; they are safe in {path}.partial: "
        "free some space and run again with --resume"
    )
    names = sorted(each.name for each in (tmp_path / f"out{suffix}.partial").iterdir())
    assert names == [f"growing{suffix}", *(f"part-{n:08}-{n + 1:08}.bin" for n in range(3)), "run.json"]
    growing = tmp_path / f"out{suffix}.partial" / f"growing{suffix}"
    assert growing.stat().st_size < 160_000, "the part that did not fit takes no room"
    finish(path, expected_done=3, count=6, width=LARGE)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_first_part_that_does_not_fit_leaves_nothing(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    with pytest.raises(OutputError) as caught:
        write(path, 6, limit=130_000, part_bytes=1 << 30)
    assert str(caught.value) == f"{path}: File too large; nothing was stored: free some space and run again"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_that_fit_but_not_the_end_of_the_file(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out{suffix}"
    writer = start(path, part_bytes=1)
    for number in range(9):
        writer.write(record(number, width=LARGE))
    size = Path(f"{path}.partial", f"growing{suffix}").stat().st_size
    with file_size_limit(size + 10), pytest.raises(OutputError) as caught:
        writer.close()
    assert str(caught.value) == (
        f"{path}: File too large at the end of the file; all 9 sentences are safe in {path}.partial: "
        "free some space and run again with --resume"
    )
    assert not path.exists()
    assert not list(Path(f"{path}.partial").glob(".*.tmp"))
    finish(path, expected_done=9, count=9, width=LARGE)


@pytest.mark.parametrize("cause", [errno.ENOSPC, errno.EDQUOT])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_a_disk_that_is_full_only_when_flushed(
    tmp_path: Path, suffix: str, cause: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out{suffix}"

    def fsync(descriptor: int) -> None:
        raise OSError(cause, os.strerror(cause))

    with start(path, part_bytes=1) as writer:
        for number in range(5):
            writer.write(record(number))
        with monkeypatch.context() as patch:
            patch.setattr(os, "fsync", fsync)
            with pytest.raises(OutputError) as caught:
                writer.write(record(5))
        with pytest.raises(Exception, match="the writer is closed"):  # a gap must not follow
            writer.write(record(6))
    assert str(caught.value) == (
        f"{path}: {os.strerror(cause)} after 5 sentences; they are safe in {path}.partial: "
        "free some space and run again with --resume"
    )
    assert not path.exists()
    finish(path, expected_done=5, count=8, width=8)
