"""What a span of tokens is to a model: its vector, and a score for whether it is a mention.

Shapes: N tokens of a document, S spans, D width of a state, E width of an input vector, W the greatest width of a span.
"""

import torch
from torch import Tensor, nn

from polyseme.tasks.spans import Spans, width_places

FEATURE_DIM = 20
"""Width of the vectors of widths and distances."""
_CHUNK = 1 << 14
"""Spans that are scored at a time."""


def score_of_hidden(dim: int, dropout: float) -> nn.Sequential:
    """From a first hidden layer, before its activation, through a second one to a score: (..., dim) to (..., 1)."""
    return nn.Sequential(
        nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim, dim), nn.ReLU(), nn.Dropout(dropout), nn.Linear(dim, 1)
    )


class SpanScorer(nn.Module):
    """[state of the first token; of the last; attention over the inputs; width], and two hidden layers over it.

    Lee et al. 2017, section 3.2. The first hidden layer is linear in the four parts, so that those of tokens are
    computed once for each token rather than for each span.

    Args:
        state_dim: D.
        input_dim: E.
        width: W.
        hidden_dim: Of both hidden layers.
        dropout: After each of them.
    """

    def __init__(self, *, state_dim: int, input_dim: int, width: int, hidden_dim: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.width = width
        self.dim = 2 * state_dim + input_dim + FEATURE_DIM
        self.attention = nn.Linear(state_dim, 1)
        self.widths = nn.Embedding(width, FEATURE_DIM)
        self.of_start = nn.Linear(state_dim, hidden_dim)
        self.of_end = nn.Linear(state_dim, hidden_dim, bias=False)
        self.of_head = nn.Linear(input_dim, hidden_dim, bias=False)
        self.of_width = nn.Linear(FEATURE_DIM, hidden_dim, bias=False)
        self.rest = score_of_hidden(hidden_dim, dropout)

    def forward(self, states: Tensor, inputs: Tensor, spans: Spans) -> Tensor:
        """The mention scores of spans.

        Args:
            states: (N, D)
            inputs: (N, E)
            spans: S of them.

        Returns:
            (S,)
        """
        starts, ends, heads = self.of_start(states), self.of_end(states), self.of_head(inputs)  # (N, H) each
        widths, weights = self.of_width(self.widths.weight), self.attention(states).squeeze(1)
        found: list[Tensor] = []
        for first in range(0, len(spans), _CHUNK):
            some = spans.at(slice(first, first + _CHUNK))
            hidden = starts[some.starts] + ends[some.ends - 1] + widths[some.ends - some.starts - 1]
            found.append(self.rest(hidden + attended(heads, weights, some, self.width)).squeeze(1))
        return torch.cat(found)

    def vectors(self, states: Tensor, inputs: Tensor, spans: Spans) -> Tensor:
        """The vectors of spans: (S, 2D + E + `FEATURE_DIM`)."""
        heads = attended(inputs, self.attention(states).squeeze(1), spans, self.width)
        widths = self.widths(spans.ends - spans.starts - 1)
        return torch.cat([states[spans.starts], states[spans.ends - 1], heads, widths], dim=1)


def attended(values: Tensor, weights: Tensor, spans: Spans, width: int) -> Tensor:
    """The mean of the values within each span, by the softmax of the weights within it.

    Args:
        values: (N, E)
        weights: (N,)
        spans: S of them.
        width: Their greatest width.

    Returns:
        (S, E)
    """
    places, inside = width_places(spans, width)
    shares = weights[places].float().masked_fill(~inside, -torch.inf).softmax(dim=1)  # (S, W)
    return nn.functional.embedding_bag(places, values.float(), mode="sum", per_sample_weights=shares)
