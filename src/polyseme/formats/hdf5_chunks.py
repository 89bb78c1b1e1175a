"""Whether an HDF5 array can be read in little more memory than it takes in the file.

An array may be stored in chunks, each packed by filters. HDF5 believes what a file says of a chunk's size, and unpacks
a chunk to whatever is in it, so both are checked before.
"""

import math
import zlib

import h5py

from polyseme.errors import FormatError
from polyseme.formats.files import check_unpacked

_GZIP, _SHUFFLE, _CHECKSUM, _LZF = 1, 2, 3, 32000  # HDF5's numbers
_KNOWN = {_GZIP, _SHUFFLE, _CHECKSUM, _LZF}  # lzf cannot unpack to more than about 90 times as much
_CHECKSUM_BYTES = 4


def check_stored(dataset: h5py.Dataset, where: str) -> None:
    """Refuse an array that is not stored in full, or would take far more memory than it takes in the file.

    Raises:
        FormatError: With what is wrong.
    """
    stored = dataset.id.get_storage_size()
    # A tiny file may declare a huge array: HDF5 fills in what is not stored.
    if not _is_whole(dataset) or stored > dataset.file.id.get_filesize():
        raise FormatError(f"{where} declares {dataset.nbytes:,} bytes but stores {stored:,}; the file is truncated")
    check_unpacked(where, stored, dataset.nbytes)
    if dataset.chunks is not None:
        check_unpacked(f"{where}: a chunk", stored, _chunk_bytes(dataset))
        _check_filters(dataset, where)


def _chunk_bytes(dataset: h5py.Dataset) -> int:
    return int(math.prod(dataset.chunks) * dataset.dtype.itemsize)


def _is_whole(dataset: h5py.Dataset) -> bool:
    if dataset.chunks is None:
        return bool(dataset.id.get_storage_size() >= dataset.nbytes)
    chunks = math.prod(-(-size // chunk) for size, chunk in zip(dataset.shape, dataset.chunks, strict=True))
    return bool(dataset.id.get_num_chunks() >= chunks)


def _check_filters(dataset: h5py.Dataset, where: str) -> None:
    """Unpack each chunk that is packed by gzip up to the size it should have, and refuse one that goes on."""
    settings = dataset.id.get_create_plist()
    filters = [settings.get_filter(number)[0] for number in range(settings.get_nfilters())]
    if set(filters) - _KNOWN or len(set(filters)) < len(filters) or {_GZIP, _LZF} <= set(filters):
        raise FormatError(
            f"{where} is packed by HDF5 filters {', '.join(map(str, filters))}; only gzip or lzf, with or without "
            "shuffle and checksum, can be read; write it again without compression"
        )
    if _GZIP not in filters:
        return
    most = _chunk_bytes(dataset) + _CHECKSUM_BYTES
    skips_gzip = 1 << filters.index(_GZIP)
    for number in range(dataset.id.get_num_chunks()):
        place = dataset.id.get_chunk_info(number)
        if place.filter_mask & skips_gzip or place.size > dataset.id.get_storage_size():
            continue  # not packed; or beyond the end of the file, which HDF5 notices
        try:
            unpacked = zlib.decompressobj().decompress(dataset.id.read_direct_chunk(place.chunk_offset)[1], most + 1)
        except zlib.error:  # HDF5 will say so
            continue
        if len(unpacked) > most:
            raise FormatError(
                f"{where}: a chunk unpacks to more than the {most:,} bytes it declares; refused as unsafe"
            )
