"""What stays in OUT.partial after an interruption, and how a run goes on from there."""

import json
import os
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from writer_cases import KINDS, SETTINGS, SUFFIXES, read, record, same

from polyseme.embed.writers import Record, VectorWriter, open_writer
from polyseme.errors import FormatError, InputError, OutputError
from polyseme.files.whole import JSON
from polyseme.files.work_folder import WorkFolder


class StopError(Exception):
    """Something that goes wrong while embedding."""


def start(path: Path, *, resume: bool = False, part_bytes: int = 2000) -> VectorWriter:
    return open_writer(path, settings=SETTINGS, resume=resume, part_bytes=part_bytes)


def write_until_stopped(
    writer: VectorWriter, count: int, error: type[BaseException] = StopError, *, kind: str = "all layers"
) -> None:
    def run() -> None:
        with writer:
            for number in range(writer.done, count):
                writer.write(record(number, kind))
            raise error

    with pytest.raises(error):
        run()


def finish(path: Path, *, expected_done: int, count: int = 30) -> None:
    with start(path, resume=True) as writer:
        assert writer.done == expected_done
        for number in range(writer.done, count):
            writer.write(record(number))
    same(read(path, "all layers", count), "all layers", count)
    assert [each.name for each in path.parent.iterdir()] == [path.name]


