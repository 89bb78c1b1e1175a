"""A linear-chain conditional random field over the tags of a sentence (Lafferty et al. 2001).

Sentences are packed (see `polyseme.nn.packing`): step t is one block of rows, and the sentences that have not ended are
its first rows, so that nothing is computed for padding.
"""

import torch
from torch import Tensor, nn

from polyseme.nn.packing import Packing
from polyseme.nn.viterbi import best_tags


class Crf(nn.Module):
    """Scores a sequence of tags by emissions, transitions, and what it begins and ends with.

    Args:
        tags: How many tags, K.
        allowed: (K + 2, K) whether tag j may follow tag i; row K is what may begin a sentence, and row K + 1 holds what
            may end one. By default everything is allowed. `decode` never gives a sequence that is not allowed; the
            likelihood counts all sequences, so that data with a mistake in it still has a finite loss.

    Example:
        >>> crf = Crf(2)
        >>> crf.decode(torch.tensor([[99.0, 0.0], [0.0, 99.0]]), Packing.of([2]))
        tensor([0, 1])
    """

    def __init__(self, tags: int, allowed: Tensor | None = None) -> None:
        super().__init__()
        self.transitions = nn.Parameter(torch.empty(tags, tags))  # (K, K) from row to column
        self.start = nn.Parameter(torch.empty(tags))
        self.end = nn.Parameter(torch.empty(tags))
        nn.init.xavier_normal_(self.transitions)
        nn.init.zeros_(self.start)
        nn.init.zeros_(self.end)
        rule = torch.ones(tags + 2, tags, dtype=torch.bool) if allowed is None else allowed.bool()
        if rule.shape != (tags + 2, tags):
            raise ValueError(f"allowed is {tuple(rule.shape)}, expected ({tags + 2}, {tags})")
        self.register_buffer("allowed", rule, persistent=False)

    def forward(self, emissions: Tensor, tags: Tensor, packing: Packing) -> Tensor:
        """The negative log-likelihood of each sentence's tags.

        Args:
            emissions: (N, K) packed.
            tags: (N,) packed.
            packing: The layout of the batch.

        Returns:
            (B,) in the caller's order.
        """
        return (self.log_partition(emissions, packing) - self.score(emissions, tags, packing))[packing.rank]

    def log_partition(self, emissions: Tensor, packing: Packing) -> Tensor:
        """The logarithm of the sum over all sequences of tags: (B,) longest sentence first."""
        alpha, ended, first = self.start + emissions[: packing.batch_sizes[0]], [], packing.batch_sizes[0]
        for size in packing.batch_sizes[1:]:
            if size < len(alpha):
                ended.append(alpha[size:])
                alpha = alpha[:size]
            # (B, K, 1) + (K, K): every tag before with every tag now.
            alpha = torch.logsumexp(alpha.unsqueeze(2) + self.transitions, dim=1) + emissions[first : first + size]
            first += size
        return torch.logsumexp(torch.cat([alpha, *reversed(ended)]) + self.end, dim=1)

    def score(self, emissions: Tensor, tags: Tensor, packing: Packing) -> Tensor:
        """The score of the given tags: (B,) longest sentence first."""
        sizes = torch.tensor(packing.batch_sizes, device=tags.device)
        starts = sizes.cumsum(0) - sizes  # (T,) the first packed row of each step
        count = packing.batch_sizes[0]
        row = torch.arange(len(tags), device=tags.device) - torch.repeat_interleave(starts, sizes)  # (N,) the sentence
        after = torch.arange(count, len(tags), device=tags.device)
        before = after - torch.repeat_interleave(sizes[:-1], sizes[1:])  # a step lies one block of rows behind
        total = self.start[tags[:count]].index_add(0, row, emissions.gather(1, tags.unsqueeze(1)).squeeze(1))
        total = total.index_add(0, row[count:], self.transitions[tags[before], tags[after]])
        lengths = torch.tensor(packing.lengths, device=tags.device)[packing.order]  # (B,)
        last = starts[lengths - 1] + torch.arange(count, device=tags.device)
        return total + self.end[tags[last]]

    @torch.no_grad()
    def decode(self, emissions: Tensor, packing: Packing) -> Tensor:
        """The best allowed tags of each sentence, by Viterbi's algorithm: (N,) packed."""
        return best_tags(
            emissions,
            packing,
            allowed=self.get_buffer("allowed"),
            start=self.start,
            transitions=self.transitions,
            end=self.end,
        )
