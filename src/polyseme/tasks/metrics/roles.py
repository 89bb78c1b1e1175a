"""F1 of the arguments of predicates, as the CoNLL-2005 evaluation counts them.

The predicate itself (``V`` and its continuation ``C-V``) is not counted. An argument in pieces (``A1 ... C-A1``) is one
argument, right if all its pieces are: a piece belongs to the last argument of its role before it, and begins one if
there is none. A reference (``R-A1``) is an argument of its own.
"""

from collections.abc import Iterable, Sequence

from polyseme.tasks.examples import Span
from polyseme.tasks.metrics.labelled_spans import Labelled, labelled_f1
from polyseme.tasks.metrics.score import Score, check_same_length

_PREDICATE = "V"
_CONTINUATION = "C-"


def role_f1(gold: Sequence[Sequence[Span]], predicted: Sequence[Sequence[Span]], *, task: str = "roles") -> Score:
    """F1 over all arguments whose borders and role are right.

    Args:
        gold: The arguments of each predicate.
        predicted: The arguments that were predicted for it.
        task: The task, for the record.

    Raises:
        InputError: The two differ in length.

    Example:
        >>> truth = [Span(0, 1, "A0"), Span(1, 2, "V"), Span(2, 4, "A1")]
        >>> role_f1([truth], [[Span(0, 1, "A0"), Span(1, 2, "V")]]).to_dict()["recall"]
        50.0
    """
    check_same_length(gold, predicted, "predicates")
    return labelled_f1(
        [whole_arguments(spans) for spans in gold],
        [whole_arguments(spans) for spans in predicted],
        task=task,
        metric="role F1",
    )


def whole_arguments(spans: Iterable[Span]) -> set[Labelled]:
    """The arguments as they are counted: all pieces of each, with its role; the predicate left out.

    Example:
        >>> whole_arguments([Span(0, 1, "A1"), Span(1, 2, "V"), Span(2, 4, "C-A1")])
        {(((0, 1), (2, 4)), 'A1')}
    """
    arguments: list[tuple[list[tuple[int, int]], str]] = []
    last: dict[str, list[tuple[int, int]]] = {}
    for span in sorted(spans, key=lambda span: (span.start, span.end, span.label)):
        role = span.label.removeprefix(_CONTINUATION)
        if role != span.label and role in last:
            last[role].append((span.start, span.end))
        else:
            last[role] = [(span.start, span.end)]
            arguments.append((last[role], role))
    return {(tuple(pieces), role) for pieces, role in arguments if role != _PREDICATE}
