"""Context encoders: token vectors to layers that depend on the context.

An encoder takes a packed batch and never mixes the directions: the forward half of a layer depends only on
the tokens up to its own, the backward half only on those from its own on.
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from polyseme.nn.backend import autocast_precision, backend_for
from polyseme.nn.kernels.lstm import PackedLayer, Pair, States
from polyseme.nn.kernels.lstm_training import trained_layer
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.packing import Packing
from polyseme.nn.projected_lstm import LstmState, ProjectedLstm
from polyseme.nn.rounded_lstm import rounded_lstm
from polyseme.nn.weight_changes import WeightsVersion, weights_version


@dataclass(frozen=True)
class EncoderState:
    """What a recurrent encoder remembers of each sequence, in the caller's order.

    Both directions are side by side, forward first; the contents are private to the encoder.
    """

    parts: tuple[Tensor, ...]
    """Each (L, B, ...)."""


class ContextEncoder(nn.Module, ABC):
    """What every encoder offers, whatever its cells."""

    layers: int

    @abstractmethod
    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Packed token vectors (N, P) to one packed (N, 2P) for each layer, and the state after the last token."""


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

        self._cache: dict[tuple[int, Precision], tuple[WeightsVersion, PackedLayer]] = {}
        self.forward_layers = stack()
        self.backward_layers = stack()

    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        return self.run(tokens, packing, state)

    def run(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None, precision: Precision | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks in a given number type, or in the one torch's autocast asks for."""
        ahead, back = tokens, tokens[packing.reverse]
        layers: list[Tensor] = []
        finals: list[tuple[LstmState, LstmState]] = []
        for number in range(self.layers):
            states = layer_states(state, number, packing.order)
            outputs, final = self.run_layer(number, (ahead, back), packing.batch_sizes, states, precision)
            finals.append(final)
            if self.skip_connections and layers:
                outputs = outputs[0] + ahead, outputs[1] + back
            ahead, back = outputs
            layers.append(torch.cat([ahead, back[packing.reverse]], dim=1))
        return layers, join_directions(finals, packing.rank)

    def run_layer(
        self,
        number: int,
        inputs: Pair,
        batch_sizes: Sequence[int],
        states: States,
        precision: Precision | None = None,
    ) -> tuple[Pair, tuple[LstmState, LstmState]]:
        """Both directions of a layer over packed rows of their own, in the fastest way there is.

        Args:
            number: Which layer.
            inputs: (N, P) of each direction, in the order it reads them.
            batch_sizes: Rows of each step.
            states: State of each direction before the first step.
            precision: What to compute in; by default what torch's autocast asks for.

        Returns:
            Outputs (N, P) and final states of each direction; no skip connection is added.
        """
        precision = precision or autocast_precision(inputs[0].device.type)
        pair = self._pair(number)
        began = [part for state in states if state is not None for part in state]
        learns = torch.is_grad_enabled() and any(
            tensor.requires_grad for tensor in (*inputs, *began, *pair[0].parameters(), *pair[1].parameters())
        )
        weights = (weight for layer in pair for weight in layer.parameters())
        if backend_for(weights, precision, gradients=learns) == "kernels":
            if learns:
                return trained_layer(pair, inputs, batch_sizes, states, precision)
            return self._packed(number, pair, precision)((inputs[0].float(), inputs[1].float()), batch_sizes, states)
        rounded = precision != "float32" and not learns
        (ahead, ahead_state), (back, back_state) = (
            rounded_lstm(layer, given, batch_sizes, state, precision=precision)
            if rounded
            else layer(given, batch_sizes, state)
            for layer, given, state in zip(pair, inputs, states, strict=True)
        )
        return (ahead, back), (ahead_state, back_state)

    def _packed(self, number: int, pair: tuple[ProjectedLstm, ProjectedLstm], precision: Precision) -> PackedLayer:
        """The packed weights of a layer, packed again when they have changed."""
        version = weights_version(*pair)
        key = number, precision
        if key not in self._cache or self._cache[key][0] != version:
            self._cache[key] = version, PackedLayer(*pair, precision)
        return self._cache[key][1]

    def _pair(self, number: int) -> tuple[ProjectedLstm, ProjectedLstm]:
        pair = self.forward_layers[number], self.backward_layers[number]
        assert isinstance(pair[0], ProjectedLstm)
        assert isinstance(pair[1], ProjectedLstm)
        return pair[0], pair[1]

    def __getstate__(self) -> dict[str, object]:
        """Leave the packed weights out of copies and pickles: they hold memory addresses."""
        return {**self.__dict__, "_cache": {}}


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
