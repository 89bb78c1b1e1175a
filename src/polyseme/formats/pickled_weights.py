"""A state dict saved by torch, read without running any code in the file."""

import io
import pickle
import warnings
import zipfile
from collections.abc import Iterator
from typing import BinaryIO

import torch
from torch import Tensor

from polyseme.errors import FormatError
from polyseme.formats.files import ZIP_SIGNATURE, Files, check_unpacked
from polyseme.formats.weights import Weights

_SMALL_VIEWS = 1 << 24


class PickledWeights(Weights):
    """A state dict saved by torch, read without running any code in the file."""

    def __init__(self, files: Files, name: str) -> None:
        self.path = files.shown(name)
        with files.open(name) as file:
            # A file saved by torch begins as a zip or with a pickle of protocol 2.
            other_pickle = file.read(2) in (b"\x80\3", b"\x80\4", b"\x80\5")
            file.seek(0)
            _check_packing(file, self.path)
            file.seek(0)
            try:
                with warnings.catch_warnings(action="ignore"):
                    state = torch.load(file, map_location="cpu", weights_only=True)
            except Exception as error:  # torch.load raises almost anything on a damaged file
                refused = isinstance(error, pickle.UnpicklingError) and "Unsupported operand" not in str(error)
                if refused or other_pickle:
                    raise FormatError(
                        f"{self.path}: holds more than tensors, and loading it could run code; refused. "
                        "Save its state_dict() alone and try again"
                    ) from error
                raise FormatError(
                    f"{self.path}: not a file saved by torch, or a damaged or truncated one; fetch it again"
                ) from error
        if not isinstance(state, dict) or not all(isinstance(value, Tensor) for value in state.values()):
            raise FormatError(f"{self.path}: holds a {type(state).__name__}, expected a state dict of named tensors")
        for key, value in state.items():
            if not value.dtype.is_floating_point:
                raise FormatError(f"{self.path}: {key} holds {value.dtype}, expected floating-point numbers")
        _check_views(state, self.path)
        self._tensors: dict[str, Tensor] = {str(key): value for key, value in state.items()}

    def __iter__(self) -> Iterator[str]:
        return iter(self._tensors)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a tensor."""
        return tuple(self._tensors[name].shape)

    def __getitem__(self, name: str) -> Tensor:
        return self._tensors[name]


def _check_views(state: dict[str, Tensor], path: str) -> None:
    """Refuse tensors that declare more than is stored: a view can have any size over a single number."""
    storages: dict[int, int] = {}
    for key, value in state.items():
        if value.layout != torch.strided or value.is_nested or value.device.type != "cpu":
            kind = "nested" if value.is_nested else f"{value.device} {value.layout}"
            raise FormatError(f"{path}: {key} is a {kind} tensor, expected an ordinary one; refused")
        storages[value.untyped_storage().data_ptr()] = value.untyped_storage().nbytes()
    declared, stored = sum(value.nbytes for value in state.values()), sum(storages.values())
    if declared > max(_SMALL_VIEWS, 2 * stored):  # twice, since tensors may share their numbers
        largest = max(state, key=lambda key: state[key].nbytes - state[key].untyped_storage().nbytes())
        raise FormatError(
            f"{path}: {largest} declares {state[largest].nbytes:,} bytes but stores fewer (all tensors "
            f"{declared:,} and {stored:,}); refused"
        )


def _check_packing(file: BinaryIO, path: str) -> None:
    """Refuse compressed tensors that would become too large, since torch unpacks them without a limit."""
    if file.read(len(ZIP_SIGNATURE)) != ZIP_SIGNATURE:
        return  # torch's older format is not compressed
    try:
        with zipfile.ZipFile(file) as parts:
            for part in parts.infolist():
                check_unpacked(f"{path}!{part.filename}", part.compress_size, part.file_size)
            check_unpacked(path, file.seek(0, io.SEEK_END), sum(part.file_size for part in parts.infolist()))
    except (zipfile.BadZipFile, NotImplementedError, UnicodeDecodeError, OSError) as error:
        raise FormatError(
            f"{path}: not a file saved by torch, or a damaged or truncated one ({error}); fetch it again"
        ) from error
