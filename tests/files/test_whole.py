"""Files and folders are whole or absent."""

import errno
import os
import stat
from pathlib import Path

import pytest

from polyseme.errors import InputError, OutputError
from polyseme.files import whole
from polyseme.files.checksum import crc32, digest
from polyseme.files.whole import remove_temporaries, temporary_path, whole_file, whole_folder, write_json, write_text


def names(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_file_appears_when_the_block_ends(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    with whole_file(target) as temporary:
        temporary.write_text("whole")
        assert not target.exists()
    assert target.read_text() == "whole"
    assert names(tmp_path) == ["out.txt"]


def test_an_error_leaves_the_file_of_before(tmp_path: Path) -> None:
    target = tmp_path / "out.txt"
    target.write_text("before")

    def fail() -> None:
        with whole_file(target) as temporary:
            temporary.write_text("half")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        fail()
    assert target.read_text() == "before"
    assert names(tmp_path) == ["out.txt"]


def test_a_file_is_flushed_before_it_is_renamed_and_its_folder_after(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events: list[str] = []
    monkeypatch.setattr(os, "fsync", lambda number: events.append(str(Path(f"/proc/self/fd/{number}").readlink())))
    replace = Path.replace

    def renamed(self: Path, target: Path) -> Path:
        events.append("rename")
        return replace(self, target)

    monkeypatch.setattr(Path, "replace", renamed)
    write_text(tmp_path / "out.txt", "text")
    assert events[0].endswith(whole.TEMPORARY)
    assert events[1:] == ["rename", str(tmp_path)]


def test_permissions_are_those_of_any_new_file(tmp_path: Path) -> None:
    (tmp_path / "plain").write_text("")
    write_text(tmp_path / "out.txt", "text")
    with whole_folder(tmp_path / "folder"):
        pass
    (tmp_path / "plain folder").mkdir()
    for ours, plain in (("out.txt", "plain"), ("folder", "plain folder")):
        assert stat.S_IMODE((tmp_path / ours).stat().st_mode) == stat.S_IMODE((tmp_path / plain).stat().st_mode)


def test_json_reads_back_as_it_was_also_names_that_are_not_unicode(tmp_path: Path) -> None:
    import json

    value = {"name": "caf\udce9", "word": "银行", "numbers": [1, 2.5, None]}
    write_json(tmp_path / "a.json", value)
    assert json.loads((tmp_path / "a.json").read_text(encoding="utf-8")) == value
    assert "银行" in (tmp_path / "a.json").read_text(encoding="utf-8")


def test_a_folder_appears_when_it_is_filled(tmp_path: Path) -> None:
    with whole_folder(tmp_path / "model") as temporary:
        (temporary / "config.json").write_text("{}")
        assert not (tmp_path / "model").exists()
    assert names(tmp_path / "model") == ["config.json"]
    assert names(tmp_path) == ["model"]


def test_a_folder_that_exists_or_has_no_place_is_refused(tmp_path: Path) -> None:
    (tmp_path / "model").mkdir()
    with (
        pytest.raises(InputError, match=r"model: exists already; give the name of a new folder"),
        whole_folder(tmp_path / "model"),
    ):
        pass
    with (
        pytest.raises(InputError, match=r"no such folder to write model into"),
        whole_folder(tmp_path / "no" / "model"),
    ):
        pass
    with pytest.raises(InputError, match=r"exists already"), whole_folder(Path()):
        pass


def test_a_full_disk_leaves_no_folder(tmp_path: Path) -> None:
    def fail() -> None:
        with whole_folder(tmp_path / "model") as temporary:
            (temporary / "half").write_text("half")
            raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OutputError, match=r"model: could not be written \(No space left on device\); nothing was left"):
        fail()
    assert names(tmp_path) == []


def test_temporaries_of_one_output_are_told_from_those_of_another(tmp_path: Path) -> None:
    mine, other, work = (temporary_path(tmp_path / name) for name in ("out", "out.h5", "[odd]"))
    for path in (mine, other):
        path.write_text("half")
    work.mkdir()
    remove_temporaries(tmp_path, of="out")
    assert names(tmp_path) == sorted([other.name, work.name])
    remove_temporaries(tmp_path, of="[odd]")
    assert names(tmp_path) == [other.name]
    (tmp_path / "notes.tmp").write_text("a file of the user's")
    remove_temporaries(tmp_path)
    assert names(tmp_path) == ["notes.tmp"]


def test_checksums(tmp_path: Path) -> None:
    path = tmp_path / "check"
    path.write_bytes(b"123456789")
    assert crc32(path) == 0xCBF43926  # the check value of CRC-32 in every table of checksums
    assert digest([b"a", b"b"]) != digest([b"a", b"c"])
    assert len(digest([])) == 16
