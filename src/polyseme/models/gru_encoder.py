"""A context encoder of gated recurrent units."""

from collections.abc import Sequence

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import PackedSequence

from polyseme.models.encoders import ContextEncoder, EncoderState
from polyseme.nn.packing import Packing


class ProjectedGru(nn.Module):
    """One GRU layer of one direction; H cells recur, P numbers come out."""

    def __init__(self, *, input_dim: int, hidden_dim: int, projection_dim: int) -> None:
        super().__init__()
        self.cells = nn.GRU(input_dim, hidden_dim)
        self.projection = nn.Linear(hidden_dim, projection_dim, bias=False)

    def forward(self, inputs: Tensor, batch_sizes: Sequence[int], state: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Packed inputs (N, I) and a state (B, H) in packed rank order to packed outputs (N, P) and the state after."""
        # Our packed order is torch's own.
        sequence = PackedSequence(inputs, torch.tensor(batch_sizes))
        outputs, final = self.cells(sequence, None if state is None else state.unsqueeze(0))
        return self.projection(outputs.data), final[0]


class GruEncoder(ContextEncoder):
    """Two stacks of GRU layers, run over each sequence from both ends.

    From the second layer on, a layer's input is added to its output.
    """

    def __init__(self, *, layers: int, hidden_dim: int, projection_dim: int) -> None:
        super().__init__()
        self.layers = layers
        self.skip_connections = True

        def stack() -> nn.ModuleList:
            return nn.ModuleList(
                ProjectedGru(input_dim=projection_dim, hidden_dim=hidden_dim, projection_dim=projection_dim)
                for _ in range(layers)
            )

        self.forward_layers = stack()
        self.backward_layers = stack()

    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        ahead, back = tokens, tokens[packing.reverse]
        layers: list[Tensor] = []
        finals: list[Tensor] = []
        for number in range(self.layers):
            before = (None, None) if state is None else state.parts[0][number, packing.order].chunk(2, dim=1)
            outputs, after = self.run_layer(number, (ahead, back), packing.batch_sizes, (before[0], before[1]))
            ahead = outputs[0] + ahead if number else outputs[0]
            back = outputs[1] + back if number else outputs[1]
            layers.append(torch.cat([ahead, back[packing.reverse]], dim=1))
            finals.append(torch.cat(after, dim=1)[packing.rank])
        return layers, EncoderState((torch.stack(finals),))

    def run_layer(
        self,
        number: int,
        inputs: tuple[Tensor, Tensor],
        batch_sizes: Sequence[int],
        states: tuple[Tensor | None, Tensor | None],
    ) -> tuple[tuple[Tensor, Tensor], tuple[Tensor, Tensor]]:
        """Both directions of a layer over packed rows of their own; as `LstmEncoder.run_layer`."""
        ahead, ahead_state = self.forward_layers[number](inputs[0], batch_sizes, states[0])
        back, back_state = self.backward_layers[number](inputs[1], batch_sizes, states[1])
        return (ahead, back), (ahead_state, back_state)
