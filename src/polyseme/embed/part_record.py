"""How a part of a combination is recorded in its folder, so that it is found again and a changed one is noticed."""

from collections.abc import Mapping
from pathlib import Path

from polyseme.embed.source import VectorSource
from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import FormatError, InputError
from polyseme.formats.combination import CONFIG, Combination, PartConfig, PartLayers, StaticSettings, path_from
from polyseme.formats.detect import bundled_names


def part_config(
    source: VectorSource, layers: str | int | Mapping[int, float], weight: float, folder: Path
) -> PartConfig:
    """The record of a part for a combination that is saved in a folder."""
    if source.path is None:
        raise InputError(
            f"{folder}: a part ({source.name}) came from no file, so that it could not be found again; save it, and "
            "combine what polyseme.load gives for that"
        )
    bundled = source.path if isinstance(source.path, str) and source.path in bundled_names() else None
    static = None
    if isinstance(source, StaticVectors):
        static = StaticSettings(unknown=source.unknown, case_backoff=source.case_backoff, words=len(source))
    chosen: PartLayers = dict(layers) if isinstance(layers, Mapping) else layers  # type: ignore[assignment]
    return PartConfig(
        bundled=bundled,
        path=None if bundled else path_from(folder, source.path),
        fingerprint=source.fingerprint(),
        layers=chosen,
        weight=weight,
        static=static,
    )


def check_unchanged(source: VectorSource, described: Combination, number: int) -> None:
    """Refuse a part that is not what it was when it was combined."""
    part = described.config.parts[number]
    if part.fingerprint is not None and source.fingerprint() != part.fingerprint:
        raise FormatError(
            f"{described.folder / CONFIG}: part {number} ({described.part_path(number)}) has changed since it was "
            f"combined (its fingerprint is {source.fingerprint()}, expected {part.fingerprint}); combine and save again"
        )
