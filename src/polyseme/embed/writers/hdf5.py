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

import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from polyseme.embed.writers.base import Notes, Record, reading, write_all
from polyseme.embed.writers.hdf5_structure import (
    START,
    U64,
    Places,
    superblock,
    write_group,
    write_headers,
    write_text,
)
from polyseme.files.whole import JSON

_SENTENCES, _NAMES = "sentence_to_index", "name_to_index"
_MAX_TEXT = 2**32 - 1  # HDF5 counts the bytes of a variable-length string in 32 bits


@dataclass(frozen=True, slots=True, kw_only=True)
class Hdf5Format:
    """Writes HDF5: the numbers of all sentences one after the other, and at the end what makes datasets of them."""

    sentence_index: bool
    by_name: bool = False

    def append(self, file: io.FileIO, first: int, records: Sequence[Record]) -> bytes:
        """Write the numbers of some sentences."""
        if not file.tell():
            write_all(file, [bytes(START)])
        arrays = [record.vectors.astype(record.vectors.dtype.newbyteorder("<"), copy=False) for record in records]
        write_all(file, arrays)
        shape = arrays[0].shape
        note = {
            "dtype": arrays[0].dtype.str,
            "shape": [*shape[:-2], -1, shape[-1]] if len(shape) > 1 else [*shape],
            "lengths": [len(record.tokens) for record in records],
            "sentences": {" ".join(record.tokens): str(n) for n, record in enumerate(records, first)},
            "names": [record.name for record in records],
        }
        return json.dumps(note).encode()

    def finish(self, file: io.FileIO, notes: Notes) -> None:
        """Write headers, names and texts."""
        headers: list[Places] = []
        names: list[str] = []
        sentences, named = _Index(_SENTENCES), _Index(_NAMES)
        for noted in notes():
            with reading(noted.part.path):
                record = json.loads(noted.note)
                datasets = _datasets(noted.end, record)
            headers.append(write_headers(file, *datasets))
            if self.by_name:
                names += record["names"]
                continue
            if self.sentence_index:
                sentences.add(record["sentences"])
            named.add({name: str(n) for n, name in enumerate(record["names"], noted.part.first) if name is not None})
        every = np.concatenate(headers) if headers else np.zeros(0, U64)
        if not file.tell():
            write_all(file, [bytes(START)])
        if self.by_name:
            members = dict(zip(names, every.tolist(), strict=True))
        else:
            texts = [(_SENTENCES, sentences)] if self.sentence_index else []
            texts += [(_NAMES, named)] if named.some else []
            members = {name: write_text(file, index.json()) for name, index in texts}
        root = _write_root(file, members, np.zeros(0, U64) if self.by_name else every)
        size = file.tell()
        file.seek(0)
        write_all(file, [superblock(size, *root)])
        file.seek(size)


def _datasets(end: int, record: dict[str, JSON]) -> tuple[npt.NDArray[np.int64], Places, np.dtype[np.floating]]:
    """The shapes of the datasets of a part, where their numbers are, and their number type.

    Args:
        end: Where the part ends in the file.
        record: What was noted of it.
    """
    lengths, shape = np.array(record["lengths"], np.int64), np.array(record["shape"], np.int64)
    shapes = np.tile(shape, (len(lengths), 1))
    if len(shape) > 1:
        shapes[:, -2] = lengths
    dtype: np.dtype[np.floating] = np.dtype(str(record["dtype"]))
    sizes = shapes.prod(axis=1).astype(U64) * U64.type(dtype.itemsize)
    return shapes, U64.type(end) - np.cumsum(sizes[::-1], dtype=U64)[::-1], dtype


class _Index:
    """A JSON object that grows as text: a dict of all sentences might not fit in memory."""

    def __init__(self, name: str) -> None:
        self._name, self._text, self.some = name, io.BytesIO(), False
        self._text.write(b"{")

    def add(self, numbers: dict[str, str]) -> None:
        """Add the sentences of a part."""
        if numbers:
            self._text.write(b", " if self.some else b"")
            self._text.write(json.dumps(numbers).encode("ascii")[1:-1])
            self.some = True

    def json(self) -> bytes:
        """The whole text."""
        size = self._text.tell() + 1
        if size > _MAX_TEXT:
            raise OSError(
                f"{self._name} would take {size} bytes but HDF5 ends at {_MAX_TEXT} "
                "(use --no-sentence-index, or write .parquet)"
            )
        return self._text.getvalue() + b"}"


def _write_root(file: io.FileIO, members: dict[str, int], numbered: Places) -> tuple[int, int, int]:
    """Write the root group: datasets with names, in which a slash makes a group, and datasets called by numbers."""
    below: dict[str, dict[str, int]] = {}
    direct = {}
    for name, place in members.items():
        group, slash, rest = name.partition("/")
        if slash:
            below.setdefault(group, {})[rest] = place
        else:
            direct[name.encode()] = place
    for group, inner in below.items():
        direct[group.encode()] = _write_root(file, inner, np.zeros(0, U64))[0]
    order = _as_texts(len(numbered))
    others = sorted(direct)
    names = [*(b"%d" % number for number in order.tolist()), *others]  # digits come before letters
    places = np.concatenate([numbered[order], np.array([direct[name] for name in others], U64)])
    return write_group(file, names, places)


def _as_texts(count: int) -> npt.NDArray[np.int64]:
    """The numbers from 0 to `count - 1` in the order of their decimal texts: 0, 1, 10, 11, 2."""
    numbers = np.arange(count, dtype=np.int64)
    digits = np.ones(count, np.int64)
    for power in range(1, 19):
        digits += numbers >= 10**power
    longest = digits.max(initial=1)
    return np.lexsort((digits, numbers * 10 ** (longest - digits)))
