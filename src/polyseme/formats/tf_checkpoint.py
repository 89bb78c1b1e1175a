"""Reads bilm-tf's training checkpoints: the arrays of its HDF5 files under TensorFlow's names."""

import re
from collections.abc import Iterator

import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.formats.bilm_arrays import from_arrays
from polyseme.formats.files import Files
from polyseme.formats.tensor_bundle import TensorBundle, latest_prefix
from polyseme.formats.weights import Weights
from polyseme.models.model import Model

KIND = "tf-checkpoint"

# Maps TensorFlow's scopes, whose spelling differs between versions, to the names in HDF5 files.
_NAMES = (
    (re.compile(r"^lm/"), ""),
    (re.compile(r"/rnn/", re.I), "/RNN/"),
    (re.compile(r"/(multi_rnn_cell|MultiRNNCell)/"), "/MultiRNNCell/"),
    (re.compile(r"/(cell_|Cell)(\d+)/"), r"/Cell\2/"),
    (re.compile(r"/(lstm_cell|LSTMCell)/"), "/LSTMCell/"),
    (re.compile(r"LSTMCell/projection/(kernel|weights)$"), "LSTMCell/W_P_0"),
    (re.compile(r"LSTMCell/(kernel|weights)$"), "LSTMCell/W_0"),
    (re.compile(r"LSTMCell/(bias|biases)$"), "LSTMCell/B"),
)


class CheckpointWeights(Weights):
    """The variables of a checkpoint under the names they have in HDF5 files."""

    def __init__(self, bundle: TensorBundle, path: str) -> None:
        self.path = path
        self._bundle = bundle
        self._names = {hdf5_name(name): name for name in self._bundle}

    def __iter__(self) -> Iterator[str]:
        return iter(self._names)

    def shape(self, name: str) -> tuple[int, ...]:
        """The shape of a variable."""
        return tuple(self._bundle[self._names[name]].shape)

    def __getitem__(self, name: str) -> Tensor:
        return torch.from_numpy(self._bundle[self._names[name]].read())


def hdf5_name(variable: str) -> str:
    """The name of a variable in an HDF5 file of the same model."""
    for pattern, replacement in _NAMES:
        variable = pattern.sub(replacement, variable)
    return variable


def read(files: Files, *, options: str, prefix: str | None = None, vocabulary: str | None = None) -> Model:
    """Read a checkpoint: the newest one in the folder unless ``prefix`` names another."""
    if prefix is None:
        prefix = latest_prefix(files.names, files.text("checkpoint") if "checkpoint" in files.names else None)
    if f"{prefix}.index" not in files.names:
        raise InputError(f"{files.where}: contains no {prefix}.index; name one of its checkpoints")
    with TensorBundle(files.open, prefix) as bundle:
        arrays = CheckpointWeights(bundle, files.shown(f"{prefix}.index"))
        return from_arrays(files, arrays, options=options, vocabulary=vocabulary, softmax=arrays, kind=KIND)
