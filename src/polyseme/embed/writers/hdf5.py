"""HDF5 as AllenNLP's `elmo` command writes it: one dataset per sentence, named by its number.

A dataset is (L, T, D), (T, D) or (D,). `sentence_to_index`, shape (1,), holds the JSON object {text: number as a
string}, where the text is the tokens joined by spaces; for equal sentences the last one counts. If the input names its
sentences, `name_to_index` holds {name: number as a string} in the same way::

    with h5py.File("out.h5") as file:
        number = json.loads(file["name_to_index"][0])["P12345"]
        vectors = file[number][()]

The JSON text can hold a key more than once; `json.loads` and most other readers take the last.

With `by_name` a dataset is named by its sentence instead, and there is no other: ``file["P12345"]``. A slash in a name
makes a group, and the whole name still finds the dataset.
"""

import contextlib
import functools
import io
import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import h5py
import numpy as np
import numpy.typing as npt

from polyseme.embed.writers.base import Part, Record, reading

if TYPE_CHECKING:
    from _typeshed import ReadableBuffer

_SENTENCES, _NAMES = "sentence_to_index", "name_to_index"
_MAX_TEXT = 2**32 - 1  # HDF5 counts the bytes of a variable-length string in 32 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Hdf5Format:
    """Writes HDF5. Parts always hold `sentence_to_index`; the joined file does if `sentence_index` is true."""

    sentence_index: bool
    by_name: bool = False

    @property
    def single_part_is_whole(self) -> bool:
        """Whether the joined file holds `sentence_to_index`, as every part does."""
        return self.sentence_index and not self.by_name

    def write_part(self, path: Path, first: int, records: Sequence[Record]) -> None:
        """Write records as a file of their own."""
        numbered = list(enumerate(records, first))
        with _create(path) as (file, _):
            for number, record in numbered:
                _write_array(file, str(number), record.vectors)
            _write_text(file, _SENTENCES, _to_json({" ".join(record.tokens): n for n, record in numbered}))
            if names := {record.name: n for n, record in numbered if record.name is not None}:
                _write_text(file, _NAMES, _to_json(names))

    def merge(self, path: Path, parts: Sequence[Part]) -> None:
        """Copy the datasets of all parts to one file."""
        if self.by_name:
            _merge_names(path, parts)
            return
        with _create(path) as (file, disk):
            if self.sentence_index:
                _write_text(file, _SENTENCES, _join_json(parts, _SENTENCES))
            if len(names := _join_json(parts, _NAMES)) > len("{}"):
                _write_text(file, _NAMES, names)
            for part in parts:
                with reading(part), h5py.File(part.path) as source:
                    for number in range(part.first, part.stop):
                        key = str(number).encode()
                        h5py.h5o.copy(source.id, key, file.id, key)
                if disk.error:
                    break


def _merge_names(path: Path, parts: Sequence[Part]) -> None:
    with _create(path) as (file, disk):
        for part in parts:
            with reading(part), h5py.File(part.path) as source:
                for name, number in json.loads(source[_NAMES][0]).items():
                    source.copy(source[number], file, name)
            if disk.error:
                break


class _Disk(io.FileIO):
    """A file that remembers its first failed write and reports success to HDF5 for it and all that follow.

    HDF5 cannot close a file while writes to it fail: it would stay open, and keep its space, until the process ends.
    """

    error: OSError | None = None

    def write(self, data: "ReadableBuffer", /) -> int:
        left = memoryview(data)
        size = len(left)
        try:
            while left and self.error is None:
                left = left[super().write(left) :]
        except OSError as error:
            self.error = error
        return size

    def truncate(self, size: int | None = None, /) -> int:
        try:
            return super().truncate(size)
        except OSError as error:
            self.error = self.error or error
            return size or 0


@contextlib.contextmanager
def _create(path: Path) -> Iterator[tuple[h5py.File, _Disk]]:
    """Open a new HDF5 file; at the end of the block raise the error of the disk rather than what HDF5 made of it."""
    with _Disk(path, "w+") as disk:
        try:
            with h5py.File(disk, "w") as file:
                yield file, disk
        except Exception:
            if disk.error is None:
                raise
        if disk.error is not None:
            raise disk.error


def _write_array(file: h5py.File, name: str, array: npt.NDArray[np.floating]) -> None:
    """As ``file.create_dataset(name, data=array)``, in a third of the time."""
    kind = h5py.h5t.py_create(array.dtype, logical=True)
    dataset = h5py.h5d.create(file.id, name.encode(), kind, h5py.h5s.create_simple(array.shape), _unfilled())
    if array.size:
        dataset.write(h5py.h5s.ALL, h5py.h5s.ALL, array)


@functools.cache
def _unfilled() -> h5py.h5p.PropDCID:
    """Datasets that are not filled with zeros before their numbers are written."""
    properties = h5py.h5p.create(h5py.h5p.DATASET_CREATE)
    properties.set_fill_time(h5py.h5d.FILL_TIME_NEVER)
    properties.set_obj_track_times(False)
    return properties


def _write_text(file: h5py.File, name: str, text: bytes) -> None:
    file.create_dataset(name, (1,), dtype=h5py.string_dtype())[0] = text


def _to_json(numbers: Mapping[str, int]) -> bytes:
    return json.dumps({key: str(number) for key, number in numbers.items()}).encode("ascii")


def _join_json(parts: Sequence[Part], name: str) -> bytes:
    """One JSON object from those of the parts, joined as text: a dict of all sentences might not fit in memory."""
    joined = io.BytesIO()
    joined.write(b"{")
    for part in parts:
        with reading(part), h5py.File(part.path) as source:
            if name in source:
                joined.write(b", " if joined.tell() > 1 else b"")
                joined.write(source[name][0][1:-1])
    joined.write(b"}")
    if joined.tell() > _MAX_TEXT:
        raise OSError(
            f"{name} would take {joined.tell()} bytes but HDF5 ends at {_MAX_TEXT} "
            "(use --no-sentence-index, or write .parquet)"
        )
    return joined.getvalue()
