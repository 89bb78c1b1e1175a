"""Attention of one sequence to another or to itself, padding left out. Shapes: B pairs, S and T tokens, D width."""

import torch
from torch import Tensor, nn

from polyseme.tasks.pooling import masked_softmax

_BLOCK = 1 << 22
"""Scores that are in memory at a time where a sequence attends to itself."""


def attended(scores: Tensor, values: Tensor, mask: Tensor) -> Tensor:
    """What each token attends to: scores (B, S, T), values (B, T, D) and their mask (B, T) to (B, S, D)."""
    return masked_softmax(scores, mask.unsqueeze(1)) @ values


class Trilinear(nn.Module):
    """Scores from three weights: of one token, of the other and of their product (Seo et al. 2017).

    The last begin as those of a dot product, so that like tokens attend to each other from the first update on.

    Args:
        dim: The width D of both.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first = nn.Linear(dim, 1, bias=False)
        self.second = nn.Linear(dim, 1, bias=False)
        self.product = nn.Parameter(torch.full((dim,), dim**-0.5))

    def forward(self, first: Tensor, second: Tensor) -> Tensor:
        """(B, S, D) and (B, T, D) to (B, S, T)."""
        product = (first * self.product) @ second.transpose(1, 2)
        scores: Tensor = product + self.first(first) + self.second(second).transpose(1, 2)
        return scores


class BothWays(nn.Module):
    """Passage and question attend to each other: [h; c2q; h * c2q; h * q2c] for each token h of the passage.

    c2q is what h attends to in the question; q2c is the same for all h: the tokens of the passage, each as much as the
    question's token that is nearest to it.

    Args:
        dim: The width D of both.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scores = Trilinear(dim)
        self.dim = 4 * dim

    def forward(self, passage: Tensor, mask: Tensor, question: Tensor, question_mask: Tensor) -> Tensor:
        """(B, T, D) with (B, T), and (B, S, D) with (B, S), to (B, T, 4D)."""
        scores = self.scores(passage, question)  # (B, T, S)
        to_question = attended(scores, question, question_mask)  # (B, T, D)
        nearest = scores.masked_fill(~question_mask.unsqueeze(1), -torch.inf).amax(dim=2, keepdim=True)  # (B, T, 1)
        to_passage = attended(nearest.transpose(1, 2), passage, mask)  # (B, 1, D)
        return torch.cat([passage, to_question, passage * to_question, passage * to_passage], dim=2)


class SelfAttention(nn.Module):
    """What each token attends to among all others (Clark and Gardner 2018, section 3.1).

    A block of tokens is computed at a time, so that the memory grows with the length, not with its square, where no
    gradient is asked for.

    Args:
        dim: The width D.
    """

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.scores = Trilinear(dim)

    def forward(self, states: Tensor, mask: Tensor) -> Tensor:
        """(B, T, D) and (B, T) to (B, T, D)."""
        size, length, _ = states.shape
        places = torch.arange(length, device=states.device)
        single = (mask.sum(dim=1) == 1)[:, None, None]  # a token without others attends to itself
        found = []
        for rows in places.split(max(1, _BLOCK // (size * length))):
            allowed = mask.unsqueeze(1) & ((rows.unsqueeze(1) != places) | single)  # (B, R, T)
            found.append(masked_softmax(self.scores(states[:, rows], states), allowed) @ states)
        return torch.cat(found, dim=1)
