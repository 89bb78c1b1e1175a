"""Where compiled kernels come from, and which stored libraries are not trusted."""

import ctypes
import os
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from polyseme.nn.backend import available
from polyseme.nn.kernels import build, cache, compiling, levels

OTHER_USER = 12345


@pytest.fixture
def fresh() -> Iterator[None]:
    """Whatever was loaded before does not count, and what is loaded here is forgotten."""
    build.library.cache_clear()
    yield
    build.library.cache_clear()


@pytest.fixture
def home(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    """An empty cache folder."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    return tmp_path / "polyseme"


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> None:
    """A library of one small source instead of all kernels."""
    if compiling.find_compiler() is None:
        pytest.skip("no C++ compiler on this machine")
    source = tmp_path_factory.mktemp("source") / "small.cpp"
    source.write_text('extern "C" int polyseme_lanes() { return 42; }\nint hidden() { return 43; }\n')
    monkeypatch.setattr(compiling, "SOURCES", (source,))
    monkeypatch.setattr(build, "SOURCES", (source,))


def built() -> Path:
    compiler = compiling.find_compiler()
    assert compiler is not None
    return build._built(compiler)


def test_a_compiler_that_fails_is_reported_and_done_without(
    fresh: None, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(compiling, "FLAGS", ("--no-such-flag",))
    with pytest.warns(UserWarning, match="the native kernels could not be built"):
        assert build.library() is None


def test_a_library_is_compiled_once_and_shows_only_its_entry_points(fresh: None, home: Path, quick: None) -> None:
    library = build.library()
    assert library is not None
    assert library.polyseme_lanes() == 42
    assert not hasattr(library, "_Z6hiddenv")
    (stored,) = home.iterdir()
    assert stat.S_IMODE(stored.stat().st_mode) == 0o700
    assert stat.S_IMODE(home.stat().st_mode) == 0o700
    before = stored.stat()
    assert built() == stored
    assert stored.stat().st_mtime_ns == before.st_mtime_ns


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty", "longer"])
def test_a_damaged_library_is_built_again(home: Path, quick: None, damage: str) -> None:
    stored = built()
    content = stored.read_bytes()
    changed = bytearray(content)
    changed[len(content) // 2] ^= 1
    made = {"truncated": content[:5000], "changed": bytes(changed), "empty": b"", "longer": content + b"\0"}
    stored.write_bytes(made[damage])
    assert not cache.may_be_loaded(stored)
    assert built().read_bytes() == content
    assert cache.may_be_loaded(stored)


def test_a_library_that_others_may_write_is_built_again(home: Path, quick: None) -> None:
    stored = built()
    for mode in (0o720, 0o702):
        stored.chmod(mode)
        assert not cache.may_be_loaded(stored)
        inode = stored.stat().st_ino
        assert built().stat().st_ino != inode
        assert stat.S_IMODE(stored.stat().st_mode) == 0o700


def test_a_link_is_not_loaded(home: Path, quick: None, tmp_path: Path) -> None:
    stored = built()
    elsewhere = tmp_path / "elsewhere.so"
    stored.rename(elsewhere)
    stored.symlink_to(elsewhere)
    assert not cache.may_be_loaded(stored)
    assert not built().is_symlink()


def test_a_folder_that_others_may_write_is_emptied_and_closed(home: Path, quick: None) -> None:
    stored = built()
    planted = home / "kernels-0123456789abcdef.so"
    planted.write_bytes(stored.read_bytes())
    home.chmod(0o777)
    assert not cache.may_be_loaded(stored)
    assert built() == stored
    assert not planted.exists()
    assert stat.S_IMODE(home.stat().st_mode) == 0o755
    assert cache.may_be_loaded(stored)


def test_what_belongs_to_somebody_else_is_not_loaded(home: Path, quick: None, monkeypatch: pytest.MonkeyPatch) -> None:
    stored = built()
    if os.geteuid() == 0:
        os.chown(stored, OTHER_USER, -1)
        assert not cache.may_be_loaded(stored)
        assert built().stat().st_uid == 0
        os.chown(home, OTHER_USER, -1)
    else:
        monkeypatch.setattr(os, "geteuid", lambda: OTHER_USER)
    assert not cache.may_be_loaded(stored)
    elsewhere = built()
    assert elsewhere.parent != home
    assert cache.may_be_loaded(elsewhere) == (os.geteuid() == 0)


def test_a_relative_cache_folder_is_ignored(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CACHE_HOME", "planted")
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    assert cache.cache_folder() == tmp_path / "home" / ".cache" / "polyseme"
    assert not (tmp_path / "planted").exists()


def test_no_home_at_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def homeless() -> None:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", homeless)
    folder = cache.cache_folder()
    assert folder.is_dir()
    folder.rmdir()


def test_a_home_that_cannot_be_written(
    fresh: None, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "file").write_text("not a folder")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "file"))
    assert build.library() is not None


BUILD = """
import ctypes, sys
from pathlib import Path
from polyseme.nn.kernels import build, compiling
compiling.SOURCES = build.SOURCES = (Path(sys.argv[1]),)
stored = build._built(compiling.find_compiler())
assert ctypes.CDLL(str(stored)).polyseme_lanes() == 42
"""


def test_several_processes_build_at_once(home: Path, quick: None) -> None:
    command = [sys.executable, "-c", BUILD, str(compiling.SOURCES[0])]
    running = [subprocess.Popen(command) for _ in range(4)]
    assert [process.wait() for process in running] == [0] * 4
    assert [path.suffix for path in home.iterdir()] == [".so"]


def test_the_best_library_that_fits_the_processor(tmp_path: Path) -> None:
    for level in levels.X86_64:
        (tmp_path / f"{level.name}.so").touch()

    def chosen(features: frozenset[str], machine: str = "x86_64") -> str | None:
        found = levels.fitting(features, machine, tmp_path)
        return found.stem if found else None

    for level in levels.X86_64:
        assert chosen(level.features | {"fpu", "sse2"}) == level.name
    best = levels.X86_64[0].features
    assert chosen(best - {"avx512_bf16"}) == "x86-64-v4-vnni"
    assert chosen(best - {"avx512vl"}) == "x86-64-v3"
    assert chosen(best - {"fma"}) == "x86-64-v2"
    assert chosen(best - {"sse4_2"}) is None
    assert chosen(frozenset(), "aarch64") is None
    (tmp_path / "generic.so").touch()
    assert chosen(frozenset(), "aarch64") == "generic"


def test_the_wheels_library_comes_before_a_compiler(
    fresh: None, home: Path, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    given = tmp_path / "generic.so"
    given.write_bytes(built().read_bytes())
    given.chmod(0o755)
    monkeypatch.setattr(build, "fitting", lambda *_: given)
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    library = build.library()
    assert isinstance(library, ctypes.CDLL)
    assert library._name == str(given)
    monkeypatch.setenv("POLYSEME_KERNELS", "native")
    build.library.cache_clear()
    assert build.library() is None  # there is no compiler
    monkeypatch.setenv("POLYSEME_KERNELS", "off")
    build.library.cache_clear()
    assert build.library() is None


def test_a_library_for_another_system_is_passed_over(
    fresh: None, home: Path, quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "generic.so").write_bytes(b"\x7fELF of another kind")
    monkeypatch.setattr(build, "fitting", lambda *_: tmp_path / "generic.so")
    library = build.library()
    assert library is not None
    assert library.polyseme_lanes() == 42
    monkeypatch.setattr(build, "find_compiler", lambda: None)
    build.library.cache_clear()
    with pytest.warns(UserWarning, match=r"the native kernels could not be loaded \(.*generic.so: .*torch is used"):
        assert build.library() is None


def test_the_source_tree_has_no_compiled_library_and_computes() -> None:
    assert not levels.COMPILED.exists()
    assert available("float32") == (build.library() is not None)
