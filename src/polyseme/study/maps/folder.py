"""Maps on disk, kept with their index: written whole, checked when they are read."""

import hashlib
import io
import json
import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, TypeVar

import numpy as np
from numpy.typing import NDArray
from pydantic import BaseModel, ConfigDict, Field

from polyseme.errors import FormatError
from polyseme.files.checksum import crc32
from polyseme.files.json_file import read_json, read_record
from polyseme.files.lock import locked
from polyseme.files.whole import JSON, reason, whole_folder, write_json
from polyseme.index.manifest import VECTORS, FileRecord, read_manifest
from polyseme.index.occurrence_index import OccurrenceIndex
from polyseme.study.maps.occurrence_map import MOST_POINTS, MapSettings, OccurrenceMap

FOLDER = "maps"
"""Within the folder of the index."""
MANIFEST = "map.json"
_ADVICE = "the map is damaged, make it again with --remake"
_ARRAYS: dict[str, type[np.generic]] = {
    "numbers": np.int64,
    "corpora": np.uint8,
    "words": np.uint32,
    "documents": np.uint32,
    "labels": np.uint32,
}
_NAMES = ("word_names", "document_names", "label_names")

Scalar = TypeVar("Scalar", bound=np.generic)
LayerName = Annotated[str, Field(pattern=r"^([0-9]{1,2}|mean|static)$")]


class MapRecord(BaseModel):
    """What ``map.json`` holds."""

    model_config = ConfigDict(frozen=True)

    format: Literal["polyseme-map"] = "polyseme-map"
    version: Literal[1] = 1
    texts: str
    """A digest of what the indexes hold."""
    alone: bool
    """Whether it is of one index."""
    settings: MapSettings
    points: Annotated[int, Field(strict=True, ge=1, le=MOST_POINTS)]
    sample: Annotated[int, Field(strict=True, ge=1)]
    own: LayerName
    layers: Annotated[list[LayerName], Field(min_length=1, max_length=100)]
    files: dict[str, FileRecord]


def digest_of(indexes: Sequence[OccurrenceIndex]) -> str:
    """A digest of what indexes hold: a map of other text is of no use."""
    held: list[JSON] = []
    for index in indexes:
        shards = read_manifest(index.path).shards
        held.append({**index.made_with, "shards": [shard.files[VECTORS].crc32 for shard in shards]})
    return hashlib.blake2b(json.dumps(held, sort_keys=True).encode(), digest_size=16).hexdigest()


def find_map(indexes: Sequence[OccurrenceIndex], wanted: Mapping[str, object]) -> Path | None:
    """The newest map of these indexes that has the settings that are wanted; those not named may be any."""
    texts, found = digest_of(indexes), []
    for path in sorted((indexes[0].path / FOLDER).glob(f"*/{MANIFEST}")):
        record = read_record(path, MapRecord, advice=_ADVICE)
        settings = record.settings.model_dump()
        if record.texts == texts and all(settings[name] == value for name, value in wanted.items()):
            found.append((path.stat().st_mtime, path.parent))
    return max(found)[1] if found else None


def write_map(indexes: Sequence[OccurrenceIndex], made: OccurrenceMap) -> Path:
    """Keep a map with the first index, in place of one with the same settings and of those of an older text.

    Raises:
        OutputError: The folder cannot be written.
    """
    texts = digest_of(indexes)
    key = hashlib.blake2b((texts + made.settings.model_dump_json()).encode(), digest_size=6).hexdigest()
    folder = indexes[0].path / FOLDER
    folder.mkdir(exist_ok=True)
    with locked(folder / key):
        if (folder / key).exists():
            shutil.rmtree(folder / key)
        with whole_folder(folder / key) as temporary:
            _write(temporary, made, texts, alone=len(indexes) == 1)
    if len(indexes) == 1:
        _remove_outdated(folder, texts)
    return folder / key


