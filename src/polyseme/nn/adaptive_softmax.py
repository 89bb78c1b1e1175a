"""Adaptive softmax: frequent words have rows of full width, rare words have narrower rows, in clusters."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from torch import Tensor, nn

from polyseme.nn.softmax import Softmax, full_nll, target_log_probability

NARROWING = 4.0
"""Each cluster's rows are this many times narrower than those of the one before (Grave et al. 2017, section 4)."""


class AdaptiveSoftmax(Softmax):
    """Exact log-probabilities over the whole vocabulary at a fraction of the full softmax's work and memory.

    Args:
        dim: Width P of the states.
        vocabulary_size: Words, most frequent first.
        cutoffs: The id of the first word of each cluster; words before the first cluster are in the head.
    """

    def __init__(self, dim: int, vocabulary_size: int, cutoffs: Sequence[int]) -> None:
        super().__init__()
        self.vocabulary_size = vocabulary_size
        self.dim = dim
        self.cutoffs = tuple(cutoffs)
        narrowest = dim // NARROWING ** len(cutoffs)
        # Slightly below the exact root: rounding could otherwise make the narrowest rows 0 wide.
        narrowing = NARROWING if narrowest >= 1 else (1 - 1e-9) * dim ** (1 / len(cutoffs))
        self.clusters = nn.AdaptiveLogSoftmaxWithLoss(
            dim, vocabulary_size, list(cutoffs), div_value=narrowing, head_bias=True
        )

    def forward(self, states: Tensor) -> Tensor:
        """Log-probability of every word after each state: (..., P) to (..., V)."""
        flat = self.clusters.log_prob(states.reshape(-1, self.dim))
        return flat.reshape(*states.shape[:-1], self.vocabulary_size)

    def nll(self, states: Tensor, targets: Tensor) -> Tensor:
        """Summed negative log-likelihood; only the clusters that contain a target are computed."""
        head, tails = self._targets(targets)
        total = full_nll(states, self.clusters.head.weight, self.clusters.head.bias, head)
        for narrow, table, _, words in self._clusters_with_targets(states, tails):
            total = total + full_nll(narrow, table, table.new_zeros(len(table)), words)
        return total

    def log_probability(self, states: Tensor, targets: Tensor) -> Tensor:
        """Log-probability (N,) of one word after each state; only the clusters that contain one are computed."""
        head, tails = self._targets(targets)
        result = target_log_probability(states, self.clusters.head.weight, self.clusters.head.bias, head)
        for narrow, table, rows, words in self._clusters_with_targets(states, tails):
            result = result.index_add(
                0, rows, target_log_probability(narrow, table, table.new_zeros(len(table)), words)
            )
        return result

    def _clusters_with_targets(
        self, states: Tensor, tails: list[tuple[Tensor, Tensor]]
    ) -> Iterator[tuple[Tensor, Tensor, Tensor, Tensor]]:
        """Yield for each cluster with a target: projected states, word table, rows of the batch, ids in the cluster."""
        for cluster, (rows, words) in zip(self.clusters.tail, tails, strict=True):
            if len(rows):
                narrowing, table = cluster.children()
                yield narrowing(states[rows]), table.get_parameter("weight"), rows, words

    def _targets(self, targets: Tensor) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        """Return the head's targets (N,), words or clusters, and per cluster the rows and the ids in the cluster."""
        head = targets.clone()
        tails = []
        for number, (low, high) in enumerate(pairwise((*self.cutoffs, self.vocabulary_size))):
            rows = ((targets >= low) & (targets < high)).nonzero().squeeze(1)
            head[rows] = self.cutoffs[0] + number
            tails.append((rows, targets[rows] - low))
        return head, tails
