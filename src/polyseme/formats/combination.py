"""The folder of combined vectors: config.json names the parts, combination.safetensors holds means and maps."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal

import numpy as np
import safetensors
import safetensors.numpy
from pydantic import BaseModel, ConfigDict, Field

from polyseme.arrays import Vectors
from polyseme.errors import FormatError
from polyseme.files.json_file import check_record
from polyseme.files.whole import whole_folder, write_json
from polyseme.formats.files import Files
from polyseme.models.combined_layers import How, Scale
from polyseme.models.config import LearntTextConfig
from polyseme.models.model import ModelPath
from polyseme.text.segmentation import Segmentation

KIND = "polyseme combination"
CONFIG, ARRAYS = "config.json", "combination.safetensors"

Finite = Annotated[float, Field(allow_inf_nan=False)]
LayerWeights = dict[Annotated[int, Field(ge=0)], Finite]
"""What each layer is multiplied by before they are added; other layers are left out."""
PartLayers = Literal["mean", "top"] | Annotated[int, Field(ge=0)] | LayerWeights
"""How the layers of a part become one vector."""
_ADVICE = "correct it, or save the combination again"


class StaticSettings(BaseModel):
    """How static vectors were opened."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    unknown: Literal["zeros", "mean", "random"] = "zeros"
    case_backoff: bool = True
    words: Annotated[int, Field(ge=1)] | None = None
    """How many words of the file are used; all if None."""


class PartConfig(BaseModel):
    """One part as ``config.json`` names it."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    bundled: str | None = None
    """The name of a bundled model; else the part has a path."""
    path: str | tuple[str, str] | None = None
    """Where the part is, as `polyseme.load` takes it; a relative path begins at this folder."""
    fingerprint: str | None = None
    """Of the part when it was combined: a part that has changed is refused. None: whatever is there will do."""
    layers: PartLayers | None = None
    """None: as `polyseme.combine` chooses by itself."""
    weight: Finite = 1.0
    static: StaticSettings | None = None


class CombinationConfig(LearntTextConfig):
    """What ``config.json`` holds."""

    format: Literal["polyseme combination"] = "polyseme combination"
    version: Literal[1] = 1
    how: How = "concat"
    scale: Scale = "plain"
    centre: bool = False
    parts: Annotated[tuple[PartConfig, ...], Field(min_length=1, max_length=64)]


@dataclass(frozen=True)
class Combination:
    """A combination that is described, but whose parts are not opened yet."""

    config: CombinationConfig
    means: Mapping[int, Vectors]
    """(D_i), the mean vector of each part that has one."""
    maps: Mapping[int, Vectors]
    """(D_i, D), the matrix that each part is multiplied by."""
    folder: Path
    """Where relative paths begin."""

    @property
    def segmentation(self) -> Segmentation | None:
        """How raw text is tokenised; None if the parts decide."""
        return self.config.segmentation if "tokenize" in self.config.model_fields_set else None

    @property
    def source(self) -> str:
        """What it is, for people."""
        return f"{KIND} of {len(self.config.parts)} parts"

    def part_path(self, number: int) -> ModelPath:
        """The path of a part, as `polyseme.load` takes it from any working folder."""
        part = self.config.parts[number]
        if part.bundled is not None:
            return part.bundled
        if isinstance(part.path, tuple):
            return self._from_here(part.path[0]), self._from_here(part.path[1])
        if part.path is None:
            raise FormatError(f"{self.folder / CONFIG}: parts.{number}: has neither 'bundled' nor 'path'; {_ADVICE}")
        return self._from_here(part.path)

    def _from_here(self, path: str) -> str:
        return str(Path(os.path.normpath(self.folder / path)))


def read(files: Files) -> Combination:
    """Read the folder of a combination; its parts are not opened."""
    folder = files.location(CONFIG).parent.absolute()
    config = check_record(files.json(CONFIG), CombinationConfig, where=files.shown(CONFIG), advice=_ADVICE)
    arrays = _read_arrays(files) if ARRAYS in files.names else {}
    found: dict[str, dict[int, Vectors]] = {"means": {}, "maps": {}}
    for name, array in arrays.items():
        kind, _, number = name.partition(".")
        if kind not in found or number not in map(str, range(len(config.parts))):
            raise FormatError(f"{files.shown(ARRAYS)}: {name} belongs to no part; {_ADVICE}")
        if array.dtype != np.float32 or not np.isfinite(array).all():
            raise FormatError(f"{files.shown(ARRAYS)}: {name} is not all finite float32 numbers; {_ADVICE}")
        found[kind][int(number)] = array
    return Combination(config, found["means"], found["maps"], folder)


def write(combination: Combination, folder: Path) -> None:
    """Write a combination into a new folder, completely or not at all."""
    arrays = {f"means.{number}": array for number, array in combination.means.items()}
    arrays |= {f"maps.{number}": array for number, array in combination.maps.items()}
    with whole_folder(folder) as target:
        settings = combination.config.model_dump(mode="json", exclude_none=True)
        # None says that text comes tokenised; left out, the parts decide.
        write_json(target / CONFIG, {**settings, "tokenize": combination.config.tokenize}, indent=2)
        if arrays:
            stored = {name: np.ascontiguousarray(array, dtype=np.float32) for name, array in arrays.items()}
            safetensors.numpy.save_file(stored, target / ARRAYS)
            (target / ARRAYS).chmod(0o644)  # safetensors makes it readable by its owner only


def path_from(folder: Path, path: ModelPath) -> str | tuple[str, str]:
    """A part's path as a folder stores it: relative if both are below the same folder, else absolute."""
    if isinstance(path, tuple):
        return _one_path(folder, path[0]), _one_path(folder, path[1])
    return _one_path(folder, path)


def _one_path(folder: Path, path: str | Path) -> str:
    target = Path(path).absolute()
    around = folder.absolute().parent
    return os.path.relpath(target, folder.absolute()) if target.is_relative_to(around) else str(target)


def _read_arrays(files: Files) -> dict[str, Vectors]:
    try:
        with files.open(ARRAYS) as file:
            return safetensors.numpy.load(file.read())
    except (safetensors.SafetensorError, KeyError, ValueError, TypeError) as error:
        raise FormatError(f"{files.shown(ARRAYS)}: not a safetensors file, or a truncated one ({error})") from error
