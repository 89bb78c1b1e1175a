"""CoVe weights as they were published: a state dict of a bidirectional LSTM, and the static vectors that it reads."""

from collections.abc import Mapping
from pathlib import Path

import torch
from torch import Tensor

from polyseme.errors import FormatError, InputError
from polyseme.files.whole import whole_folder
from polyseme.formats import word_vectors
from polyseme.formats.assemble import without_numbers
from polyseme.formats.files import Files
from polyseme.formats.pickled_weights import PickledWeights
from polyseme.formats.weights import shown_shape
from polyseme.models.model import Model
from polyseme.models.mt_lstm import MtLstm, cove_model
from polyseme.models.static import WordVectors
from polyseme.nn.bilstm import BiLstm, parameter_shapes
from polyseme.text.table_words import TableWords

KIND = "cove"
SUFFIXES = (".pth", ".pt")
WEIGHTS, VECTORS = "cove.pth", "vectors.txt"
_FIRST = "weight_ih_l0"


def read(files: Files, *, weights: str, vectors: str) -> Model:
    """Read a state dict, and a file of word vectors of any known format."""
    return read_parts(files, weights, files.location(vectors))


def read_parts(files: Files, weights: str, vectors: Path) -> Model:
    """As `read`, with the word vectors in a file or folder of their own.

    A word that is not among the vectors is zeros. If they are all of lower case, a word is looked up in lower case too.
    """
    where = files.shown(weights)
    lstm = _lstm(_plain_names(PickledWeights(files, weights), where), where)
    table = word_vectors.read(vectors)
    if table.dim != lstm.input_dim:
        raise FormatError(
            f"{vectors}: vectors of width {table.dim}, but {where} reads vectors of width {lstm.input_dim}; give those "
            "that it was trained on (for the published weights GloVe 840B, 300 numbers)"
        )
    lower = all(word == word.lower() for word in table.words)
    # A table that is mapped from disk cannot be written to, which torch does not allow for.
    matrix = torch.from_numpy(table.matrix) if table.matrix.flags.writeable else torch.tensor(table.matrix)
    return cove_model(table.words, matrix, lstm, case_backoff=lower, source="CoVe state dict")


def write(model: Model, folder: Path) -> None:
    """Write a CoVe model into a new folder as it was published: cove.pth, and the vectors as GloVe text."""
    network, indexer = model.network, model.indexer
    if not isinstance(network, MtLstm) or not isinstance(indexer, TableWords):
        raise InputError(f"the model ({model.config.source}) is not CoVe, which is needed here; give a CoVe model")
    table = WordVectors(indexer.words, network.token_encoder.vectors.detach().cpu().float().numpy())
    with whole_folder(folder) as target:
        state = {name: tensor.detach().cpu().clone() for name, tensor in network.lstm.state_dict().items()}
        torch.save(state, target / WEIGHTS)
        word_vectors.write_text(table, target / VECTORS)


def _plain_names(weights: PickledWeights, where: str) -> dict[str, Tensor]:
    """The tensors by torch's names: a whole module's state dict has a prefix such as ``rnn.`` before them."""
    found = [name for name in weights if name == _FIRST or name.endswith(f".{_FIRST}")]
    if len(found) != 1:
        held = ", ".join(list(weights)[:4]) or "nothing"
        raise FormatError(
            f"{where}: {len(found) or 'no'} tensors {_FIRST} (it holds {held}); expected the state dict of one "
            "bidirectional LSTM, as CoVe's weights are"
        )
    prefix = found[0].removesuffix(_FIRST)
    return {name.removeprefix(prefix): tensor for name, tensor in weights.items()}


def _lstm(tensors: Mapping[str, Tensor], where: str) -> BiLstm:
    """The LSTM of these tensors, whose sizes are those of the first."""
    first = tuple(tensors[_FIRST].shape)
    if len(first) != 2 or first[0] % 4 or not all(first):
        raise FormatError(f"{where}: {_FIRST} is {shown_shape(first)}, expected (4 x cells, width of a vector)")
    layers = sum(name.startswith("weight_ih_l") and not name.endswith("_reverse") for name in tensors)
    hidden, width = first[0] // 4, first[1]
    what = f"a bidirectional LSTM of {layers} layers, {width} numbers in and {hidden} a direction"
    shapes = parameter_shapes(input_dim=width, hidden_dim=hidden, layers=layers)
    for name, shape in shapes.items():
        if name not in tensors:
            raise FormatError(f"{where}: no {name}; expected {what}, which has one of shape {shown_shape(shape)}")
        if (given := tuple(tensors[name].shape)) != shape:
            raise FormatError(
                f"{where}: {name} is {shown_shape(given)}, expected {shown_shape(shape)} for {what} (as {_FIRST} says)"
            )
        if not torch.isfinite(tensors[name]).all():
            raise FormatError(f"{where}: {name} holds NaN or infinity; the weights are damaged, fetch them again")
    if unknown := [name for name in tensors if name not in shapes]:
        raise FormatError(f"{where}: {unknown[0]} is no tensor of {what}; save the state dict of the LSTM alone")
    lstm = without_numbers(lambda: BiLstm(input_dim=width, hidden_dim=hidden, layers=layers))
    lstm.load_state_dict({name: tensors[name].float() for name in shapes}, assign=True)
    return lstm.eval().requires_grad_(False)
