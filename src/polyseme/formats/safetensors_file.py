"""Reads a safetensors file from a folder or a zip; its header is looked at before the rest is read."""

import io

import safetensors
import safetensors.torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.files import Files

_LENGTH = 8  # bytes of the number that the file begins with: how many bytes its header has


def load_tensors(files: Files, name: str, *, advice: str = "") -> dict[str, Tensor]:
    """The tensors of a file by name.

    Args:
        files: Where the file is.
        name: Its name.
        advice: What to do if it is damaged, as the end of a sentence.

    Raises:
        FormatError: It is no such file, or a damaged one.
    """
    try:
        with files.open(name) as file:
            size = file.seek(0, io.SEEK_END)
            file.seek(0)
            header = int.from_bytes(file.read(_LENGTH), "little")
            if not 0 < header <= size - _LENGTH:
                raise ValueError(f"it begins with a header of {header:,} bytes and has {size:,}")
            file.seek(0)
            return safetensors.torch.load(file.read())
    except (safetensors.SafetensorError, KeyError, ValueError) as error:
        if isinstance(error, FormatError):
            raise
        raise FormatError(
            f"{files.shown(name)}: not a safetensors file, or a truncated one ({error}){advice}"
        ) from error
