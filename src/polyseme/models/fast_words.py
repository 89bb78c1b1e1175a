"""The character token encoder for inference: tables and packed layers."""

from typing import Any

import torch
from torch import Tensor, nn

from polyseme.models.token_encoders import CharacterTokenEncoder, TokenEncoder
from polyseme.nn.highway import Highway
from polyseme.nn.kernels.char_cnn import Tables
from polyseme.nn.kernels.dense import PackedDense
from polyseme.nn.kernels.packed import Precision, available
from polyseme.nn.versions import Version, weights_version


class FastWords(TokenEncoder):
    """Computes what a `CharacterTokenEncoder` computes, without gradients.

    Args:
        encoder: Whose weights to use; they stay where they are.
        precision: What the highway and projection layers compute in; convolutions are always float32.
    """

    def __init__(self, encoder: CharacterTokenEncoder, precision: Precision) -> None:
        super().__init__()
        self.dim = encoder.dim
        self.encoder = encoder
        self.precision = precision
        self._packed_version: Version | None = None
        self._tables: Tables | None = None
        self._bias = torch.empty(0)
        self._dense: list[PackedDense] = []

    @torch.no_grad()
    def forward(self, ids: Tensor) -> Tensor:
        """Encode words; see `CharacterTokenEncoder`."""
        encoder = self.encoder
        if ids.device.type != "cpu" or not available(self.precision):
            plain: Tensor = encoder(ids)
            return plain
        self._prepare()
        assert self._tables is not None
        characters = ids if encoder.words is None else ids[:, 1:]
        features = self._tables.features(characters, self._bias, tanh=encoder.characters.activation == "tanh")
        *highways, projection = self._dense
        for highway in highways:
            features = highway(features)
        if encoder.words is not None:
            features = torch.cat([encoder.words(ids[:, 0]), features], dim=1)
        return projection(features)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what is packed out of copies and pickles: it holds addresses."""
        return {**self.__dict__, "_tables": None, "_dense": [], "_packed_version": None}

    def _prepare(self) -> None:
        """Pack at the first use, and again when the weights have changed."""
        version = weights_version(self.encoder)
        if version == self._packed_version:
            return
        layers: list[nn.Module] = [*self.encoder.highways, self.encoder.projection]
        self._tables = Tables(self.encoder.characters.tables(), self.encoder.characters.padding_id)
        self._bias = self.encoder.characters.biases().detach()
        self._dense = [PackedDense(layer, self.precision) for layer in layers if isinstance(layer, Highway | nn.Linear)]
        self._packed_version = version
