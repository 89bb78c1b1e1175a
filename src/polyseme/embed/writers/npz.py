"""NumPy's `.npz`: a zip of arrays, not compressed, read with `np.load`.

Vectors for every token: one array per sentence, named by its number, (L, T, D) or (T, D)::

    arrays = np.load("out.npz")
    arrays["0"]

One vector per sentence: a single array `vectors` (S, D). Tokens and names are not stored. A run without sentences makes
an archive without arrays.

With `by_name` each sentence has an array of its own in any case, named by it: ``arrays["P12345"]``.
"""

import io
import shutil
import struct
import zipfile
from collections.abc import Sequence
from pathlib import Path
from typing import BinaryIO

import numpy as np
import numpy.typing as npt

from polyseme.embed.writers.base import Part, Record, reading

_ALL_VECTORS = "vectors.npy"
# The largest numbers in plain fields of the zip format; larger ones need its 64-bit fields (APPNOTE.TXT 4.3.9, 4.5.3).
_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_CHUNK = 1 << 20


class NpzFormat:
    """Writes `.npz`."""

    single_part_is_whole = True

    def __init__(self, *, by_name: bool = False) -> None:
        self._by_name = by_name

    def write_part(self, path: Path, first: int, records: Sequence[Record]) -> None:
        """Write records as an archive of their own."""
        with zipfile.ZipFile(path, "w") as archive:
            if records[0].vectors.ndim == 1 and not self._by_name:
                _add(archive, _ALL_VECTORS, np.stack([record.vectors for record in records]))  # (S, D)
                return
            for number, record in enumerate(records, first):
                _add(archive, f"{record.name if self._by_name else number}.npy", record.vectors)

    def merge(self, path: Path, parts: Sequence[Part]) -> None:
        """Write the arrays of all parts as one archive."""
        if parts and not self._by_name and _holds_one_array(parts[0]):
            _merge_rows(path, parts)
        else:
            _merge_entries(path, parts)


def _add(archive: zipfile.ZipFile, name: str, array: npt.NDArray[np.floating]) -> None:
    data = io.BytesIO()
    np.lib.format.write_array_header_1_0(data, np.lib.format.header_data_from_array_1_0(array))
    data.write(array.data if array.size else b"")
    archive.writestr(_entry(name), data.getbuffer())


def _entry(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980: the same vectors make the same bytes
    info.external_attr = 0o644 << 16
    return info


def _holds_one_array(part: Part) -> bool:
    with reading(part), zipfile.ZipFile(part.path) as archive:
        return archive.namelist() == [_ALL_VECTORS]


def _merge_rows(path: Path, parts: Sequence[Part]) -> None:
    with zipfile.ZipFile(path, "w") as archive, archive.open(_entry(_ALL_VECTORS), "w", force_zip64=True) as target:
        for part in parts:
            with reading(part), zipfile.ZipFile(part.path) as piece, piece.open(_ALL_VECTORS) as source:
                np.lib.format.read_magic(source)
                (_, dim), fortran_order, dtype = np.lib.format.read_array_header_1_0(source)
                if part.first == 0:
                    header = {
                        "shape": (parts[-1].stop, dim),
                        "fortran_order": fortran_order,
                        "descr": np.lib.format.dtype_to_descr(dtype),
                    }
                    np.lib.format.write_array_header_1_0(target, header)
                shutil.copyfileobj(source, target, _CHUNK)


def _merge_entries(path: Path, parts: Sequence[Part]) -> None:
    """Join archives without unpacking them: their entries as they are, then one directory of all entries.

    `zipfile` would hold the whole directory in memory until the end.
    """
    with path.open("wb") as target:
        starts = []
        for part in parts:
            starts.append(target.tell())
            with reading(part), zipfile.ZipFile(part.path) as archive, part.path.open("rb") as source:
                _copy(source, target, archive.start_dir)
        directory, count = target.tell(), 0
        for part, start in zip(parts, starts, strict=True):
            with reading(part), zipfile.ZipFile(part.path) as archive:
                for info in archive.infolist():
                    target.write(_directory_entry(info, start + info.header_offset))
                    count += 1
        target.write(_end(directory, target.tell() - directory, count))


def _copy(source: BinaryIO, target: BinaryIO, size: int) -> None:
    while size:
        data = source.read(min(size, _CHUNK))
        target.write(data)
        size -= len(data)


def _directory_entry(info: zipfile.ZipInfo, offset: int) -> bytes:
    name = info.filename.encode("utf-8")  # as zipfile does, with the flag that says so if it is not ASCII
    wide = (info.file_size, info.compress_size, offset)
    extra = b"".join(struct.pack("<Q", value) for value in wide if value >= _MAX_32)
    if extra:
        extra = struct.pack("<HH", 1, len(extra)) + extra
    size, compressed, place = (min(value, _MAX_32) for value in wide)
    version = 45 if extra else 20
    made_by = 3 << 8 | version  # Unix, whose file mode external_attr holds
    date = 1 << 5 | 1  # 1 January 1980, midnight
    fixed = struct.pack(
        "<4s6H3I5H2I",
        *(b"PK\x01\x02", made_by, version, info.flag_bits, info.compress_type, 0, date),
        *(info.CRC, compressed, size, len(name), len(extra), 0, 0, 0, info.external_attr, place),
    )
    return fixed + name + extra


def _end(directory: int, size: int, count: int) -> bytes:
    """The records at the end of an archive: where its directory is, how long it is, and how many entries it has."""
    wide = b""
    if directory >= _MAX_32 or size >= _MAX_32 or count >= _MAX_16:
        wide = struct.pack("<4sQ2H2I4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, count, count, size, directory)
        wide += struct.pack("<4sIQI", b"PK\x06\x07", 0, directory + size, 1)
    few = min(count, _MAX_16)
    last = (few, few, min(size, _MAX_32), min(directory, _MAX_32), 0)
    return wide + struct.pack("<4s4H2IH", b"PK\x05\x06", 0, 0, *last)
