"""F1 of entities that are written as BIO or BIOES tags, as the CoNLL-2003 script and seqeval count them."""

from collections.abc import Sequence

from polyseme.errors import InputError
from polyseme.tasks.metrics.labelled_spans import labelled_f1
from polyseme.tasks.metrics.score import Score, check_same_length
from polyseme.tasks.tags import tag_spans


def span_f1(gold: Sequence[Sequence[str]], predicted: Sequence[Sequence[str]], *, task: str = "ner") -> Score:
    """F1 over all spans whose borders and label are right.

    Args:
        gold: The tags of each sentence.
        predicted: The tags that were predicted for it, as many.
        task: The task, for the record.

    Raises:
        InputError: The two differ in length, or a tag is not one of BIO or BIOES.

    Example:
        >>> span_f1([["B-PER", "I-PER", "O", "B-LOC"]], [["B-PER", "O", "O", "B-LOC"]]).score
        50.0
    """
    check_same_length(gold, predicted, "sentences")
    for number, (truth, found) in enumerate(zip(gold, predicted, strict=True), 1):
        if len(truth) != len(found):
            raise InputError(f"sentence {number:,}: {len(found)} tags predicted for {len(truth)} tokens; give as many")
    return labelled_f1(
        [{((span.start, span.end), span.label) for span in tag_spans(tags)} for tags in gold],
        [{((span.start, span.end), span.label) for span in tag_spans(tags)} for tags in predicted],
        task=task,
        metric="span F1",
    )
