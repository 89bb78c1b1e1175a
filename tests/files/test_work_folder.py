"""A run that can be resumed keeps its work in a folder that says whose it is."""

import shutil
from pathlib import Path

import pytest

from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files import work_folder
from polyseme.files.whole import JSON
from polyseme.files.work_folder import RUN, WorkFolder, work_path

SETTINGS: dict[str, JSON] = {"model": "abc", "layers": "top", "text": [["a.txt", 10, 1], ["b.txt", 20, 2]]}


def opened(output: Path, *, resume: bool = False, **changed: JSON) -> WorkFolder:
    return WorkFolder(output, kind="embed", settings={**SETTINGS, **changed}, resume=resume)


def test_a_new_run_writes_down_what_it_is(tmp_path: Path) -> None:
    with opened(tmp_path / "out.h5") as work:
        assert work.path == tmp_path / "out.h5.partial"
        assert (work.path / RUN).is_file()
        assert not work.resumed
    assert not (tmp_path / "out.h5.lock").exists()


def test_an_interrupted_run_is_resumed_only_when_asked_for(tmp_path: Path) -> None:
    with opened(tmp_path / "out.h5") as work:
        (work.path / "part").write_text("done")
    with pytest.raises(InputError, match=r"out\.h5\.partial: holds the work of an interrupted run; continue it with"):
        opened(tmp_path / "out.h5")
    with opened(tmp_path / "out.h5", resume=True) as work:
        assert work.resumed
        assert (work.path / "part").read_text() == "done"


def test_other_settings_are_named(tmp_path: Path) -> None:
    opened(tmp_path / "out.h5").close()
    with pytest.raises(InputError, match=r'layers was "top" in the interrupted run and is "mean" here; resume with'):
        opened(tmp_path / "out.h5", resume=True, layers="mean")
    with pytest.raises(
        InputError, match=r'text was \["b.txt", 20, 2\] in the interrupted run and is \["b.txt", 21, 3\]'
    ):
        opened(tmp_path / "out.h5", resume=True, text=[["a.txt", 10, 1], ["b.txt", 21, 3]])
    with pytest.raises(InputError, match=r"pool was not set in the interrupted run and is \"mean\" here"):
        opened(tmp_path / "out.h5", resume=True, pool="mean")


def test_settings_that_may_differ_replace_the_stored_ones(tmp_path: Path) -> None:
    opened(tmp_path / "out").close()
    WorkFolder(
        tmp_path / "out",
        kind="embed",
        settings={**SETTINGS, "layers": "mean"},
        resume=True,
        may_differ={"layers"},
    ).close()
    assert work_folder.read_run(tmp_path / "out.partial", "embed").settings["layers"] == "mean"


def test_a_run_of_another_kind_is_not_resumed(tmp_path: Path) -> None:
    opened(tmp_path / "out").close()
    with pytest.raises(InputError, match=r"holds the work of an interrupted 'embed', not of 'index'"):
        WorkFolder(tmp_path / "out", kind="index", settings=SETTINGS, resume=True)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "cannot be read, empty or damaged"),
        (b'{"format": "polyseme-r', "cannot be read, empty or damaged"),
        (b"\xff\xfe", "cannot be read, empty or damaged"),
        (b"[" * 100_000, "cannot be read, empty or damaged"),
        (b"[]", "holds a list where a JSON object is expected"),
        (b"{}", "kind: is missing"),
        (b'{"kind": "embed", "settings": 3}', "settings: should be an object, got 3"),
    ],
)
def test_a_damaged_record_gets_one_line(tmp_path: Path, content: bytes, message: str) -> None:
    opened(tmp_path / "out").close()
    (tmp_path / "out.partial" / RUN).write_bytes(content)
    with pytest.raises(FormatError, match=message) as caught:
        opened(tmp_path / "out", resume=True)
    assert "\n" not in str(caught.value)
    assert "delete" in str(caught.value)
    assert not (tmp_path / "out.lock").exists()


def test_an_existing_output_is_refused_and_nothing_is_made(tmp_path: Path) -> None:
    (tmp_path / "out").write_text("before")
    with pytest.raises(InputError, match=r"out: exists already; give a new name"):
        opened(tmp_path / "out")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    WorkFolder(tmp_path / "out", kind="embed", settings=SETTINGS, resume=False, if_exists=None).close()


