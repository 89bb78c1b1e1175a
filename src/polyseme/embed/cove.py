"""CoVe vectors as a module that a task model holds: ids of sentences to vectors."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Literal, NamedTuple

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.files.lock import locked
from polyseme.formats import cove_folder
from polyseme.formats.detect import open_model
from polyseme.models.elmo_layers import ElmoLayers
from polyseme.models.model import Model, ModelPath
from polyseme.models.mt_lstm import MtLstm

LayerNumbers = Literal["top"] | int | Sequence[int]


class CoveOutput(NamedTuple):
    """CoVe vectors of a padded batch."""

    vectors: Tensor
    """(B, T, D), zero at padding."""
    mask: Tensor
    """(B, T), true at tokens."""


class Cove(nn.Module):
    """A table of static vectors and the encoder of a translator over them (McCann et al. 2017).

    Layer 0 is the static vector; layers 1 and 2 are the LSTM layers, which the original software calls 0 and 1. The
    same sentence has the same vectors in any batch, and a word without a static vector is zeros at layer 0.

    Args:
        source: A CoVe folder, ``(weights, vectors)`` as published, or an opened model.
        layers: ``"top"``, the number of a layer, or several, which are put side by side: ``(0, 2)`` is [GloVe; CoVe].
        requires_grad: Whether the LSTMs learn with the task.
        train_vectors: Whether the static vectors do.
        dropout: On the vectors, while training.

    Example:
        >>> from polyseme.models.mt_lstm import cove_model
        >>> from polyseme.nn.bilstm import BiLstm
        >>> lstm = BiLstm(input_dim=3, hidden_dim=3, layers=2)
        >>> cove = Cove(cove_model(["river", "bank"], torch.ones(2, 3), lstm, case_backoff=True), layers=(0, 2))
        >>> cove(cove.ids([["The", "river", "bank"], ["bank"]])).vectors.shape
        torch.Size([2, 3, 9])
    """

    def __init__(
        self,
        source: ModelPath | Model,
        *,
        layers: LayerNumbers = "top",
        requires_grad: bool = False,
        train_vectors: bool = False,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        model = source if isinstance(source, Model) else open_model(source)
        self.layers = _numbers(layers, _as_mt_lstm(model).layers)
        self.encoder = ElmoLayers(model, requires_grad=requires_grad)
        self.network.token_encoder.requires_grad_(train_vectors)
        self.dropout = nn.Dropout(dropout)

    @property
    def network(self) -> MtLstm:
        """The table of vectors and the LSTMs."""
        return _as_mt_lstm(self.encoder.model)

    @property
    def dim(self) -> int:
        """The width D of a vector: that of the static vectors, twice the cells, or the sum over the layers."""
        network = self.network
        return sum(2 * network.lstm.hidden_dim if number else network.token_encoder.dim for number in self.layers)

    def ids(self, sentences: Iterable[Sequence[str]]) -> Tensor:
        """The ids of sentences, each a list of tokens, as `forward` takes them: (B, T, 1)."""
        return self.encoder.ids(sentences)

    def forward(self, ids: Tensor) -> CoveOutput:
        """The vectors of a padded batch (B, T, 1)."""
        layers, mask = self.encoder(ids)
        chosen = [self.network.narrow(layers[number], number) for number in self.layers]
        return CoveOutput(self.dropout(torch.cat(chosen, dim=-1)), mask)

    def save(self, folder: str | Path) -> None:
        """Write the model as it is now into a new folder, completely or not at all."""
        with locked(Path(folder)):
            cove_folder.write(replace(self.encoder.model, path=None), Path(folder))


def _as_mt_lstm(model: Model) -> MtLstm:
    if not isinstance(model.network, MtLstm):
        raise InputError(f"the model ({model.config.source}) is not CoVe; give a CoVe folder or (weights, vectors)")
    return model.network


def _numbers(layers: LayerNumbers, count: int) -> tuple[int, ...]:
    """The numbers of the chosen layers."""
    if layers == "top":
        return (count - 1,)
    numbers = (layers,) if isinstance(layers, int) else tuple(layers)
    if not numbers or not all(isinstance(number, int) and 0 <= number < count for number in numbers):
        raise InputError(f"layers is {layers!r}, expected 'top' or numbers from 0 (static vectors) to {count - 1}")
    return numbers
