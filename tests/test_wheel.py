"""The wheel: compiled kernels for every instruction set where there is a compiler, a pure one elsewhere."""

import os
import platform
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest

hatch_build = pytest.importorskip("hatch_build", reason="hatchling is not installed")

from polyseme.nn.kernels import compiling, levels  # noqa: E402

ROOT = Path(__file__).parent.parent
BUILD = """
import sys
from hatchling.build import build_wheel
print(build_wheel(sys.argv[1]))
"""
EMBED = """
import sys
from pathlib import Path
import numpy as np
import polyseme
from polyseme.nn.kernels import build
sentences = [["The", "bank", "closed", "."], ["Café", "☕", "x" * 60], [], ["river"] * 40]
model, *libraries = sys.argv[1:]
for library in libraries:
    build.library.cache_clear()
    build.fitting = lambda *_: None if library.endswith("native") else Path(library)
    assert build.library() is not None
    arrays = {}
    for precision in ("float32", "bfloat16", "int8"):
        for number, vectors in enumerate(polyseme.load(model, precision=precision).embed(sentences)):
            arrays[f"{precision}{number}"] = vectors
    np.savez(library + ".npz", **arrays)
"""


def build(folder: Path, **environment: str) -> tuple[Path, str]:
    """A wheel built from this tree, and what the builder said."""
    done = subprocess.run(
        [sys.executable, "-c", BUILD, str(folder)],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name != "CXX"} | environment,
        capture_output=True,
        text=True,
        check=True,
    )
    return folder / done.stdout.split()[-1], done.stdout + done.stderr


def vectors(libraries: list[Path], model: Path) -> list[dict[str, np.ndarray]]:
    """What each library makes of a few sentences, in every precision."""
    subprocess.run([sys.executable, "-c", EMBED, str(model), *map(str, libraries)], check=True)
    found = []
    for library in libraries:
        with np.load(f"{library}.npz") as stored:
            found.append(dict(stored))
    return found


@pytest.mark.skipif(
    sys.platform != "linux" or compiling.find_compiler() is None, reason="needs Linux and a C++ compiler"
)
def test_the_libraries_of_a_wheel_compute_what_a_compiler_here_does(tmp_path: Path, golden: Path) -> None:
    wheel, said = build(tmp_path)
    expected = [level.name for level in levels.levels_for(platform.machine())]
    assert f"compiled kernels for {', '.join(expected)}; they need glibc 2." in said
    assert wheel.name.split("-", 2)[2].startswith(("py3-none-manylinux_2_", "py3-none-linux_"))
    with zipfile.ZipFile(wheel) as archive:
        libraries = [name for name in archive.namelist() if name.endswith(".so")]
        assert sorted(libraries) == sorted(f"polyseme/nn/kernels/compiled/{name}.so" for name in expected)
        for name in libraries:
            archive.extract(name, tmp_path)
    made = {name: tmp_path / f"polyseme/nn/kernels/compiled/{name}.so" for name in expected}
    for path in made.values():
        assert_only_entry_points(path)
    features = levels.processor_features()
    usable = [level for level in levels.levels_for(platform.machine()) if level.features <= features]
    paths = [tmp_path / "native", *(made[level.name] for level in usable)]
    native, *others = vectors(paths, golden / "allennlp" / "two_layers")
    for level, given in zip(usable, others, strict=True):
        for name in native:
            if level is usable[0]:  # the instruction set of -march=native, as far as the sources use it
                np.testing.assert_array_equal(given[name], native[name], err_msg=f"{level.name} {name}")
            elif name.startswith("float32"):
                np.testing.assert_allclose(given[name], native[name], atol=1e-5, rtol=0, err_msg=level.name)


def assert_only_entry_points(library: Path) -> None:
    tool = shutil.which("nm")
    if tool is None:
        return
    lines = subprocess.run([tool, "-D", "--defined-only", str(library)], capture_output=True, text=True, check=True)
    names = [line.split()[-1] for line in lines.stdout.splitlines()]
    assert names
    assert [name for name in names if not name.startswith("polyseme_")] == []


def test_without_a_compiler_the_wheel_is_pure_and_says_so(tmp_path: Path) -> None:
    wheel, said = build(tmp_path, PATH="/nonexistent")
    assert wheel.name.endswith("-py3-none-any.whl")
    assert "no compiled kernels in this wheel (no C++ compiler was found); they are compiled on first use" in said
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert not [name for name in names if name.endswith(".so")]
    kept = (*compiling.SOURCES, *compiling.HEADERS, compiling.EXPORTS)
    assert {f"polyseme/nn/kernels/{path.name}" for path in kept} <= set(names)


@pytest.mark.parametrize(("target", "version"), [("wheel", "editable"), ("sdist", "standard")])
def test_an_editable_install_compiles_nothing(tmp_path: Path, target: str, version: str) -> None:
    hook = hatch_build.CompiledKernels(str(ROOT), {}, None, None, str(tmp_path), target)
    data: dict[str, object] = {"force_include": {}}
    hook.initialize(version, data)
    hook.finalize(version, data, "")
    assert data == {"force_include": {}}


@pytest.mark.parametrize(
    ("symbols", "minor"),
    [
        (b"GLIBC_2.2.5\0GLIBC_2.16\0", 16),
        (b"GLIBC_2.16\0GLIBCXX_3.4\0GLIBCXX_3.4.22\0", 24),
        (b"GLIBC_2.34\0GLIBCXX_3.4.22\0", 34),
        (b"GLIBC_2.4\0GLIBCXX_3.4.30\0", 35),
        (b"GLIBC_2.4\0GLIBCXX_3.4.99\0", 99),
        (b"", 17),
    ],
)
def test_the_glibc_that_is_needed_is_read_from_the_libraries(tmp_path: Path, symbols: bytes, minor: int) -> None:
    (tmp_path / "one.so").write_bytes(b"\x7fELF\0" + symbols)
    (tmp_path / "two.so").write_bytes(b"\x7fELF\0GLIBC_2.2.5\0" * (symbols != b""))
    assert hatch_build.needed_glibc([tmp_path / "one.so", tmp_path / "two.so"]) == minor


def test_every_source_in_the_folder_is_listed() -> None:
    found = {path for suffix in ("cpp", "h") for path in compiling.FOLDER.glob(f"*.{suffix}")}
    assert found == {*compiling.SOURCES, *compiling.HEADERS}
