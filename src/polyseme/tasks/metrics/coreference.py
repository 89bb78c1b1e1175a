"""MUC, B-cubed and CEAF-e of coreference clusters and their mean, as the CoNLL reference scorer computes them.

A mention counts by its exact borders. Singletons count as they are given: data in the scheme of OntoNotes has none, and
a prediction should have none either. The scorer reads columns, where ``1)`` closes the mention of cluster 1 that was
opened last, so two mentions of one cluster that cross cannot be told from one inside the other: tokens 0-1 and 1-2 are
read as 0-2 and 1-1. They are scored like that here too.

Sources: Vilain et al. 1995 (MUC), Bagga and Baldwin 1998 (B-cubed), Luo 2005 (CEAF), Pradhan et al. 2014 (how
predicted mentions are scored).
"""

from collections import Counter
from collections.abc import Iterator, Sequence, Set

import numpy as np

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.tasks.metrics.assignment import best_assignment
from polyseme.tasks.metrics.score import Score, Sums, check_same_length, harmonic_mean, share

Mention = tuple[int, int]
Clusters = Sequence[Sequence[Mention]]
_PARTS = ("muc", "b_cubed", "ceaf_e")


def coreference_f1(gold: Sequence[Clusters], predicted: Sequence[Clusters], *, task: str = "coref") -> Score:
    """The mean of the F1 of MUC, B-cubed and CEAF-e, each over all documents together.

    Args:
        gold: The clusters of each document, mentions as pairs of positions.
        predicted: The clusters that were predicted for it.
        task: The task, for the record.

    Raises:
        InputError: The two differ in length, or a mention is in two clusters of a document.

    Example:
        >>> found = coreference_f1([[[(0, 1), (4, 5), (7, 9)]]], [[[(0, 1), (4, 5)]]])
        >>> found.details["muc"]["recall"], found.details["muc"]["precision"]
        (50.0, 100.0)
    """
    check_same_length(gold, predicted, "documents")
    items = np.array([document_sums(truth, found) for truth, found in zip(gold, predicted, strict=True)])
    total = items.sum(0)
    precision, recall, f1 = _figures(total)
    details: dict[str, JSON] = {
        part: {"precision": float(precision[place]), "recall": float(recall[place]), "f1": float(f1[place])}
        for place, part in enumerate(_PARTS)
    }
    return Score(
        task=task,
        metric="mean F1 of MUC, B-cubed and CEAF-e",
        score=float(mean_f1_of_sums(total)),
        n=len(gold),
        labels={},
        items=items,
        formula=mean_f1_of_sums,
        details=details,
    )


def document_sums(gold: Clusters, predicted: Clusters) -> Sums:
    """Numerators and denominators of a document, shape (12,).

    For MUC, B-cubed and CEAF-e in turn: numerator and denominator of recall, then of precision.
    """
    truth = _sets(gold)
    in_truth = _cluster_of(truth)
    found = _sets(predicted, in_truth.keys())
    in_found = _cluster_of(found)
    aligned = best_assignment(_similarity(truth, found, in_found))
    return np.array(
        [
            *_muc(truth, in_found),
            *_muc(found, in_truth),
            *_b_cubed(truth, in_found),
            *_b_cubed(found, in_truth),
            *(aligned, len(truth)),
            *(aligned, len(found)),
        ],
        np.float64,
    )


def mean_f1_of_sums(sums: Sums) -> Sums:
    """The mean F1 in percent from the sums of `document_sums`, shape (..., 12)."""
    mean: Sums = _figures(sums)[2].mean(-1)
    return mean


def _figures(sums: Sums) -> tuple[Sums, Sums, Sums]:
    """Precision, recall and F1 in percent, each of shape (..., 3)."""
    parts = sums.reshape(*sums.shape[:-1], len(_PARTS), 4)
    recall, precision = share(parts[..., 0], parts[..., 1]), share(parts[..., 2], parts[..., 3])
    return precision, recall, harmonic_mean(precision, recall)


def _sets(clusters: Clusters, gold: Set[Mention] | None = None) -> list[frozenset[Mention]]:
    """The clusters as the scorer reads them.

    A mention that it reads twice counts once, but as often as it is read in a prediction where the data has no such
    mention: then the second time it is given borders of its own.
    """
    _check_apart(clusters)
    seen: set[Mention] = set()
    found: list[frozenset[Mention]] = []
    for cluster in sorted(sorted(cluster) for cluster in clusters):
        mentions: set[Mention] = set()
        for mention in _as_columns_tell(cluster):
            if mention in seen and gold is not None and mention not in gold:
                mention = (-len(seen) - 1, 0)
            if mention not in seen:
                mentions.add(mention)
                seen.add(mention)
        found.append(frozenset(mentions))
    return [cluster for cluster in found if cluster]


def _as_columns_tell(cluster: Sequence[Mention]) -> Iterator[Mention]:
    """The mentions of a cluster, each end paired with the last start before it that has no end yet."""
    mentions = {(start, end) for start, end in cluster}
    longer = [mention for mention in mentions if mention[1] - mention[0] > 1]
    yield from sorted(mentions.difference(longer))
    starts = sorted((start for start, _ in longer), reverse=True)
    opened: list[int] = []
    for end in sorted(end for _, end in longer):
        while starts and starts[-1] < end:
            opened.append(starts.pop())
        yield opened.pop(), end


def _check_apart(clusters: Clusters) -> None:
    home: dict[Mention, int] = {}
    for number, cluster in enumerate(clusters):
        for start, end in cluster:
            if not 0 <= start < end:
                raise InputError(
                    f"the mention {(start, end)} is empty; give its first token and the one behind its last"
                )
            if home.setdefault((start, end), number) != number:
                raise InputError(f"the mention {(start, end)} is in two clusters of a document; put it into one")


def _cluster_of(clusters: Sequence[frozenset[Mention]]) -> dict[Mention, int]:
    return {mention: number for number, cluster in enumerate(clusters) for mention in cluster}


def _muc(clusters: Sequence[frozenset[Mention]], other: dict[Mention, int]) -> tuple[int, int]:
    """Links that the other clusters keep, and all links: a cluster of size n has n - 1."""
    kept = links = 0
    for cluster in clusters:
        parts = {other[mention] for mention in cluster if mention in other}
        alone = sum(mention not in other for mention in cluster)
        kept += len(cluster) - len(parts) - alone
        links += len(cluster) - 1
    return kept, links


def _b_cubed(clusters: Sequence[frozenset[Mention]], other: dict[Mention, int]) -> tuple[float, int]:
    """The share of its cluster that each mention finds again around it in the other clusters, and all mentions."""
    found = 0.0
    for cluster in clusters:
        shared = Counter(other[mention] for mention in cluster if mention in other)
        found += sum(count * count for count in shared.values()) / len(cluster)
    return found, sum(map(len, clusters))


def _similarity(
    truth: Sequence[frozenset[Mention]], found: Sequence[frozenset[Mention]], in_found: dict[Mention, int]
) -> dict[tuple[int, int], float]:
    """Luo's phi 4 of each two clusters that share a mention: twice what they share by the sum of their sizes."""
    shared = Counter(
        (number, in_found[mention])
        for number, cluster in enumerate(truth)
        for mention in cluster
        if mention in in_found
    )
    return {(one, two): 2 * count / (len(truth[one]) + len(found[two])) for (one, two), count in shared.items()}
