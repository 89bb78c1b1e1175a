"""The spans of a document's sentences: all of them, and the best that do not cross.

Shapes: N tokens of a document, S spans, W the greatest width.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class Spans:
    """Spans in the order of their first token, then of their last.

    Attributes:
        starts: (S,) the first token of each.
        ends: (S,) the token behind its last.
    """

    starts: Tensor
    ends: Tensor

    def __len__(self) -> int:
        return len(self.starts)

    def at(self, rows: Tensor | slice) -> "Spans":
        """Some of them."""
        return Spans(self.starts[rows], self.ends[rows])

    def pairs(self) -> list[tuple[int, int]]:
        """As plain numbers."""
        return list(zip(self.starts.tolist(), self.ends.tolist(), strict=True))


def all_spans(lengths: Sequence[int], width: int, device: torch.device | str = "cpu") -> Spans:
    """All spans of at most ``width`` tokens within a sentence.

    Args:
        lengths: Tokens of each sentence.
        width: W.
        device: Where they are put.

    Example:
        >>> all_spans([1, 3], 2).pairs()
        [(0, 1), (1, 2), (1, 3), (2, 3), (2, 4), (3, 4)]
    """
    size = torch.tensor(lengths, device=device)
    sentence_end = torch.repeat_interleave(size.cumsum(0), size)  # (N,)
    starts = torch.arange(len(sentence_end), device=device).unsqueeze(1).expand(-1, width)  # (N, W)
    ends = starts + torch.arange(1, width + 1, device=device)
    inside = ends <= sentence_end.unsqueeze(1)
    return Spans(starts[inside], ends[inside])


def best_apart(spans: Spans, scores: Tensor, count: int) -> Tensor:
    """The rows of the best spans, none of which crosses another: ascending, at most ``count``.

    The best span is taken, then the best of the rest that crosses none of those taken, and so on (Lee et al. 2017,
    section 5). One span within another does not cross it. Of equal scores, the first span is the better one.

    Args:
        spans: S of them.
        scores: (S,)
        count: How many at most.

    Example:
        >>> spans = Spans(torch.tensor([0, 1, 1]), torch.tensor([2, 2, 3]))
        >>> best_apart(spans, torch.tensor([3.0, 1.0, 2.0]), 3).tolist()  # 1-3 crosses 0-2, and 1-2 does not
        [0, 1]
    """
    pairs = spans.pairs()
    last_end: dict[int, int] = {}  # the farthest end of what is taken, by its start
    first_start: dict[int, int] = {}  # the farthest start, by its end
    kept: list[int] = []
    for row in torch.argsort(scores.float(), descending=True, stable=True).tolist():
        start, end = pairs[row]
        within = range(start + 1, end)
        if any(last_end.get(place, 0) > end or first_start.get(place, start) < start for place in within):
            continue
        kept.append(row)
        last_end[start] = max(end, last_end.get(start, 0))
        first_start[end] = min(start, first_start.get(end, start))
        if len(kept) >= count:
            break
    return torch.tensor(sorted(kept), dtype=torch.long, device=scores.device)


def width_places(spans: Spans, width: int) -> tuple[Tensor, Tensor]:
    """The tokens of each span (S, W), and which of them are part of it (S, W); the others repeat its last."""
    places = spans.starts.unsqueeze(1) + torch.arange(width, device=spans.starts.device)
    last = spans.ends.unsqueeze(1) - 1
    return torch.minimum(places, last), places <= last
