"""Spans of a sentence as BIO or BIOES tags that a model predicts, and which tag may follow which."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from polyseme.tasks.examples import Span
from polyseme.tasks.tags import OUTSIDE, split_tag


def bioes_tags(labels: Iterable[str]) -> list[str]:
    """All tags of these labels: O, then four for each."""
    return [OUTSIDE, *(f"{part}-{label}" for label in labels for part in "BIES")]


def bio_tags(labels: Iterable[str]) -> list[str]:
    """All tags of these labels: O, then two for each."""
    return [OUTSIDE, *(f"{part}-{label}" for label in labels for part in "BI")]


def as_bioes(spans: Iterable[Span], length: int) -> list[str]:
    """The tags of a sentence of this length.

    Example:
        >>> as_bioes([Span(0, 1, "LOC"), Span(1, 4, "PER")], 5)
        ['S-LOC', 'B-PER', 'I-PER', 'E-PER', 'O']
    """
    tags = [OUTSIDE] * length
    for span in spans:
        tags[span.start : span.end] = [f"I-{span.label}"] * (span.end - span.start)
        tags[span.start] = f"B-{span.label}"
        tags[span.end - 1] = f"{'S' if span.end - span.start == 1 else 'E'}-{span.label}"
    return tags


def as_bio(spans: Iterable[Span], length: int) -> list[str]:
    """The tags of a sentence of this length.

    Example:
        >>> as_bio([Span(0, 1, "LOC"), Span(1, 4, "PER")], 5)
        ['B-LOC', 'B-PER', 'I-PER', 'I-PER', 'O']
    """
    tags = [OUTSIDE] * length
    for span in spans:
        tags[span.start : span.end] = [f"I-{span.label}"] * (span.end - span.start)
        tags[span.start] = f"B-{span.label}"
    return tags


def allowed_steps(tags: Sequence[str]) -> Tensor:
    """Which tag may follow which, as `polyseme.nn.crf.Crf` takes it: (K + 2, K).

    Tags with an ``E-`` or ``S-`` among them are BIOES, where a span that has begun must end; else they are BIO.
    """
    parts = [split_tag(tag) for tag in tags]
    closing = any(part in ("E", "S") for part, _ in parts)

    def follows(before: tuple[str, str], after: tuple[str, str]) -> bool:
        inside = before[0] in ("B", "I")
        if after[0] in ("I", "E"):
            return inside and before[1] == after[1]
        return not (closing and inside)

    edge = (OUTSIDE, "")
    rows = [[follows(before, after) for after in parts] for before in (*parts, edge)]
    return torch.tensor([*rows, [follows(before, edge) for before in parts]])
