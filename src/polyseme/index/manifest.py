"""The manifest of an index, ``index.json``: what the index was made with, its shards and its files."""

from pathlib import Path
from typing import Annotated, Literal, NamedTuple, TypeAlias

from pydantic import BaseModel, ConfigDict, Field, field_validator

from polyseme.errors import InputError
from polyseme.files.json_file import read_record
from polyseme.files.whole import write_json
from polyseme.index.about import About

MANIFEST = "index.json"
DAMAGED = "the index is damaged, build it again"
"""What to do if a file of an index cannot be what was written."""

VECTORS, SENTENCES, STARTS, OCCURRENCES, WORDS, SUMS = (
    "vectors.faiss",
    "sentences.jsonl",
    "sentences.npy",
    "occurrences.npy",
    "words.json",
    "sums.npy",
)
"""The files of a shard. The vectors in faiss; the sentences as JSON lists, one per line, and the byte at which each
begins; (N, 3) sentence, position and word of each occurrence; the distinct words; (W, D) the sum of the unit vectors of
each word."""
FILES = frozenset({VECTORS, SENTENCES, STARTS, OCCURRENCES, WORDS, SUMS})

WHITENING = "whitening.npy"
"""(D + 1, D) the matrix of a whitening fitted on the index and, under it, the centre; beside the manifest."""
PLACES, NAMES = "places.npy", "names.json"
"""Where the sentences came from (see `polyseme.index.places`): a shard has both files or none."""
CODES, SCALES = "codes.npy", "scales.npy"
"""The vectors that those found are compared with once more (see `polyseme.index.refined`): both files or none."""

_Count: TypeAlias = Annotated[int, Field(strict=True, ge=0, lt=1 << 62)]
_Positive: TypeAlias = Annotated[int, Field(strict=True, ge=1, lt=1 << 31)]


class FileRecord(NamedTuple):
    """A file as it was written."""

    size: _Count
    crc32: Annotated[int, Field(strict=True, ge=0, lt=1 << 32)]


class ShardRecord(BaseModel):
    """A shard as it was written."""

    model_config = ConfigDict(frozen=True)

    name: Annotated[str, Field(pattern=r"^shard-[0-9]{5,9}$")]
    """Of its folder within that of the index."""
    occurrences: _Positive
    sentences: _Positive
    label: str | None = None
    """What the user called the text that it was made from."""
    files: dict[str, FileRecord]

    @field_validator("files")
    @classmethod
    def _all_are_there(cls, files: dict[str, FileRecord]) -> dict[str, FileRecord]:
        pairs = [{PLACES, NAMES}, {CODES, SCALES}]
        expected = FILES.union(*(pair for pair in pairs if pair & files.keys()))
        for name in sorted(expected.symmetric_difference(files)):
            raise ValueError(f"{name!r} is {'not a file of a shard' if name in files else 'missing'}")
        return files


class FinishedRun(BaseModel):
    """A run of the program that built the index or added to it."""

    model_config = ConfigDict(frozen=True)

    id: str
    """Drawn by the run itself: tells it from every other run."""
    settings: str
    """A digest of its settings and its text: tells whether a run would do the same."""


class Manifest(About):
    """What ``index.json`` holds. Names that are not known here are passed over."""

    format: Literal["polyseme-index"] = "polyseme-index"
    version: Literal[1] = 1
    shards: Annotated[list[ShardRecord], Field(min_length=1)]
    runs: list[FinishedRun] = Field(default_factory=list)
    """The runs that made it, in their order; indexes of version 0.1 do not have them."""
    whitening: FileRecord | None = None
    """Its file, from the first query that asked for it until text is added."""

    @field_validator("shards")
    @classmethod
    def _names_differ(cls, shards: list[ShardRecord]) -> list[ShardRecord]:
        if len({shard.name for shard in shards}) < len(shards):
            raise ValueError("two shards have the same name")
        return shards


def read_manifest(folder: Path) -> Manifest:
    """The manifest of an index.

    Raises:
        InputError: There is no index.
        FormatError: The manifest is damaged, or this version cannot read it.
    """
    path = folder / MANIFEST
    if not path.is_file():
        raise InputError(f"{folder}: no index is here ({MANIFEST} is missing); build one with polyseme index")
    return read_record(path, Manifest, advice=DAMAGED)


def write_manifest(folder: Path, manifest: Manifest) -> None:
    """Write the manifest whole, replacing the one that is there."""
    write_json(folder / MANIFEST, manifest.model_dump(), indent=1)
