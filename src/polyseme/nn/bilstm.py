"""Stacked LSTMs that read every sentence from both ends: each layer reads both directions of the layer below.

Without projection, peephole or clipping: the numbers and the parameter names of ``torch.nn.LSTM(bidirectional=True)``.
A language model cannot be made of it, since from the second layer on a state has seen both sides of its token; the
encoder of a translator and the encoders of tasks are. The compiled kernels compute it where they can serve, else torch.
"""

from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

from polyseme.nn.backend import autocast_precision, backend_for
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.recurrent import Lane, recurrent_layer
from polyseme.nn.packing import Packing

DIRECTIONS = ("", "_reverse")
"""What ends the parameter names of each direction."""


class FinalState(NamedTuple):
    """What a layer remembers after the last token it read of each sentence, in the caller's order.

    The forward direction ends at the last token, the backward direction at the first.
    """

    hidden: Tensor
    """(B, 2H), forward and backward side by side."""
    cell: Tensor
    """(B, 2H)"""


class BiLstm(nn.Module):
    """Layers of LSTMs, each run over packed sentences from both ends.

    Args:
        input_dim: The width I of what the first layer reads.
        hidden_dim: The cells H of each direction of each layer.
        layers: How many layers.
        dropout: The share of numbers dropped between layers while training.

    Example:
        >>> lstm = BiLstm(input_dim=3, hidden_dim=4, layers=2)
        >>> [layer.shape for layer in lstm(torch.ones(5, 3), Packing.of([2, 3]))]
        [torch.Size([5, 8]), torch.Size([5, 8])]
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, layers: int = 1, dropout: float = 0.0) -> None:
        super().__init__()
        if min(input_dim, hidden_dim, layers) < 1:
            raise ValueError(
                f"input_dim {input_dim}, hidden_dim {hidden_dim} and layers {layers} must all be at least 1"
            )
        self.input_dim = input_dim
        self.hidden_dim = hidden_dim
        self.layers = layers
        self.dropout = dropout
        for name, shape in parameter_shapes(input_dim=input_dim, hidden_dim=hidden_dim, layers=layers).items():
            self.register_parameter(name, nn.Parameter(torch.empty(shape)))
        self.reset_parameters()

    @property
    def dim(self) -> int:
        """The width 2H of a layer."""
        return 2 * self.hidden_dim

    def reset_parameters(self) -> None:
        """Draw all parameters again: uniform between -1/sqrt(H) and 1/sqrt(H), as torch does."""
        bound = self.hidden_dim**-0.5
        for parameter in self.parameters():
            nn.init.uniform_(parameter, -bound, bound)

    def forward(self, packed: Tensor, packing: Packing) -> list[Tensor]:
        """Packed inputs (N, I) to one packed (N, 2H) for each layer, the lowest first."""
        return self.run(packed, packing)[0]

    def run(self, packed: Tensor, packing: Packing) -> tuple[list[Tensor], list[FinalState]]:
        """As `forward`, with the final state of each layer."""
        outputs: list[Tensor] = []
        finals: list[FinalState] = []
        below = packed
        for number in range(self.layers):
            if number and self.dropout:
                below = functional.dropout(below, self.dropout, self.training)
            below, final = self._layer(number, below, packing)
            outputs.append(below)
            finals.append(final)
        return outputs, finals

    def padded(self, inputs: Tensor, mask: Tensor) -> Tensor:
        """The top layer of a padded batch.

        Args:
            inputs: (B, T, I)
            mask: (B, T), true at tokens; a sentence may have none.

        Returns:
            (B, T, 2H), zero at padding.
        """
        mask = mask.bool()
        lengths = [length for length in mask.sum(dim=1).tolist() if length]
        dtype = self.get_parameter("weight_ih_l0").dtype  # under autocast the layers may come in another
        padded = inputs.new_zeros((*mask.shape, self.dim), dtype=dtype)
        if not lengths:
            return padded
        packing = Packing.of(lengths, inputs.device)
        top = self(inputs[mask][packing.flat_of_packed], packing)[-1]  # (N, 2H)
        return padded.masked_scatter(mask.unsqueeze(-1), top[packing.packed_of_flat].to(dtype))

    def _layer(self, number: int, packed: Tensor, packing: Packing) -> tuple[Tensor, FinalState]:
        """Both directions of one layer: (N, 2H) and the final state."""
        weights = tuple(self.get_parameter(name) for name in layer_names(number))
        precision = autocast_precision(packed.device.type)
        if packed.device.type == "cpu" and backend_for(weights, precision, gradients=True) == "kernels":
            return _in_kernels(packed, weights, packing, precision)
        start = packed.new_zeros(2, len(packing.lengths), self.hidden_dim)
        sizes = torch.tensor(packing.batch_sizes)  # torch wants them on the CPU
        output, hidden, cell = torch.lstm(packed, sizes, (start, start), weights, True, 1, 0.0, self.training, True)
        # (2, B, H) in packed rank order to (B, 2H) in the caller's.
        return output, FinalState(*(torch.cat([part[0], part[1]], dim=1)[packing.rank] for part in (hidden, cell)))

    def extra_repr(self) -> str:
        """Show the sizes when printed."""
        return f"{self.input_dim}, {self.hidden_dim}, layers={self.layers}, dropout={self.dropout}"


def _in_kernels(
    packed: Tensor, weights: Sequence[Tensor], packing: Packing, precision: Precision
) -> tuple[Tensor, FinalState]:
    """One layer in the kernels; see `BiLstm`."""
    ahead, back = weights[:4], weights[4:]
    both = [
        Lane(ahead[0], ahead[1], ahead[2] + ahead[3]),
        Lane(back[0], back[1], back[2] + back[3], places=packing.reverse),
    ]
    output, cells = recurrent_layer(packed, both, packing.batch_sizes, precision)
    # The forward direction ends at the last token of each sentence, the backward one at the first.
    lengths = torch.tensor(packing.lengths)
    ends = lengths.cumsum(0)
    forward, backward = output.chunk(2, dim=1)
    hidden = torch.cat(
        [forward[packing.packed_of_flat[ends - 1]], backward[packing.packed_of_flat[ends - lengths]]], dim=1
    )
    return output, FinalState(hidden, torch.cat([cells[0], cells[1]], dim=1)[packing.rank])


def layer_names(number: int) -> list[str]:
    """The parameter names of a layer, in torch's order: the forward direction first."""
    kinds = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")
    return [f"{kind}_l{number}{direction}" for direction in DIRECTIONS for kind in kinds]


def parameter_shapes(*, input_dim: int, hidden_dim: int, layers: int) -> dict[str, tuple[int, ...]]:
    """The shape of every parameter by its name; the rows are the gates input, forget, candidate, output."""
    shapes: dict[str, tuple[int, ...]] = {}
    for number in range(layers):
        width = input_dim if number == 0 else 2 * hidden_dim
        each = [(4 * hidden_dim, width), (4 * hidden_dim, hidden_dim), (4 * hidden_dim,), (4 * hidden_dim,)]
        shapes |= dict(zip(layer_names(number), each * len(DIRECTIONS), strict=True))
    return shapes