def read_map(folder: Path) -> OccurrenceMap:
    """A map as it was written.

    Raises:
        FormatError: A file is missing or damaged.
    """
    record = read_record(folder / MANIFEST, MapRecord, advice=_ADVICE)
    reader, count = _Reader(folder, record), record.points
    if record.sample > count or record.own not in record.layers:
        raise FormatError(f"{folder / MANIFEST}: names a sample or a layer that is not there; {_ADVICE}")
    word_names, document_names, label_names = (reader.strings(name) for name in _NAMES)
    words, documents, labels = (reader.array(name, np.uint32, (count,)) for name in ("words", "documents", "labels"))
    for numbers, names in ((words, word_names), (documents, document_names), (labels, label_names)):
        if int(numbers.max(initial=0)) >= len(names):
            raise FormatError(f"{folder}: a point has a word, document or label that is not there; {_ADVICE}")
    layers = {name: reader.array(f"layer-{name}", np.float32, (count, 2)) for name in record.layers}
    for name, places in layers.items():
        if (np.abs(places) > 1).any():
            raise FormatError(f"{folder / f'layer-{name}.npy'}: not places between -1 and 1; {_ADVICE}")
    return OccurrenceMap(
        settings=record.settings,
        sample=record.sample,
        numbers=reader.array("numbers", np.int64, (count,)),
        corpora=reader.array("corpora", np.uint8, (count,)),
        words=words,
        word_names=word_names,
        documents=documents,
        document_names=document_names,
        labels=labels,
        label_names=label_names,
        layers=layers,
        own=record.own,
    )


def _write(folder: Path, made: OccurrenceMap, texts: str, *, alone: bool) -> None:
    for name, kind in _ARRAYS.items():
        np.save(folder / f"{name}.npy", getattr(made, name).astype(kind))
    for name, places in made.layers.items():
        np.save(folder / f"layer-{name}.npy", places.astype(np.float32))
    for name in _NAMES:
        write_json(folder / f"{name}.json", getattr(made, name))
    files = {path.name: FileRecord(path.stat().st_size, crc32(path)) for path in sorted(folder.iterdir())}
    record = MapRecord(
        texts=texts,
        alone=alone,
        settings=made.settings,
        points=len(made),
        sample=made.sample,
        own=made.own,
        layers=[*made.layers],
        files=files,
    )
    write_json(folder / MANIFEST, record.model_dump(), indent=1)


def _remove_outdated(folder: Path, texts: str) -> None:
    """Delete maps of this index alone as it was before text was added, and those that cannot be read."""
    for path in folder.glob(f"*/{MANIFEST}"):
        try:
            record = read_record(path, MapRecord, advice=_ADVICE)
        except FormatError:
            shutil.rmtree(path.parent, ignore_errors=True)
            continue
        if record.texts != texts and record.alone:
            shutil.rmtree(path.parent, ignore_errors=True)


class _Reader:
    """Reads the files of a map, each compared with its checksum."""

    def __init__(self, folder: Path, record: MapRecord) -> None:
        self._folder, self._files = folder, record.files

    def array(self, name: str, kind: type[Scalar], shape: tuple[int, ...]) -> NDArray[Scalar]:
        path = self._folder / f"{name}.npy"
        try:
            found: NDArray[Scalar] = np.load(io.BytesIO(self._bytes(path)), allow_pickle=False)
        except (ValueError, EOFError, SyntaxError) as error:
            raise FormatError(f"{path}: not an array of numpy ({reason(error)}); {_ADVICE}") from error
        if found.dtype != np.dtype(kind) or found.shape != shape:
            raise FormatError(f"{path}: {found.dtype} {found.shape}, expected {np.dtype(kind)} {shape}; {_ADVICE}")
        return found

    def strings(self, name: str) -> list[str]:
        path = self._folder / f"{name}.json"
        self._bytes(path)
        found = read_json(path, advice=_ADVICE)
        if not isinstance(found, list) or not all(isinstance(one, str) for one in found):
            raise FormatError(f"{path}: not a list of names; {_ADVICE}")
        return [str(one) for one in found]

    def _bytes(self, path: Path) -> bytes:
        known = self._files.get(path.name)
        try:
            with path.open("rb") as file:
                content = file.read((known.size if known else 0) + 1)
        except OSError as error:
            raise FormatError(f"{path}: cannot be read ({reason(error)}); {_ADVICE}") from error
        if known is None or len(content) != known.size or crc32(path) != known.crc32:
            raise FormatError(f"{path}: its bytes have changed since it was written; {_ADVICE}")
        return content