def test_what_is_installed_takes_the_name_of_the_output(tmp_path: Path) -> None:
    with opened(tmp_path / "out") as work:
        (work.path / "joined").write_text("whole")
        work.install(work.path / "joined")
    assert [path.name for path in tmp_path.iterdir()] == ["out"]
    assert (tmp_path / "out").read_text() == "whole"


@pytest.mark.parametrize("folder", [False, True])
def test_a_run_that_was_killed_after_its_last_rename_is_complete(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, folder: bool
) -> None:
    with opened(tmp_path / "out") as work, monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "remove", lambda self: None)
        if folder:
            (work.path / "joined").mkdir()
        else:
            (work.path / "joined").write_text("whole")
        work.install(work.path / "joined")
    assert (tmp_path / "out.partial").exists()
    with opened(tmp_path / "out", resume=True) as work:
        assert work.complete
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def stop_before_the_rename(output: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A run that was killed when its output was about to get its name."""
    with opened(output) as work, monkeypatch.context() as patch:
        patch.setattr(work_folder, "rename", lambda source, target: None)
        patch.setattr(WorkFolder, "remove", lambda self: None)
        (work.path / "joined").write_text("whole")
        work.install(work.path / "joined")


def test_another_file_under_the_name_is_not_taken_for_the_output(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_the_rename(tmp_path / "out", monkeypatch)
    (tmp_path / "out").write_text("somebody else's")
    with pytest.raises(InputError, match="exists already"):
        opened(tmp_path / "out", resume=True)
    assert (tmp_path / "out.partial" / "joined").exists()


def test_two_runs_on_one_output_are_refused(tmp_path: Path) -> None:
    with opened(tmp_path / "out"), pytest.raises(OutputError, match="is being written by process"):
        opened(tmp_path / "out", resume=True)


def test_a_folder_of_which_only_the_name_was_made_is_begun_again(tmp_path: Path) -> None:
    work_path(tmp_path / "out").mkdir()
    with opened(tmp_path / "out") as work:
        assert not work.resumed


def test_a_marker_of_an_installation_that_did_not_happen_is_not_believed_later(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    stop_before_the_rename(tmp_path / "out", monkeypatch)
    opened(tmp_path / "out", resume=True).close()
    # The file gets the name now, as if another one had been given its number by the system.
    (tmp_path / "out.partial" / "joined").rename(tmp_path / "out")
    with pytest.raises(InputError, match="exists already"):
        opened(tmp_path / "out", resume=True)


def test_a_run_that_is_part_of_the_output_already_is_complete(tmp_path: Path) -> None:
    def again(*, resume: bool, finished: str | None) -> WorkFolder:
        return WorkFolder(
            tmp_path / "out",
            kind="embed",
            settings=SETTINGS,
            resume=resume,
            if_exists=None,
            finished=lambda path: finished,
        )

    this = work_folder.run_identity("embed", SETTINGS)
    for resume in (False, True):
        opened(tmp_path / "out").close()
        with again(resume=resume, finished=this) as work:
            assert work.identity == this
            assert work.complete
            assert not work.path.exists()
        opened(tmp_path / "out").close()
        with again(resume=resume, finished="another run") as work:  # its folder is of no use, and a new run begins
            assert not work.complete
            assert not work.resumed
            assert (work.path / RUN).exists()
        shutil.rmtree(work.path)
    opened(tmp_path / "out").close()
    with pytest.raises(InputError, match="holds the work of an interrupted run"):
        again(resume=False, finished=None)
    assert this != work_folder.run_identity("index", SETTINGS) != work_folder.run_identity("index", {})


def test_a_resumed_run_removes_half_written_files_of_its_output(tmp_path: Path) -> None:
    output = tmp_path / "model"
    with WorkFolder(output, kind="train", settings={}, resume=False, if_exists=None):
        pass
    left = [output / ".weights.0123abcd.tmp", output / "inner" / ".weights.0123abcd.tmp"]
    for path in left:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch()
    (output / "weights").touch()
    with WorkFolder(output, kind="train", settings={}, resume=True, if_exists=None) as work:
        assert work.resumed
    assert not any(path.exists() for path in left)
    assert (output / "weights").exists()
