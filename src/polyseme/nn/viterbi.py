"""The best sequence of tags of each sentence among those that are allowed, by Viterbi's algorithm.

Shapes: N tokens in packed order (see `polyseme.nn.packing`), B sentences, K tags.
"""

import torch
from torch import Tensor

from polyseme.nn.packing import Packing


@torch.no_grad()
def best_tags(
    emissions: Tensor,
    packing: Packing,
    *,
    allowed: Tensor,
    start: Tensor | None = None,
    transitions: Tensor | None = None,
    end: Tensor | None = None,
) -> Tensor:
    """The allowed sequence with the highest sum of scores, for each sentence: (N,) packed.

    Args:
        emissions: (N, K) packed.
        packing: The layout of the batch.
        allowed: (K + 2, K) whether tag j may follow tag i; row K is what may begin a sentence, and row K + 1 holds what
            may end one.
        start: (K,) scores of the first tag; 0 by default, as those below.
        transitions: (K, K) from row to column.
        end: (K,) of the last tag.

    Example:
        >>> allowed = torch.tensor([[True, False], [True, True], [True, True], [True, True]])  # never 1 after 0
        >>> best_tags(torch.tensor([[1.0, 0.0], [0.0, 3.0]]), Packing.of([2]), allowed=allowed)
        tensor([1, 1])
    """
    rule = torch.zeros(allowed.shape, device=emissions.device).masked_fill(~allowed, -torch.inf)
    steps = rule[:-2] if transitions is None else rule[:-2] + transitions
    first_rule = rule[-2] if start is None else rule[-2] + start
    last_rule = rule[-1] if end is None else rule[-1] + end
    best = first_rule + emissions[: packing.batch_sizes[0]]
    ended, back, first = [best[:0]], [], packing.batch_sizes[0]
    for size in packing.batch_sizes[1:]:
        ended.append(best[size:])
        best = best[:size]
        best, where = (best.unsqueeze(2) + steps).max(dim=1)  # (B, K)
        best = best + emissions[first : first + size]
        back.append(where)
        first += size
    final = torch.cat([best, *reversed(ended)]) + last_rule
    return _trace(final.argmax(dim=1), back, packing)


def _trace(last: Tensor, back: list[Tensor], packing: Packing) -> Tensor:
    """Follow the pointers from the last tag of each sentence (B,) to its first: (N,) packed."""
    steps: list[Tensor] = []
    sizes = packing.batch_sizes
    current = last[: sizes[-1]]
    for number in range(len(sizes) - 1, -1, -1):
        # Sentences that end at this step begin to be traced here.
        current = torch.cat([current, last[len(current) : sizes[number]]])
        steps.append(current)
        if number:
            current = back[number - 1].gather(1, current.unsqueeze(1)).squeeze(1)
    return torch.cat(steps[::-1])
