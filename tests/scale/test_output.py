"""The folder of parts, here and on another file system, and the options and messages of the command."""

import json
import subprocess
import sys
from pathlib import Path

import pytest
from conftest import Command, refused

from polyseme.embed.vectors_record import MANIFEST, VectorsManifest, VectorsRecord
from polyseme.errors import InputError, OutputError
from polyseme.files.location import Location
from polyseme.scale.output import open_output

MADE = VectorsRecord(
    model="0", model_path="", precision="float32", source_layers=3, layers="mean", pool=None, dtype="float32", dim=4,
    stateful=False, tokenize=None, dictionary=None,
)  # fmt: skip
EMPTY = VectorsManifest(made_with=MADE, sentences=0, tokens=0, instruction_sets={}, parts=[])


@pytest.fixture(params=["here", "elsewhere"])
def output(request: pytest.FixtureRequest, tmp_path: Path) -> Location:
    """A folder that is local, or is reached through fsspec as a remote one is."""
    return Location.of(tmp_path / "out" if request.param == "here" else f"local://{tmp_path}/out")


def test_a_folder_is_complete_at_the_end_alone(output: Location, tmp_path: Path) -> None:
    folder = open_output(output, {"text": "a"}, resume=False)
    folder.folder.child("leftover.parquet").write(b"x")
    folder.close()
    assert not (tmp_path / "out" / MANIFEST).exists()
    with pytest.raises(InputError, match="holds the work of an interrupted run; continue it with --resume, or delete"):
        open_output(output, {"text": "a"}, resume=False)
    with pytest.raises(InputError, match='text was "a" in the interrupted run and is "b" here'):
        open_output(output, {"text": "b"}, resume=True)
    folder = open_output(output, {"text": "a"}, resume=True)
    assert (folder.resumed, folder.complete) == (True, False)
    folder.finish(EMPTY)
    folder.close()
    assert json.loads((tmp_path / "out" / MANIFEST).read_text())["format"] == "polyseme-vectors"
    assert not (tmp_path / "out" / "_run.json").exists()
    with pytest.raises(InputError, match="out: exists already; give"):
        open_output(output, {"text": "a"}, resume=False)


def test_one_process_at_a_time_writes_here(tmp_path: Path) -> None:
    folder = open_output(Location.of(tmp_path / "out"), {}, resume=False)
    with pytest.raises(OutputError, match="is being written by process"):
        open_output(Location.of(tmp_path / "out"), {}, resume=True)
    folder.close()


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "photo.jpg").write_bytes(b"x")
    with pytest.raises(InputError, match="out: holds other files; give a new name"):
        open_output(Location.of(f"local://{tmp_path}/out"), {}, resume=False)


def test_what_the_command_refuses(tmp_path: Path, run: Command) -> None:
    (tmp_path / "a.txt").write_text("the bank\n")
    given = ["embed", tmp_path / "a.txt", "-m", "english-small", "-o", tmp_path / "out"]
    refused(run(*given, "--address", "auto"), "--address auto is for --engine ray; add that, or leave it out")
    refused(run(*given, "--engine", "ray", "--overwrite"), "--overwrite is for a single file, and --engine ray writes")
    refused(run(*given, "--engine", "ray", "--stateful"), "--stateful carries state from sentence to sentence")
    refused(run(*given, "--engine", "ray", "--pool", "mean", "--layers", "all"), "choose layers mean, top")
    missing = ["embed", "-", "-m", "english-small", "-o", tmp_path / "out", "--engine", "ray"]
    refused(run(*missing), "standard input (-) cannot be divided among machines")
    assert not (tmp_path / "out").exists()


def test_without_ray_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("the bank\n")
    script = (
        "import sys; sys.modules['ray'] = None; sys.modules['ray.data'] = None\n"
        f"sys.argv = ['polyseme', 'embed', {str(tmp_path / 'a.txt')!r}, '-m', 'english-small', '-o', 'out', "
        "'--engine', 'ray']\n"
        "from polyseme.cli.main import main; main()"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, cwd=tmp_path, check=False)
    assert done.returncode == 2
    assert done.stderr == "polyseme: the engine ray needs the package ray; pip install 'polyseme[scale]'\n"
