"""Opening a writer: the format by its suffix, and what may stand in the way."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from polyseme.embed.choices import NumberType
from polyseme.embed.writers.base import Format
from polyseme.embed.writers.hdf5 import Hdf5Format
from polyseme.embed.writers.npz import NpzFormat
from polyseme.embed.writers.partial import JSON, PartialFolder
from polyseme.embed.writers.writer import VectorWriter, advice, reason
from polyseme.errors import InputError, MissingPart, OutputError

SUFFIXES = (".npz", ".h5", ".hdf5", ".parquet")
_PART_BYTES = 64 << 20


def open_writer(
    path: str | os.PathLike[str],
    *,
    settings: Mapping[str, JSON],
    dtype: NumberType = "float32",
    resume: bool = False,
    overwrite: bool = False,
    sentence_index: bool = True,
    part_bytes: int = _PART_BYTES,
) -> VectorWriter:
    """Open a file for embedded vectors in the format its suffix names.

    Args:
        path: Where to write: `.npz`, `.h5`, `.hdf5` or `.parquet`.
        settings: What the vectors depend on (model, layers, input...); a run resumes only with equal settings.
        dtype: The number type in the file.
        resume: Continue an interrupted run if there is one; `VectorWriter.done` tells where.
        overwrite: Replace an existing file, at the very end.
        sentence_index: Store the sentences' texts in HDF5, as `sentence_to_index`.
        part_bytes: About how much is held in memory before it is stored.

    Raises:
        InputError: The suffix is unknown, the folder is missing, a file is in the way, or the settings differ.
        MissingPart: The format needs a package that is not installed.
        OutputError: The folder cannot be written to.
    """
    out = Path(path)
    makers: dict[str, Callable[[], Format]] = {
        ".npz": NpzFormat,
        ".h5": lambda: Hdf5Format(sentence_index=sentence_index),
        ".hdf5": lambda: Hdf5Format(sentence_index=sentence_index),
        ".parquet": _parquet_format,
    }
    if out.suffix not in makers:
        got = f"the suffix is {out.suffix!r}" if out.suffix else "the name has no suffix"
        raise InputError(f"{out}: {got}, expected one of {', '.join(SUFFIXES)}")
    form = makers[out.suffix]()
    if not out.parent.is_dir():
        raise InputError(f"{out}: there is no folder {out.parent}; create it first")
    if out.is_dir():
        raise InputError(f"{out}: is a folder, expected the name of a file; choose another name")
    if out.exists() and not overwrite:
        raise InputError(f"{out}: exists already; choose another name or use --overwrite")
    folder = PartialFolder(out)
    try:
        parts = folder.begin({**settings, "dtype": dtype}, resume=resume)
    except OSError as error:
        raise OutputError(f"{reason(folder.path, error)}; nothing was stored: {advice(error)}") from error
    return VectorWriter(out, folder=folder, parts=parts, form=form, dtype=dtype, part_bytes=part_bytes)


def _parquet_format() -> Format:
    try:
        from polyseme.embed.writers.parquet import ParquetFormat
    except ModuleNotFoundError as error:
        raise MissingPart("writing .parquet needs the package pyarrow; pip install 'polyseme[parquet]'") from error
    return ParquetFormat()
