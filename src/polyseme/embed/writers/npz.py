"""NumPy's `.npz`: a zip of arrays, not compressed, read with `np.load`.

Vectors for every token: one array per sentence, named by its number, (L, T, D) or (T, D)::

    arrays = np.load("out.npz")
    arrays["0"]

One vector per sentence: a single array `vectors` (S, D). Tokens and names are not stored. A run without sentences makes
an archive without arrays.

With `by_name` each sentence has an array of its own in any case, named by it: ``arrays["P12345"]``.
"""

import json
import struct
import zipfile
import zlib
from collections.abc import Sequence
from io import BytesIO, FileIO

import numpy as np
import numpy.typing as npt

from polyseme.embed.writers.base import Bytes, Notes, Record, reading, write_all

_ALL_VECTORS = "vectors.npy"
# The largest numbers in plain fields of the zip format; larger ones need its 64-bit fields (APPNOTE.TXT 4.3.9, 4.5.3).
_MAX_16, _MAX_32 = 0xFFFF, 0xFFFFFFFF
_CHUNK = 1 << 20


class NpzFormat:
    """Writes `.npz`: entries of an archive one after the other, and at the end its directory."""

    def __init__(self, *, by_name: bool = False) -> None:
        self._by_name = by_name

    def append(self, file: FileIO, first: int, records: Sequence[Record]) -> bytes:
        """Write the arrays of some sentences, or rows of the only array; returns their entries in the directory."""
        if records[0].vectors.ndim == 1 and not self._by_name:
            return _append_rows(file, np.stack([record.vectors for record in records]))  # (S, D)
        place, directory = file.tell(), []
        buffers: list[Bytes] = []
        for number, record in enumerate(records, first):
            head = _array_header(record.vectors.shape, record.vectors.dtype)
            info = _entry(f"{record.name if self._by_name else number}.npy", len(head) + record.vectors.nbytes)
            info.CRC = zlib.crc32(record.vectors.data if record.vectors.size else b"", zlib.crc32(head))
            local = info.FileHeader()
            directory.append(_directory_entry(info, place))
            buffers += [local + head, record.vectors]
            place += len(local) + info.file_size
        write_all(file, buffers)
        return b"".join(directory)

    def finish(self, file: FileIO, notes: Notes) -> None:
        """Write the directory."""
        begin = file.tell()
        count = 0
        rows: tuple[int, int, str] | None = None
        for noted in notes():
            part, note = noted.part, noted.note
            if note.startswith(b"{"):
                with reading(part.path):
                    rows = part.stop, json.loads(note)["dim"], json.loads(note)["dtype"]
            else:
                write_all(file, [note])
                count += part.stop - part.first
        if rows is not None:
            count = 1
            write_all(file, [_finish_rows(file, *rows)])
        write_all(file, [_end(begin, file.tell() - begin, count)])


def _entry(name: str, size: int) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name)  # dated 1980: the same vectors make the same bytes
    info.external_attr = 0o644 << 16
    info.file_size = info.compress_size = size
    info.CRC = 0
    info.flag_bits |= 0 if name.isascii() else 0x800  # the name is UTF-8
    return info


def _array_header(shape: tuple[int, ...], dtype: np.dtype[np.floating]) -> bytes:
    header = BytesIO()
    descr = np.lib.format.dtype_to_descr(dtype)
    np.lib.format.write_array_header_1_0(header, {"descr": descr, "fortran_order": False, "shape": shape})
    return header.getvalue()


def _rows_header(count: int, dim: int, dtype: str) -> tuple[zipfile.ZipInfo, bytes, bytes]:
    """The entry of an array of rows, its header in the archive without a checksum, and that of the array."""
    head = _array_header((count, dim), np.dtype(dtype))
    info = _entry(_ALL_VECTORS, len(head) + count * dim * np.dtype(dtype).itemsize)
    return info, info.FileHeader(zip64=True), head


def _append_rows(file: FileIO, rows: npt.NDArray[np.floating]) -> bytes:
    dim, dtype = rows.shape[1], rows.dtype.str
    if not file.tell():  # both headers are as long for any number of rows
        _, local, head = _rows_header(0, dim, dtype)
        write_all(file, [bytes(len(local) + len(head))])
    write_all(file, [rows])
    return json.dumps({"dim": dim, "dtype": dtype}).encode()


def _finish_rows(file: FileIO, count: int, dim: int, dtype: str) -> bytes:
    """Write what stands before the rows, now that they are counted; returns their entry in the directory."""
    info, local, head = _rows_header(count, dim, dtype)
    end = file.tell()
    file.seek(len(local) + len(head))
    info.CRC = zlib.crc32(head)
    while data := file.read(min(_CHUNK, end - file.tell())):
        info.CRC = zlib.crc32(data, info.CRC)
    file.seek(0)
    write_all(file, [info.FileHeader(zip64=True), head])
    file.seek(end)
    return _directory_entry(info, 0)


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
