"""Opens what the explorer shows: the indexes, their model, and a map that is made if there is none yet."""

import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from polyseme.embed.static_vectors import StaticVectors
from polyseme.errors import InputError, OutputError
from polyseme.index.manifest import read_manifest
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.models.model import ModelPath
from polyseme.progress import Watcher
from polyseme.serve.explorer import Explorer
from polyseme.serve.parts import Parts, open_parts
from polyseme.serve.settings import Settings
from polyseme.study.maps.build import build_map, check_alike
from polyseme.study.maps.folder import find_map, read_map, write_map
from polyseme.study.maps.labels import own_labels, read_labels
from polyseme.study.maps.occurrence_map import MapSettings, OccurrenceMap


@dataclass(frozen=True)
class Wanted:
    """What somebody wants to see.

    Attributes:
        folders: One or two indexes.
        model: Where their model is, if not where it was.
        settings: The settings of the map that were named; None for those that may be any.
        static: A file of static vectors.
        labels: A file of labels.
        column: The column of a CoNLL-U file of labels.
        remake: Make a new map even if there is one.
        threads: To compute with; None for all.
    """

    folders: Sequence[Path]
    model: ModelPath | None = None
    settings: Mapping[str, object] = field(default_factory=dict)
    static: Path | None = None
    labels: Path | None = None
    column: str = "upos"
    remake: bool = False
    threads: int | None = None


def open_explorer(wanted: Wanted, watcher: Watcher) -> Parts:
    """Open the indexes with their model and their map.

    Raises:
        PolysemeError: Something is missing or damaged, or does not belong together.
    """
    parts = _open_model(wanted)
    assert parts.index is not None
    others = [OccurrenceIndex(folder, parts.index.embedder) for folder in wanted.folders[1:]]
    indexes = [parts.index, *others]
    check_alike(indexes)
    made = _map(indexes, wanted, watcher)
    labels = own_labels(made)
    if wanted.labels is not None:
        labels = read_labels(wanted.labels, wanted.column, made, indexes)
    names = [folder.resolve().name for folder in wanted.folders]
    return replace(parts, segmentation=parts.index.segmentation, explorer=Explorer(made, indexes, names, labels))


def _open_model(wanted: Wanted) -> Parts:
    folder = wanted.folders[0]
    manifest = read_manifest(folder)
    model = wanted.model or manifest.model_path
    if not model:
        raise InputError(f"{folder}: does not say where its model is; name it with --model")
    given = (str(model[0]), str(model[1])) if isinstance(model, tuple) else str(model)
    return open_parts(
        Settings(
            model=given,
            index=folder,
            precision=manifest.precision,
            layers=str(manifest.layers),
            tokenize=manifest.tokenize or "none",
            threads=wanted.threads,
        )
    )


def _map(indexes: Sequence[OccurrenceIndex], wanted: Wanted, watcher: Watcher) -> OccurrenceMap:
    static = None if wanted.static is None else StaticVectors.load(wanted.static)
    asked = {name: value for name, value in wanted.settings.items() if value is not None}
    if static is not None:
        asked["static"] = static.fingerprint()
    found = None if wanted.remake else find_map(indexes, asked)
    if found is not None:
        return read_map(found)
    made = build_map(
        indexes, MapSettings.model_validate(asked), watcher, static=static, threads=wanted.threads or _threads()
    )
    with contextlib.suppress(OutputError, OSError):  # an index that cannot be written keeps none
        write_map(indexes, made)
    return made


def _threads() -> int:
    import torch

    return torch.get_num_threads()
