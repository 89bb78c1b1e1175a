"""Context encoders: token vectors to layers that know their context.

An encoder takes a packed batch and never mixes the directions: what the forward half of a layer says of a token has
seen only tokens up to it, the backward half only tokens from it on.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.nn.packing import Packing
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm


@dataclass(frozen=True)
class EncoderState:
    """What a recurrent encoder remembers of each sequence, in the caller's order.

    Both directions lie side by side, forward first; what they hold is the encoder's own business.
    """

    parts: tuple[Tensor, ...]
    """Each (L, B, ...)."""


class ContextEncoder(nn.Module, ABC):
    """What any encoder offers: LSTM here, other cells beside it."""

    layers: int

    @abstractmethod
    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Packed token vectors (N, P) to one packed (N, 2P) a layer, and the state after the last token."""


class LstmEncoder(ContextEncoder):
    """Two stacks of projected LSTM layers, run over each sequence from both ends."""

    def __init__(
        self,
        *,
        layers: int,
        hidden_dim: int,
        projection_dim: int,
        cell_clip: float | None,
        projection_clip: float | None,
        skip_connections: bool,
        forget_bias: float,
    ) -> None:
        super().__init__()
        self.layers = layers
        self.skip_connections = skip_connections

        def stack() -> nn.ModuleList:
            return nn.ModuleList(
                ProjectedLstm(
                    input_dim=projection_dim,
                    hidden_dim=hidden_dim,
                    projection_dim=projection_dim,
                    cell_clip=cell_clip,
                    projection_clip=projection_clip,
                    forget_bias=forget_bias,
                )
                for _ in range(layers)
            )

        self.forward_layers = stack()
        self.backward_layers = stack()

    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        states = [layer_states(state, layer, packing.order) for layer in range(self.layers)]
        ahead, ahead_states = self._run(self.forward_layers, tokens, packing, [pair[0] for pair in states])
        back, back_states = self._run(
            self.backward_layers, tokens[packing.reverse], packing, [pair[1] for pair in states]
        )
        layers = []
        while ahead:  # let each half go as soon as it is copied: a very long text holds few layers at once
            layers.append(torch.cat([ahead.pop(0), back.pop(0)[packing.reverse]], dim=1))
        return layers, join_directions(list(zip(ahead_states, back_states, strict=True)), packing.rank)

    def _run(
        self, stack: nn.ModuleList, inputs: Tensor, packing: Packing, states: Sequence[LstmState | None]
    ) -> tuple[list[Tensor], list[LstmState]]:
        """One direction: every layer's packed output (N, P) and final state."""
        outputs: list[Tensor] = []
        finals: list[LstmState] = []
        for layer, state in zip(stack, states, strict=True):
            result, final = layer(inputs, packing.batch_sizes, state)
            if self.skip_connections and outputs:
                result = result + inputs
            outputs.append(result)
            finals.append(final)
            inputs = result
        return outputs, finals


def layer_states(state: EncoderState | None, layer: int, order: Tensor) -> tuple[LstmState | None, LstmState | None]:
    """A layer's state for the forward and the backward direction, in packed rank order."""
    if state is None:
        return None, None
    (forward_h, backward_h), (forward_c, backward_c) = (part[layer, order].chunk(2, dim=1) for part in state.parts)
    return (forward_h, forward_c), (backward_h, backward_c)


def join_directions(finals: Sequence[tuple[LstmState, LstmState]], rank: Tensor) -> EncoderState:
    """The state of all layers in the caller's order, from each layer's pair of directions in packed rank order."""
    return EncoderState(
        tuple(
            torch.stack([torch.cat([forward[part], backward[part]], dim=1)[rank] for forward, backward in finals])
            for part in (0, 1)
        )
    )
