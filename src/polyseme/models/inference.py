"""The parts of a network for inference: the same weights, no gradients, a precision of choice."""

import torch
from torch import Tensor, nn

from polyseme.models.encoders import ContextEncoder, EncoderState, LstmEncoder
from polyseme.models.token_encoders import CharacterTokenEncoder, TokenEncoder
from polyseme.nn.backend import choose_backend
from polyseme.nn.blocks import in_blocks
from polyseme.nn.highway import Highway
from polyseme.nn.kernels.char_cnn import Tables
from polyseme.nn.kernels.dense import PackedDense
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing
from polyseme.nn.weight_changes import WeightsVersion, weights_version


class InferenceLstm(ContextEncoder):
    """Computes what an `LstmEncoder` computes, without gradients, in any precision.

    Args:
        encoder: The encoder whose weights are used; they are not copied.
        precision: The number type of the matrix products.
    """

    def __init__(self, encoder: LstmEncoder, precision: Precision) -> None:
        super().__init__()
        self.layers = encoder.layers
        self.encoder = encoder
        self.precision = precision

    @torch.no_grad()
    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        return self.encoder.run(tokens, packing, state, self.precision)


class InferenceTokenEncoder(TokenEncoder):
    """Computes what a `CharacterTokenEncoder` computes, without gradients, from tables and packed layers.

    Args:
        encoder: The encoder whose weights are used; packed copies of them are kept and renewed when they change.
        precision: The number type of the highway and projection layers; convolutions are always float32.
    """

    def __init__(self, encoder: CharacterTokenEncoder, precision: Precision) -> None:
        super().__init__()
        self.dim = encoder.dim
        self.encoder = encoder
        self.precision = precision
        self._packed_version: WeightsVersion | None = None
        self._tables: Tables | None = None
        self._bias = torch.empty(0)
        self._dense: list[PackedDense] = []

    @torch.no_grad()
    def forward(self, ids: Tensor) -> Tensor:
        """Encode words; see `CharacterTokenEncoder`."""
        encoder = self.encoder
        # The packed copies are float32 whatever the weights are, so only the device and the precision count.
        if choose_backend(self.precision, device=ids.device) == "torch":
            # Vectors of words are not bounded as the layers above are; else they differ by 1.7e-5 between batches.
            return in_blocks(encoder, ids) if ids.device.type == "cpu" else encoder(ids)
        tables = self._packed()
        characters = ids if encoder.words is None else ids[:, 1:]
        features = tables.features(characters, self._bias, tanh=encoder.characters.activation == "tanh")
        *highways, projection = self._dense
        for highway in highways:
            features = highway(features)
        if encoder.words is not None:
            features = torch.cat([encoder.words(ids[:, 0]), features], dim=1)
        return projection(features)

    def __getstate__(self) -> dict[str, object]:
        """Leave packed weights out of copies and pickles: they hold memory addresses."""
        return {**self.__dict__, "_tables": None, "_dense": [], "_packed_version": None}

    def _packed(self) -> Tables:
        """Pack the layers at the first use, and again when the weights have changed; gives the filters' tables."""
        version = weights_version(self.encoder)
        if self._tables is None or version != self._packed_version:
            layers: list[nn.Module] = [*self.encoder.highways, self.encoder.projection]
            self._tables = Tables(self.encoder.characters.tables(), self.encoder.characters.padding_id)
            self._bias = self.encoder.characters.biases().detach()
            self._dense = [
                PackedDense(layer, self.precision) for layer in layers if isinstance(layer, Highway | nn.Linear)
            ]
            self._packed_version = version
        return self._tables
