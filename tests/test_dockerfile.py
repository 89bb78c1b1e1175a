"""The Dockerfile fits the project: its Python, its files, its extras, its command, and a user without rights."""

import fnmatch
import json
import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
TEXT = (ROOT / "Dockerfile").read_text(encoding="utf-8")
INSTRUCTIONS = [
    (line.split(maxsplit=1)[0], line.split(maxsplit=1)[1])
    for line in re.sub(r"\\\n", " ", re.sub(r"^#.*\n", "", TEXT, flags=re.MULTILINE)).splitlines()
    if line.strip()
]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))


def given(kind: str) -> list[str]:
    return [rest for name, rest in INSTRUCTIONS if name == kind]


def copied() -> list[str]:
    """What is taken from the folder that is built in."""
    return [name for rest in given("COPY") if not rest.startswith("--from") for name in rest.split()[:-1]]


def is_sent(name: str) -> bool:
    """Whether .dockerignore lets a file through: the last line that matches decides."""
    sent = True
    for line in (ROOT / ".dockerignore").read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#") and fnmatch.fnmatch(name, line.removeprefix("!")):
            sent = line.startswith("!")
    return sent


def test_the_python_is_one_that_the_project_supports() -> None:
    python = next(rest.partition("=")[2] for rest in given("ARG") if rest.startswith("PYTHON="))
    least = PROJECT["project"]["requires-python"].removeprefix(">=")
    assert [int(part) for part in python.split(".")] >= [int(part) for part in least.split(".")]
    assert [rest.split()[0] for rest in given("FROM")] == ["python:${PYTHON}-slim"] * 2


def test_every_file_that_a_build_needs_is_copied() -> None:
    needed = {
        "pyproject.toml",
        "constraints.txt",
        "src",
        PROJECT["project"]["readme"],
        *PROJECT["project"]["license-files"],
        PROJECT["tool"]["hatch"]["build"]["targets"]["wheel"]["hooks"]["custom"]["path"],
    }
    assert set(copied()) == needed
    assert PROJECT["tool"]["hatch"]["version"]["path"].startswith("src/")


@pytest.mark.parametrize("name", copied())
def test_what_is_copied_is_there_and_is_sent(name: str) -> None:
    assert (ROOT / name).exists()
    assert is_sent(name)


@pytest.mark.parametrize("name", [".git", ".venv", "tests", "docs", "site"])
def test_the_rest_is_not_sent(name: str) -> None:
    assert not is_sent(name)


def test_torch_is_the_pinned_one_without_cuda() -> None:
    install = next(rest for rest in given("RUN") if "pip install" in rest)
    assert "-c constraints.txt" in install
    assert re.search(r"^torch==[\d.]+$", (ROOT / "constraints.txt").read_text(encoding="utf-8"), re.MULTILINE)
    assert "torch.version.cuda and sys.exit" in install


def test_the_extras_exist() -> None:
    extras = next(rest.partition("=")[2] for rest in given("ARG") if rest.startswith("EXTRAS="))
    assert set(extras.split(",")) <= PROJECT["project"]["optional-dependencies"].keys()
    assert "parquet" in extras.split(",")  # the main job writes it


def test_it_runs_the_command_as_a_user_without_rights() -> None:
    (entry,) = given("ENTRYPOINT")
    assert json.loads(entry)[0] in PROJECT["project"]["scripts"]
    assert given("USER") == ["polyseme"]
    names = [name for name, _ in INSTRUCTIONS]
    assert "USER" in names[len(names) - names[::-1].index("FROM") :]  # of the last stage


def test_the_documentation_names_the_same_command() -> None:
    page = (ROOT / "docs/docker.md").read_text(encoding="utf-8")
    assert "docker build -t polyseme ." in page
    assert "embed novel.txt -m english-small -o novel.h5" in page
    for argument in ("EXTRAS", "PIP_EXTRA_INDEX_URL"):
        assert f"--build-arg {argument}=" in page
