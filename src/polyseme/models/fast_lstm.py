"""The LSTM encoder for inference: packed weights, fused kernels, and a choice of number type."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from polyseme.models.encoders import ContextEncoder, EncoderState, LstmEncoder, join_directions, layer_states
from polyseme.nn.kernels.lstm import PackedLayer
from polyseme.nn.kernels.packed import Precision, available
from polyseme.nn.packing import Packing
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm
from polyseme.nn.rounded_lstm import rounded_lstm


class FastLstm(ContextEncoder):
    """Computes what an `LstmEncoder` computes, without gradients.

    The kernels serve on a CPU that has the instructions; elsewhere torch rounds as they do and gives the same numbers.
    Weights are packed at the first use and again after they change.

    Args:
        encoder: Whose weights to use; they stay where they are.
        precision: What to compute in.
    """

    def __init__(self, encoder: LstmEncoder, precision: Precision) -> None:
        super().__init__()
        self.layers = encoder.layers
        self.encoder = encoder
        self.precision = precision
        self._packed: list[PackedLayer] = []
        self._version = -1

    @torch.no_grad()
    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        runs = self._kernels(tokens.device)
        if runs is None and self.precision == "float32":
            plain: tuple[list[Tensor], EncoderState] = self.encoder(tokens, packing, state)
            return plain
        ahead, back = tokens, tokens[packing.reverse]
        layers: list[Tensor] = []
        finals: list[tuple[LstmState, LstmState]] = []
        for number in range(self.layers):
            states = layer_states(state, number, packing.order)
            if runs is None:
                outputs, final = self._rounded(number, (ahead, back), packing.batch_sizes, states)
            else:
                outputs, final = runs[number]((ahead, back), packing.batch_sizes, states)
            finals.append(final)
            if self.encoder.skip_connections and layers:
                outputs = outputs[0].add_(ahead), outputs[1].add_(back)
            ahead, back = outputs
            layers.append(torch.cat([ahead, back[packing.reverse]], dim=1))
        return layers, join_directions(finals, packing.rank)

    def _kernels(self, device: torch.device) -> list[PackedLayer] | None:
        if device.type != "cpu" or not available(self.precision):
            return None
        version = sum(parameter._version for parameter in self.encoder.parameters())
        if version != self._version:
            self._packed = [PackedLayer(*self._pair(number), self.precision) for number in range(self.layers)]
            self._version = version
        return self._packed

    def _rounded(
        self,
        number: int,
        inputs: tuple[Tensor, Tensor],
        batch_sizes: Sequence[int],
        states: tuple[LstmState | None, LstmState | None],
    ) -> tuple[tuple[Tensor, Tensor], tuple[LstmState, LstmState]]:
        (ahead, ahead_state), (back, back_state) = (
            rounded_lstm(layer, given, batch_sizes, state, precision=self.precision)
            for layer, given, state in zip(self._pair(number), inputs, states, strict=True)
        )
        return (ahead, back), (ahead_state, back_state)

    def _pair(self, number: int) -> tuple[ProjectedLstm, ProjectedLstm]:
        def pick(stack: nn.ModuleList) -> ProjectedLstm:
            layer = stack[number]
            assert isinstance(layer, ProjectedLstm)
            return layer

        return pick(self.encoder.forward_layers), pick(self.encoder.backward_layers)
