"""Spans as BIO or BIOES tags, and back."""

from collections.abc import Iterator, Sequence

from polyseme.errors import InputError
from polyseme.tasks.examples import Span

OUTSIDE = "O"
_LAST = frozenset("ES")
_FIRST = frozenset("BS")


def tag_spans(tags: Sequence[str]) -> Iterator[Span]:
    """The spans of a sequence of BIO or BIOES tags, broken ones too.

    A tag that continues nothing of its type (``I-PER`` after ``O`` or ``B-LOC``, ``E-PER`` alone) begins a span, and a
    span without ``E-`` ends where nothing continues it.

    Example:
        >>> list(tag_spans(["I-PER", "I-LOC", "B-LOC", "O"]))
        [Span(start=0, end=1, label='PER'), Span(start=1, end=2, label='LOC'), Span(start=2, end=3, label='LOC')]
    """
    start, before = 0, OUTSIDE
    for position, tag in enumerate(tags):
        if not continues(before, tag):
            if before != OUTSIDE:
                yield Span(start, position, split_tag(before)[1])
            start = position
        before = tag
    if before != OUTSIDE:
        yield Span(start, len(tags), split_tag(before)[1])


def continues(before: str, tag: str) -> bool:
    """Whether a tag goes on with the span of the tag before it."""
    part, label = split_tag(tag)
    part_before, label_before = split_tag(before)
    inside = part != OUTSIDE and part not in _FIRST and part_before != OUTSIDE and part_before not in _LAST
    return inside and label == label_before


def mend_tag(before: str, tag: str) -> str:
    """The tag as it should be written after another: what begins a span is ``B-`` (or ``S-`` if it is its end too).

    Example:
        >>> mend_tag("O", "I-PER"), mend_tag("B-LOC", "I-PER"), mend_tag("B-PER", "I-PER"), mend_tag("O", "E-PER")
        ('B-PER', 'B-PER', 'I-PER', 'S-PER')
        >>> mend_tag("B-PER", "M-PER")  # BMES, which many Chinese sets have
        'I-PER'
    """
    part, label = split_tag(tag)
    tag = f"{part}-{label}" if label else part
    if part not in ("I", "E") or continues(before, tag):
        return tag
    return f"{'B' if part == 'I' else 'S'}-{label}"


def is_span_tag(tag: str) -> bool:
    """Whether a string is a tag of BIO or BIOES.

    Example:
        >>> is_span_tag("B-PER"), is_span_tag("bank")
        (True, False)
    """
    try:
        return bool(split_tag(tag))
    except InputError:
        return False


def split_tag(tag: str) -> tuple[str, str]:
    """The part (B, I, E, S or O) and the label of a tag; M, the middle in BMES, is I.

    Raises:
        InputError: The tag is something else.
    """
    part, dash, label = tag.partition("-")
    if (part == OUTSIDE and not dash) or (len(part) == 1 and part in "BIMES" and label):
        return part.replace("M", "I"), label
    raise InputError(f"the tag {tag!r} is not one of BIO or BIOES (O, B-PER, I-PER, E-PER, S-PER); correct it")
