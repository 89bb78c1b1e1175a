"""Which earlier span each span refers to: scores of the best candidates, and the likelihood of all right ones.

Shapes: S spans in their order, G width of a span's vector, R spans of a chunk, K candidates of each; column 0 of R x
(K + 1) is the dummy, which says that a span is no mention or the first of its cluster.
"""

from collections.abc import Iterator
from typing import NamedTuple

import torch
from torch import Tensor, nn

from polyseme.tasks.span_scorer import FEATURE_DIM, score_of_hidden

BUCKETS = 9
"""Distances of 1, 2, 3, 4, 5-7, 8-15, 16-31, 32-63 and more."""
_CHUNK = 256
"""Spans whose pairs are computed at a time."""
FARTHEST = 4096
"""Candidates are sought among this many spans before a span, so that memory stays bounded in a very long document."""


class Candidates(NamedTuple):
    """The candidates of some spans."""

    places: Tensor
    """(R, K) of the candidates among all spans; anything where there are fewer than K."""
    scores: Tensor
    """(R, K + 1), 0 for the dummy and -inf where there is no candidate."""


class PairScorer(nn.Module):
    """s(i, j) = mention(i) + mention(j) + coarse(i, j) + fine(i, j).

    The coarse score, a product of two projections and a number for the distance, chooses the candidates (Lee et al.
    2018, section 4); the fine one is two hidden layers over [i; j; i * j; distance] (Lee et al. 2017, section 3.1).

    Args:
        span_dim: G.
        hidden_dim: Of the hidden layers, and of the projections.
        candidates: K at most.
        dropout: After each hidden layer.
    """

    def __init__(self, *, span_dim: int, hidden_dim: int, candidates: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.candidates = candidates
        self.coarse_from = nn.Linear(span_dim, hidden_dim)
        self.coarse_to = nn.Linear(span_dim, hidden_dim)
        # At first the nearest spans are the candidates.
        self.coarse_distance = nn.Parameter(torch.linspace(0, -1, BUCKETS))
        self.distances = nn.Embedding(BUCKETS, FEATURE_DIM)
        self.of_later = nn.Linear(span_dim, hidden_dim)
        self.of_earlier = nn.Linear(span_dim, hidden_dim, bias=False)
        self.of_both = nn.Linear(span_dim, hidden_dim, bias=False)
        self.of_distance = nn.Linear(FEATURE_DIM, hidden_dim, bias=False)
        self.rest = score_of_hidden(hidden_dim, dropout)

    def forward(self, vectors: Tensor, mentions: Tensor) -> Iterator[Candidates]:
        """The candidates of all spans, some spans at a time.

        Args:
            vectors: (S, G)
            mentions: (S,) mention scores.
        """
        asking, asked = self.coarse_from(vectors), self.coarse_to(vectors)
        asking = asking * asking.shape[1] ** -0.5
        later, earlier = self.of_later(vectors), self.of_earlier(vectors)  # (S, H) each, once for each span
        distance = self.of_distance(self.distances.weight)  # (BUCKETS, H)
        for first in range(0, len(vectors), _CHUNK):
            rows = torch.arange(first, min(first + _CHUNK, len(vectors)), device=vectors.device)
            coarse, places, gaps = self._coarse(rows, asking, asked, mentions)
            bucket = buckets(gaps.clamp(min=1))
            hidden = later[rows].unsqueeze(1) + earlier[places] + distance[bucket]
            hidden = hidden + self.of_both(vectors[rows].unsqueeze(1) * vectors[places])  # (R, K, H)
            scores = (coarse + self.rest(hidden).squeeze(2)).float()
            scores = scores.masked_fill(gaps < 1, -torch.inf)
            yield Candidates(places, torch.cat([scores.new_zeros(len(rows), 1), scores], dim=1))

    def _coarse(self, rows: Tensor, asking: Tensor, asked: Tensor, mentions: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """The best candidates of neighbouring spans: scores but for the fine one, places and distances, (R, K) each."""
        first, last = int(rows[0]), int(rows[-1])
        lowest = max(0, first - FARTHEST)
        columns = torch.arange(lowest, max(last, lowest + 1), device=rows.device)  # at least one
        gaps = rows.unsqueeze(1) - columns  # (R, C) below 1 for a span that is not earlier
        scores = asking[rows] @ asked[columns].t() + self.coarse_distance[buckets(gaps.clamp(min=1))]
        scores = scores + mentions[rows].unsqueeze(1) + mentions[columns]
        order = scores.detach().masked_fill((gaps < 1) | (gaps > FARTHEST), -torch.inf)
        best = order.topk(min(self.candidates, len(columns)), dim=1).indices  # (R, K)
        gaps = gaps.gather(1, best)
        return scores.gather(1, best), columns[best], gaps.masked_fill(gaps > FARTHEST, 0)


def buckets(gaps: Tensor) -> Tensor:
    """The bucket of each distance, from 1 on.

    Example:
        >>> buckets(torch.tensor([1, 4, 5, 7, 8, 63, 64, 999])).tolist()
        [0, 3, 4, 4, 5, 7, 8, 8]
    """
    logarithm = gaps.float().log2().floor().long() + 2
    return torch.where(gaps < 5, gaps - 1, logarithm.clamp(max=BUCKETS - 1))


def marginal_loss(candidates: Candidates, clusters: Tensor, rows: Tensor) -> Tensor:
    """Minus the logarithm of the probability that each span is given one of its right antecedents, summed.

    Args:
        candidates: Of R spans.
        clusters: (S,) the number of each span's cluster; -1 for a span that is no mention.
        rows: (R,) the places of the R spans among all.

    Returns:
        A number. The dummy is right for a span that has no right antecedent among its candidates.
    """
    scores = candidates.scores
    own = clusters[rows].unsqueeze(1)
    right = (clusters[candidates.places] == own) & (own >= 0) & scores[:, 1:].isfinite()  # (R, K)
    right = torch.cat([~right.any(dim=1, keepdim=True), right], dim=1)
    return (scores.logsumexp(dim=1) - scores.masked_fill(~right, -torch.inf).logsumexp(dim=1)).sum()
