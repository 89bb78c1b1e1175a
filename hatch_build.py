"""Puts compiled kernels into a wheel: one library for each instruction set.

hatchling runs this when it builds a wheel. On Linux with a C++ compiler the wheel then has libraries and the tag of the
platform; elsewhere it is the pure one, and the kernels are compiled where they are first used. An editable install
never compiles here. ``POLYSEME_KERNELS=off`` asks for the pure wheel.
"""

import os
import platform
import re
import shutil
import sys
import tempfile
from collections.abc import Iterable
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

KERNELS = Path(__file__).parent / "src" / "polyseme" / "nn" / "kernels"
WAYS = {
    "shared": ("-s",),
    "static": ("-s", "-static-libstdc++", "-static-libgcc", "-Wl,--gc-sections"),
}
"""How a library gets the C++ library: from the system, as torch does, or with a copy of what it uses.

A copy needs no C++ library, but a glibc as new as the one its makers had. The one that runs on older systems is taken.
"""

RELEASES = {19: 17, 22: 24, 24: 28, 28: 31, 29: 34, 30: 35, 32: 38, 33: 39}
"""GLIBCXX_3.4.x of the C++ library beside glibc 2.y in the distributions that the manylinux_2_y tags stand for."""


class CompiledKernels(BuildHookInterface[Any]):
    """The hook that hatchling calls."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and name the libraries and the tag in ``build_data``."""
        if self.target_name != "wheel" or version == "editable":
            return
        self._made = Path(tempfile.mkdtemp(prefix="polyseme-wheel-"))
        try:
            libraries, minor = compiled(self._made)
        except OSError as error:
            self.app.display_warning(
                f"no compiled kernels in this wheel ({error}); they are compiled on first use where there is a compiler"
            )
            return
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform_tag(minor)}"
        for library in libraries:
            build_data["force_include"][str(library)] = f"polyseme/nn/kernels/compiled/{library.name}"
        names = ", ".join(library.stem for library in libraries)
        self.app.display_info(f"compiled kernels for {names}; they need glibc 2.{minor}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the libraries, which are in the wheel by now."""
        if made := getattr(self, "_made", None):
            shutil.rmtree(made, ignore_errors=True)


def compiled(folder: Path) -> tuple[list[Path], int]:
    """The libraries of all levels of this kind of processor, and y of the glibc 2.y that they need.

    Raises:
        OSError: There can be none: another system, no compiler, or one that fails.
    """
    compiling, levels = load("compiling"), load("levels")
    if os.environ.get("POLYSEME_KERNELS") == "off":
        raise OSError("POLYSEME_KERNELS=off")
    if sys.platform != "linux":
        raise OSError(f"they are built on Linux only, not on {sys.platform}")
    compiler = compiling.find_compiler()
    if compiler is None:
        raise OSError("no C++ compiler was found")
    made: dict[str, list[Path]] = {way: [] for way in WAYS}
    for level in levels.levels_for(platform.machine()):
        objects_folder = folder / level.name
        objects_folder.mkdir()
        objects = compiling.compile_objects(compiler, level.flags, objects_folder)
        for way, flags in WAYS.items():
            target = folder / way / f"{level.name}.so"
            target.parent.mkdir(exist_ok=True)
            try:
                compiling.link(compiler, objects, target, flags)
                made[way].append(target)
            except OSError:
                if way == "shared":  # the archives for the other way are often not installed
                    raise
    complete = [libraries for libraries in made.values() if len(libraries) == len(made["shared"])]
    chosen = min(complete, key=needed_glibc)
    return chosen, needed_glibc(chosen)


def needed_glibc(libraries: Iterable[Path]) -> int:
    """Y of the oldest glibc 2.y that has every symbol of glibc and of the C++ library that these ask for."""
    text = b"".join(path.read_bytes() for path in libraries)
    found = [int(minor) for minor in re.findall(rb"GLIBC_2\.(\d+)", text)]
    for wanted in re.findall(rb"GLIBCXX_3\.4\.(\d+)", text):
        found += [next((glibc for last, glibc in RELEASES.items() if int(wanted) <= last), 99)]
    return max(found, default=17)


def platform_tag(minor: int) -> str:
    """The tag of the platform; without glibc (as with musl), the plain one, which fits the machine it was built on."""
    machine = platform.machine()
    return f"manylinux_2_{max(minor, 17)}_{machine}" if platform.libc_ver()[0] == "glibc" else f"linux_{machine}"


def load(name: str) -> ModuleType:
    """A module of the kernels by its file: the package itself needs torch, which is not there when a wheel is built."""
    spec = spec_from_file_location(f"polyseme_kernels_{name}", KERNELS / f"{name}.py")
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
