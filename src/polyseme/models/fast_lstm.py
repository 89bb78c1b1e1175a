"""The LSTM encoder for inference, in a number type of choice."""

import torch
from torch import Tensor

from polyseme.models.encoders import ContextEncoder, EncoderState, LstmEncoder
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing


class FastLstm(ContextEncoder):
    """Computes what an `LstmEncoder` computes, without gradients, in any precision.

    Args:
        encoder: Whose weights to use; they stay where they are.
        precision: What to compute in.
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
