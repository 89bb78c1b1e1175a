"""Which models a comparison trains: the tables of the paper for a user's own data."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.choices import COMPARE_TABLES, CompareTable
from polyseme.tasks.sources import TaskSource

SHARES = (0.01, 0.03, 0.1, 0.3, 1.0)
"""Of the training data, for the curve of sample efficiency."""


@dataclass(frozen=True)
class Variant:
    """One row of a table.

    Attributes:
        table: The table.
        name: What is different, for people.
        sources: The vector sources it reads, by number.
        settings: What it changes of the settings.
        share: Of the training data that it learns from.
    """

    table: CompareTable
    name: str
    sources: tuple[int, ...]
    settings: Mapping[str, JSON] = field(default_factory=dict)
    share: float = 1.0

    @property
    def key(self) -> str:
        """The same for rows of different tables that one model serves."""
        numbers = "".join(map(str, self.sources)) or "none"
        changes = "".join(f"-{name}-{value}" for name, value in sorted(self.settings.items()))
        return f"vectors-{numbers}{changes}{'' if self.share == 1.0 else f'-share-{self.share:g}'}"


def check_tables(names: Sequence[str]) -> list[CompareTable]:
    """The tables of some names.

    Raises:
        InputError: There is no such table.
    """
    for name in names:
        if name not in COMPARE_TABLES:
            raise InputError(f"unknown table {name!r}; there are {', '.join(COMPARE_TABLES)}")
    return [table for table in COMPARE_TABLES if table in names]


def variants(tables: Sequence[CompareTable], sources: Sequence[TaskSource]) -> list[Variant]:
    """The rows of the tables that are asked for.

    Raises:
        InputError: A table needs contextual vectors, and there are none.
    """
    static = tuple(number for number, one in enumerate(sources) if one.is_static)
    contextual = tuple(number for number, one in enumerate(sources) if not one.is_static)
    every = (*static, *contextual)
    makers = {
        "layers": lambda: _layers(static, every),
        "places": lambda: _places(static, every),
        "vectors": lambda: _vectors(sources, every),
        "tuning": lambda: _tuning(static, every),
        "curve": lambda: _curve(static, every),
    }
    if not contextual and set(tables) - {"vectors"}:
        raise InputError("a comparison needs contextual vectors beside the baseline; name some with --vectors")
    return [variant for table in tables for variant in makers[table]()]


def _layers(static: tuple[int, ...], every: tuple[int, ...]) -> list[Variant]:
    """Table 2 of Peters et al. (2018)."""
    rows: list[tuple[str, dict[str, JSON]]] = [
        ("top layer", {"layers": "top"}),
        ("all layers, mix-l2 1", {"layers": "all", "mix_l2": 1.0}),
        ("all layers, mix-l2 0.001", {"layers": "all", "mix_l2": 0.001}),
    ]
    return [Variant("layers", "baseline", static), *(Variant("layers", name, every, one) for name, one in rows)]


def _places(static: tuple[int, ...], every: tuple[int, ...]) -> list[Variant]:
    """Table 3 of the same."""
    names = ("input", "output", "both")
    return [
        Variant("places", "baseline", static),
        *(
            Variant("places", f"at the {name}" if name != "both" else "at both", every, {"elmo_at": name})
            for name in names
        ),
    ]


def _vectors(sources: Sequence[TaskSource], every: tuple[int, ...]) -> list[Variant]:
    """Every combination of the sources."""
    subsets = [some for size in range(len(every) + 1) for some in combinations(every, size)]
    return [
        Variant("vectors", " + ".join(sources[number].source.name for number in some) or "none", some)
        for some in subsets
    ]


def _tuning(static: tuple[int, ...], every: tuple[int, ...]) -> list[Variant]:
    rows: list[Variant] = [Variant("tuning", "baseline", static), Variant("tuning", "frozen", every)]
    return [*rows, Variant("tuning", "fine-tuned", every, {"fine_tune": True})]


def _curve(static: tuple[int, ...], every: tuple[int, ...]) -> list[Variant]:
    """Figure 1 of the same: with and without, by the size of the training data."""
    pairs = (("without", static), ("with", every))
    return [Variant("curve", f"{name}, {share:.0%}", some, {}, share) for share in SHARES for name, some in pairs]