@pytest.mark.parametrize("error", [StopError, KeyboardInterrupt, SystemExit])
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupted_run_keeps_every_sentence_and_resumes(
    tmp_path: Path, suffix: str, error: type[BaseException]
) -> None:
    path = tmp_path / f"out{suffix}"
    write_until_stopped(start(path), 17, error)
    assert not path.exists()
    names = sorted(each.name for each in (tmp_path / f"out{suffix}.partial").iterdir())
    assert names[0] == f"growing{suffix}"
    assert names[1].startswith("part-00000000-")
    assert names[-2].startswith("rest-")
    assert names[-2].endswith("-00000017.bin")
    assert names[-1] == "run.json"
    finish(path, expected_done=17)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupt_while_a_part_is_written_loses_nothing(
    tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / f"out{suffix}"
    real, interrupts = os.fsync, [KeyboardInterrupt()]

    def fsync(descriptor: int) -> None:
        parts, temporaries = (list(tmp_path.glob(f"*.partial/{name}")) for name in ("part-*", ".part-*.tmp"))
        if len(parts) == 2 and temporaries and interrupts:
            raise interrupts.pop()
        real(descriptor)

    monkeypatch.setattr(os, "fsync", fsync)
    write_until_stopped(start(path), 30, KeyboardInterrupt)
    assert not interrupts
    # Two parts stood; what was to be the third was stored by itself on the way out.
    names = sorted(each.stem for each in tmp_path.glob("*.partial/*.bin"))
    assert [name.split("-")[0] for name in names] == ["part", "part", "rest"]
    finish(path, expected_done=int(names[-1].split("-")[2]))


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupt_at_the_end_loses_nothing(tmp_path: Path, suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / f"out{suffix}"
    writer = start(path)
    for number in range(30):
        writer.write(record(number))

    def install(self: WorkFolder, source: Path) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(WorkFolder, "install", install)
        with pytest.raises(KeyboardInterrupt):
            writer.close()
    assert not path.exists()
    writer.close()
    assert not path.exists(), "closing again does nothing"
    finish(path, expected_done=30)


def test_a_run_stopped_before_its_first_sentence_leaves_nothing(tmp_path: Path) -> None:
    write_until_stopped(start(tmp_path / "out.npz"), 0)
    assert list(tmp_path.iterdir()) == []


def test_closing_twice_is_closing_once(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    with start(path) as writer:
        writer.write(record(3))
        assert not path.exists()
        writer.close()
        stamp = path.stat().st_mtime_ns
        writer.close()
    assert path.stat().st_mtime_ns == stamp
    with pytest.raises(InputError, match="the writer is closed"):
        writer.write(record(4))


def test_resume_with_nothing_to_resume_starts_at_the_beginning(tmp_path: Path) -> None:
    finish(tmp_path / "out.h5", expected_done=0)


def test_a_folder_without_its_record_starts_at_the_beginning(tmp_path: Path) -> None:
    (tmp_path / "out.h5.partial").mkdir()
    (tmp_path / "out.h5.partial" / ".run.json.0123abcd.tmp").write_text('{"mod')
    finish(tmp_path / "out.h5", expected_done=0)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_temporaries_and_parts_after_a_gap_are_dropped(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write_until_stopped(start(path), 20)
    folder = tmp_path / f"out{suffix}.partial"
    parts = sorted(folder.glob("part-*"))
    (folder / ".part-00000020-00000030.bin.0123abcd.tmp").write_bytes(b"half a part")
    with (folder / f"growing{suffix}").open("ab") as growing:
        growing.write(b"half a part")
    parts[2].unlink()
    writer = start(path, resume=True)
    done = int(parts[1].stem.split("-")[2])
    assert writer.done == done
    names = sorted(each.name for each in folder.iterdir())
    assert names == [f"growing{suffix}", *(part.name for part in parts[:2]), "run.json"]
    write_until_stopped(writer, done)
    finish(path, expected_done=done)


@pytest.mark.parametrize("suffix", SUFFIXES)
def test_parts_that_the_file_does_not_reach_are_computed_again(tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"out{suffix}"
    write_until_stopped(start(path), 20)
    growing = tmp_path / f"out{suffix}.partial" / f"growing{suffix}"
    os.truncate(growing, growing.stat().st_size - 1)
    parts = sorted(growing.parent.glob("part-*"))
    finish(path, expected_done=int(parts[-2].stem.split("-")[2]))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("suffix", SUFFIXES)
def test_an_interrupted_run_makes_the_same_bytes(tmp_path: Path, suffix: str, kind: str) -> None:
    whole, broken = tmp_path / f"whole{suffix}", tmp_path / f"broken{suffix}"
    with start(whole) as writer:
        for number in range(60):
            writer.write(record(number, kind))
    for count in (2, 5, 17, 18, 40, 60):
        write_until_stopped(start(broken, resume=True), count, kind=kind)
    with start(broken, resume=True) as writer:
        assert writer.done == 60
    assert broken.read_bytes() == whole.read_bytes()


def test_an_existing_file_is_replaced_only_on_request_and_only_at_the_end(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    path.write_bytes(b"old")
    with pytest.raises(InputError) as caught:
        start(path)
    assert str(caught.value) == f"{path}: exists already; give another name, or replace it with --overwrite"
    with open_writer(path, settings={}, overwrite=True) as writer:
        writer.write(record(1))
        assert path.read_bytes() == b"old"
    assert len(read(path, "all layers", 1)) == 1
    write_until_stopped(open_writer(path, settings={}, overwrite=True), 3)
    assert read(path, "all layers", 1)[0].shape == (3, 1, 8), "the run that failed has not touched it"


def test_an_unfinished_run_is_not_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    write_until_stopped(start(path), 5)
    for overwrite in (False, True):
        with pytest.raises(InputError) as caught:
            open_writer(path, settings=SETTINGS, overwrite=overwrite)
        assert str(caught.value) == (
            f"{path}.partial: holds the work of an interrupted run; continue it with --resume, or delete this folder"
        )
    finish(path, expected_done=5)


CHANGES: list[tuple[Callable[[dict[str, object]], object], str]] = [
    (lambda settings: settings.update(model="large"), 'model was "tiny" in the interrupted run and is "large" here'),
    (lambda settings: settings.pop("layers"), 'layers was ["top"] in the interrupted run and is not set here'),
    (lambda settings: settings.update(pool="mean"), 'pool was not set in the interrupted run and is "mean" here'),
    (
        lambda settings: settings.update(dtype="float16"),
        'dtype was "float32" in the interrupted run and is "float16" here',
    ),
]


@pytest.mark.parametrize(("change", "message"), CHANGES)
def test_other_settings_are_refused_by_name(
    tmp_path: Path, change: Callable[[dict[str, object]], object], message: str
) -> None:
    path = tmp_path / "out.npz"
    settings: dict[str, object] = {
        "model": "tiny",
        "layers": ("top",),
        "options": {"a": 1, "b": None},
        "dtype": "float32",
    }

    def opened(options: dict[str, object]) -> VectorWriter:
        dtype = options.pop("dtype")
        return open_writer(path, settings=options, dtype=dtype, resume=True)  # type: ignore[arg-type]

    write_until_stopped(opened(dict(settings)), 2)
    changed = dict(settings)
    change(changed)
    before = {each.name: each.read_bytes() for each in Path(f"{path}.partial").iterdir()}
    with pytest.raises(InputError) as caught:
        opened(changed)
    assert str(caught.value) == (
        f"{path}.partial: {message}; resume with the settings of the interrupted run, "
        "or delete this folder to begin again"
    )
    assert before == {each.name: each.read_bytes() for each in Path(f"{path}.partial").iterdir()}
    with opened(settings | {"options": {"b": None, "a": 1}}) as writer:
        assert writer.done == 2


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "missing"),
        ("", "cannot be read, empty or damaged"),
        ('{"format": "polyseme-run", "kind"', "cannot be read, empty or damaged"),
        ("[1, 2]", "holds a list where a JSON object is expected"),
        ('{"kind": "embed", "settings": "all"}', "settings: should be an object, got 'all'"),
        ('{"kind": 3, "settings": {}}', "kind: should be text, got 3"),
        ("[" * 100_000, "cannot be read, empty or damaged"),
        ('{"kind": "embed", "settings": {"a":' + "[" * 100_000, "cannot be read, empty or damaged"),
    ],
)
def test_parts_without_a_readable_record_are_refused(tmp_path: Path, content: str | None, message: str) -> None:
    path = tmp_path / "out.npz"
    write_until_stopped(start(path), 5)
    stored = tmp_path / "out.npz.partial" / "run.json"
    stored.unlink() if content is None else stored.write_text(content)
    with pytest.raises(FormatError) as caught:
        start(path, resume=True)
    assert str(caught.value).startswith(f"{stored}: {message}")
    assert str(caught.value).endswith(f"delete {path}.partial to begin again")
    assert "\n" not in str(caught.value)


def test_a_name_that_is_not_unicode_is_kept(tmp_path: Path) -> None:
    settings: dict[str, JSON] = {"text": [os.fsdecode(b"caf\xe9.txt"), "漢字.txt"]}
    write_until_stopped(open_writer(tmp_path / "out.npz", settings=settings), 2)
    with open_writer(tmp_path / "out.npz", settings=settings, resume=True) as writer:
        assert writer.done == 2


def test_settings_are_stored_readably(tmp_path: Path) -> None:
    with open_writer(tmp_path / "out.npz", settings={"input": "语料.txt"}, dtype="float16"):
        text = (tmp_path / "out.npz.partial" / "run.json").read_text("utf-8")
    assert json.loads(text)["settings"] == {"input": "语料.txt", "dtype": "float16"}
    assert "语料.txt" in text


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    path = tmp_path / "nowhere" / "out.npz"
    with pytest.raises(InputError) as caught:
        start(path)
    assert str(caught.value) == f"{path.parent}: no such folder to write out.npz into; create it first"


def test_a_folder_is_not_a_file(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    path.mkdir()
    with pytest.raises(InputError, match="is a folder, expected the name of a file"):
        open_writer(path, settings={}, overwrite=True)


def test_a_folder_that_cannot_be_written_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def mkdir(self: Path, **options: object) -> None:
        raise PermissionError(13, "Permission denied", str(self))

    monkeypatch.setattr(Path, "mkdir", mkdir)
    path = tmp_path / "out.npz"
    with pytest.raises(OutputError) as caught:
        start(path)
    assert str(caught.value) == f"{path}.partial: cannot be created (Permission denied); nothing was stored"


def test_what_is_buffered_is_bounded_for_tiny_sentences(tmp_path: Path) -> None:
    with open_writer(tmp_path / "out.npz", settings={}, part_bytes=100_000) as writer:
        for _ in range(500):
            writer.write(Record([], np.zeros((0, 4))))
        assert len(list((tmp_path / "out.npz.partial").glob("part-*"))) == 2


def test_what_is_buffered_is_bounded_for_long_tokens(tmp_path: Path) -> None:
    with start(tmp_path / "out.npz") as writer:
        writer.write(Record(["x" * 3000], np.ones((1, 2), np.float32)))
        assert len(list((tmp_path / "out.npz.partial").glob("part-*"))) == 1


def test_blank_sentences_alone_are_not_kept(tmp_path: Path) -> None:
    write_until_stopped(start(tmp_path / "out.npz"), 1)
    assert list(tmp_path.iterdir()) == []


def test_of_many_files_the_one_that_changed_is_named(tmp_path: Path) -> None:
    out = tmp_path / "out.npz"
    files: list[JSON] = [[f"corpus/file-{number}.txt", number] for number in range(300)]
    write_until_stopped(open_writer(out, settings={"text": files}), 2)
    changed: list[JSON] = [*files[:200], ["corpus/file-200.txt", 7], *files[201:]]
    with pytest.raises(InputError) as caught:
        open_writer(out, settings={"text": changed}, resume=True)
    assert 'text was ["corpus/file-200.txt", 200] in the interrupted run and is ["corpus/file-200.txt", 7] here' in str(
        caught.value
    )


def test_a_record_that_cannot_be_read_gets_one_line(tmp_path: Path) -> None:
    path = tmp_path / "out.npz"
    write_until_stopped(start(path), 3)
    (stored,) = Path(f"{path}.partial").glob("*.bin")
    stored.unlink()
    stored.symlink_to(stored)
    with pytest.raises(OutputError) as caught:
        start(path, resume=True)
    assert str(caught.value).startswith(f"{path}.partial: cannot be read (")
    assert str(caught.value).endswith("; delete it to begin again")
