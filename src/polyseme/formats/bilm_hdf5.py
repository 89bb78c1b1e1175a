"""bilm-tf's ``options.json`` + ``weights.hdf5``, which AllenNLP, SeqVec, BioELMo, CLARIN and NLPL models use."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import h5py
import numpy as np
import torch
from torch import Tensor

from polyseme.errors import FormatError, InputError
from polyseme.files.whole import whole_folder
from polyseme.formats.bilm_arrays import from_arrays, to_arrays
from polyseme.formats.bilm_options import to_options
from polyseme.formats.files import Files
from polyseme.formats.hdf5_chunks import check_stored
from polyseme.formats.weights import Weights
from polyseme.models.config import CharacterEncoderConfig, LstmEncoderConfig
from polyseme.models.model import Model

KIND = "bilm-hdf5"


class Hdf5Weights(Weights):
    """The datasets of an HDF5 file."""

    def __init__(self, file: BinaryIO, path: str) -> None:
        self.path = path
        try:
            self._file = h5py.File(file, "r")
            self._names: list[str] = []
            self._file.visititems(
                lambda name, item: self._names.append(name) if isinstance(item, h5py.Dataset) else None
            )
        except (OSError, RuntimeError, ValueError, KeyError) as error:
            raise FormatError(f"{path}: not an HDF5 file, or a truncated one ({_first_line(error)})") from error

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a dataset; that of an empty one is (0,)."""
        shape: tuple[int, ...] | None = self._file[name].shape
        return (0,) if shape is None else shape

    def __getitem__(self, name: str) -> Tensor:
        dataset = self._file[name]
        if dataset.dtype.kind != "f":
            raise FormatError(f"{self.path}: {name} holds {dataset.dtype}, expected floating-point numbers")
        if dataset.external or dataset.is_virtual:
            raise FormatError(f"{self.path}: {name} is in another file, which HDF5 would open; refused as unsafe")
        try:
            check_stored(dataset, f"{self.path}: {name}")
            return torch.from_numpy(np.ascontiguousarray(dataset[...], dtype=np.float32))
        except (OSError, RuntimeError, MemoryError) as error:
            raise FormatError(
                f"{self.path}: {name} cannot be read ({_first_line(error)}); the file is damaged"
            ) from error


def read(
    files: Files, *, options: str, weights: str, softmax: str | None = None, vocabulary: str | None = None
) -> Model:
    """Read a model from the files of these names."""
    with files.open(weights) as file:
        arrays = Hdf5Weights(file, files.shown(weights))
        if softmax is None:
            return from_arrays(files, arrays, options=options, vocabulary=vocabulary, softmax=arrays, kind=KIND)
        with files.open(softmax) as softmax_file:
            separate = Hdf5Weights(softmax_file, files.shown(softmax))
            if "softmax/W" not in separate:
                raise FormatError(
                    f"{separate.path}: no softmax/W; expected a softmax file with softmax/W and softmax/b"
                )
            return from_arrays(files, arrays, options=options, vocabulary=vocabulary, softmax=separate, kind=KIND)


def write(model: Model, folder: Path) -> None:
    """Write options.json, weights.hdf5 and, if there is a softmax, softmax.hdf5 and vocab.txt into a new folder."""
    config = model.bilm_config
    if not isinstance(config.token_encoder, CharacterEncoderConfig) or config.token_encoder.alphabet != "bytes":
        raise InputError(
            f"{folder}: only a model of byte characters can be written as HDF5, not one of {config.source}"
        )
    if not isinstance(config.encoder, LstmEncoderConfig) or config.softmax_cutoffs:
        what = "an adaptive softmax" if config.softmax_cutoffs else f"a {config.encoder.kind} encoder"
        raise InputError(f"{folder}: HDF5 readers know LSTMs with a full softmax, not {what}; keep the native folder")
    if config.encoder.forget_bias != 1.0:
        raise InputError(
            f"{folder}: HDF5 readers add 1 to the forget bias, but this model adds {config.encoder.forget_bias}"
        )
    tensors = model.bilm.state_dict()
    with whole_folder(folder) as target:
        options = config.source_options or to_options(config, config.token_encoder, config.encoder)
        (target / "options.json").write_text(json.dumps(options, indent=1), encoding="utf-8")
        with h5py.File(target / "weights.hdf5", "w") as file:
            for name, array in to_arrays(tensors, config, config.token_encoder).items():
                file.create_dataset(name, data=array.contiguous().numpy())
        if config.vocabulary_size:
            with h5py.File(target / "softmax.hdf5", "w") as file:
                file.create_dataset("softmax/W", data=tensors["softmax.weight"].cpu().numpy())
                file.create_dataset("softmax/b", data=tensors["softmax.bias"].cpu().numpy())
        if model.vocabulary:
            (target / "vocab.txt").write_text("".join(f"{word}\n" for word in model.vocabulary.words), encoding="utf-8")


def _first_line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
