"""A context encoder of gated convolutions: a bounded window of the past, all positions at once."""

import torch
from torch import Tensor, nn

from polyseme.models.encoders import ContextEncoder, EncoderState
from polyseme.nn.packing import Packing


class GatedConvolution(nn.Module):
    """One layer of one direction: the last few tokens, a gated linear unit, a projection (Dauphin et al. 2017)."""

    def __init__(self, *, dim: int, hidden_dim: int, width: int) -> None:
        super().__init__()
        self.width = width
        self.convolution = nn.Linear(width * dim, 2 * hidden_dim)
        self.projection = nn.Linear(hidden_dim, dim)

    def forward(self, inputs: Tensor, past: Tensor) -> Tensor:
        """Inputs (N, P) to (N, P); ``past`` (N, width) holds each row and its predecessors, N if there is none."""
        padded = torch.cat([inputs, inputs.new_zeros(1, inputs.shape[1])])
        window = nn.functional.embedding(past, padded).flatten(1)  # (N, width * P)
        projected: Tensor = self.projection(nn.functional.glu(self.convolution(window), dim=1))
        return projected


class GatedCnnEncoder(ContextEncoder):
    """Two stacks of gated convolutions, one over the past of each token and one over its future.

    From the second layer on, a layer's input is added to its output. A layer sees ``width`` tokens, so that the top one
    sees ``layers * (width - 1) + 1``; nothing is carried from batch to batch.
    """

    def __init__(self, *, layers: int, hidden_dim: int, projection_dim: int, width: int) -> None:
        super().__init__()
        self.layers = layers
        self.width = width

        def stack() -> nn.ModuleList:
            return nn.ModuleList(
                GatedConvolution(dim=projection_dim, hidden_dim=hidden_dim, width=width) for _ in range(layers)
            )

        self.forward_layers = stack()
        self.backward_layers = stack()

    def forward(
        self, tokens: Tensor, packing: Packing, state: EncoderState | None = None
    ) -> tuple[list[Tensor], EncoderState]:
        """Run both stacks; see `ContextEncoder`."""
        past = _past(packing, self.width)
        ahead, back = tokens, tokens[packing.reverse]
        layers: list[Tensor] = []
        for number in range(self.layers):
            ahead_out = self.forward_layers[number](ahead, past)
            back_out = self.backward_layers[number](back, past)
            ahead = ahead_out + ahead if number else ahead_out
            back = back_out + back if number else back_out
            layers.append(torch.cat([ahead, back[packing.reverse]], dim=1))
        return layers, EncoderState((tokens.new_zeros(self.layers, len(packing.lengths), 0),))


def _past(packing: Packing, width: int) -> Tensor:
    """(N, width): the packed row of each token and of those before it in its sequence; N if there is none."""
    device = packing.order.device
    sizes = torch.tensor(packing.batch_sizes, device=device)
    rows = int(sizes.sum())
    offset = sizes.cumsum(0) - sizes  # (T,)
    step = torch.repeat_interleave(torch.arange(len(sizes), device=device), sizes)  # (N,)
    rank = torch.arange(rows, device=device) - offset[step]
    back = step.unsqueeze(1) - torch.arange(width, device=device)  # (N, width)
    return torch.where(back >= 0, offset[back.clamp(min=0)] + rank.unsqueeze(1), rows)
