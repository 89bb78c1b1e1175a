"""Opening a writer: which format a suffix means, and what is refused."""

import os
from collections.abc import Callable, Mapping
from pathlib import Path

from polyseme.embed.choices import NumberType
from polyseme.embed.writers.base import Format, check_number_type
from polyseme.embed.writers.hdf5 import Hdf5Format
from polyseme.embed.writers.npz import NpzFormat
from polyseme.embed.writers.writer import VectorWriter
from polyseme.errors import InputError, MissingPart, OutputError
from polyseme.files.whole import JSON, reason
from polyseme.files.work_folder import WorkFolder

SUFFIXES = (".npz", ".h5", ".hdf5", ".parquet")
_PART_BYTES = 64 << 20
_PART_SECONDS = 30.0  # a source computes some seconds ahead, and no more than a minute may be lost in all


def open_writer(
    path: str | os.PathLike[str],
    *,
    settings: Mapping[str, JSON],
    dtype: NumberType = "float32",
    resume: bool = False,
    overwrite: bool = False,
    sentence_index: bool = True,
    by_name: bool = False,
    metadata: Mapping[bytes, bytes] | None = None,
    part_bytes: int = _PART_BYTES,
    part_seconds: float = _PART_SECONDS,
    background: bool = False,
) -> VectorWriter:
    """Open a file for embedded vectors, in the format that its suffix names.

    Args:
        path: Where to write: `.npz`, `.h5`, `.hdf5` or `.parquet`.
        settings: What the vectors depend on (model, layers, text...); a run is resumed only with equal settings.
        dtype: The numbers in the file.
        resume: Continue an interrupted run if there is one; `VectorWriter.done` tells where.
        overwrite: Replace an existing file, at the very end.
        sentence_index: Store the texts of the sentences in HDF5, as `sentence_to_index`.
        by_name: Call arrays in `.npz` and HDF5 by the names of the sentences, which must all have one.
        metadata: What the vectors were made with, for the metadata of `.parquet`.
        part_bytes: About how much is held in memory before it is stored.
        part_seconds: What is held in memory is stored when this time has passed.
        background: Store while the caller goes on; an error is then raised by a later call. Up to twice `part_bytes`
            are held in memory.

    Raises:
        InputError: The suffix is unknown, the folder is missing, a file is in the way, or the settings differ.
        MissingPart: The format needs a package that is not installed.
        FormatError: The record of the interrupted run, or of what it stored, is damaged.
        OutputError: Another process writes this file, or the folder cannot be written to.
    """
    out = Path(path)
    makers: dict[str, Callable[[], Format]] = {
        ".npz": lambda: NpzFormat(by_name=by_name),
        ".h5": lambda: Hdf5Format(sentence_index=sentence_index, by_name=by_name),
        ".hdf5": lambda: Hdf5Format(sentence_index=sentence_index, by_name=by_name),
        ".parquet": lambda: _parquet_format(metadata),
    }
    if out.suffix not in makers:
        got = f"the suffix is {out.suffix!r}" if out.suffix else "the name has no suffix"
        raise InputError(f"{out}: {got}, expected one of {', '.join(SUFFIXES)}")
    check_number_type(dtype)
    form = makers[out.suffix]()
    if out.is_dir():
        raise InputError(f"{out}: is a folder, expected the name of a file; give another name")
    work = WorkFolder(
        out,
        kind="embed",
        settings={**settings, "dtype": dtype},
        resume=resume,
        if_exists=None if overwrite else "give another name, or replace it with --overwrite",
    )
    try:
        return VectorWriter(
            work, form=form, dtype=dtype, part_bytes=part_bytes, part_seconds=part_seconds, background=background
        )
    except BaseException as error:
        work.close()
        if isinstance(error, OSError) and not isinstance(error, OutputError):
            raise OutputError(f"{work.path}: cannot be read ({reason(error)}); delete it to begin again") from error
        raise


def _parquet_format(metadata: Mapping[bytes, bytes] | None) -> Format:
    try:
        from polyseme.embed.writers.parquet import ParquetFormat
    except ModuleNotFoundError as error:
        raise MissingPart("writing .parquet needs the package pyarrow; pip install 'polyseme[parquet]'") from error
    return ParquetFormat(metadata)
