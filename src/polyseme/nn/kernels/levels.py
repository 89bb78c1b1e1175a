"""Which of a wheel's libraries this processor can run.

A wheel holds one library for each level of the x86-64 instruction set (its psABI names v2 to v4), or one for all
processors of another kind. ``hatch_build.py`` reads this module too, so it imports nothing but the standard library.
"""

from collections.abc import Collection
from pathlib import Path
from typing import NamedTuple

COMPILED = Path(__file__).parent / "compiled"
"""Where a wheel has its libraries. The source tree has none."""


class Level(NamedTuple):
    """An instruction set: how to compile for it, and what Linux calls the features that a processor needs for it."""

    name: str
    flags: tuple[str, ...]
    features: frozenset[str]


_V2 = frozenset(["cx16", "lahf_lm", "popcnt", "pni", "sse4_1", "sse4_2", "ssse3"])
_V3 = _V2 | frozenset(["abm", "avx", "avx2", "bmi1", "bmi2", "f16c", "fma", "movbe"])
_V4 = _V3 | frozenset(["avx512f", "avx512bw", "avx512cd", "avx512dq", "avx512vl"])
_VNNI = _V4 | {"avx512_vnni"}

X86_64 = (
    Level("x86-64-v4-bf16-vnni", ("-march=x86-64-v4", "-mavx512bf16", "-mavx512vnni"), _VNNI | {"avx512_bf16"}),
    Level("x86-64-v4-vnni", ("-march=x86-64-v4", "-mavx512vnni"), _VNNI),
    Level("x86-64-v4", ("-march=x86-64-v4",), _V4),
    Level("x86-64-v3", ("-march=x86-64-v3",), _V3),
    Level("x86-64-v2", ("-march=x86-64-v2",), _V2),
)
"""The best one first."""
GENERIC = Level("generic", (), frozenset())


def levels_for(machine: str) -> tuple[Level, ...]:
    """The levels of a kind of processor, as `platform.machine` calls it."""
    return X86_64 if machine == "x86_64" else (GENERIC,)


def fitting(features: Collection[str], machine: str, folder: Path = COMPILED) -> Path | None:
    """The best library in a folder that a processor with these features can run, or None."""
    made = ((level, folder / f"{level.name}.so") for level in levels_for(machine))
    return next((path for level, path in made if level.features <= set(features) and path.is_file()), None)


def processor_features() -> frozenset[str]:
    """What the processors of this machine can do, in the words of Linux; empty where it does not say."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return frozenset()
    found = [set(line.partition(":")[2].split()) for line in lines if line.startswith(("flags", "Features"))]
    return frozenset(set.intersection(*found)) if found else frozenset()
