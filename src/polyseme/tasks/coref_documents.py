"""Documents with clusters of mentions: as numbers to learn from, back from antecedents, and in pieces."""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from polyseme.tasks.examples import Document

Mention = tuple[int, int]
Clusters = tuple[tuple[Mention, ...], ...]


def cluster_numbers(mentions: Sequence[Mention], clusters: Clusters) -> Tensor:
    """The number of the cluster of each mention, -1 for none: (S,).

    Example:
        >>> cluster_numbers([(0, 1), (2, 3), (4, 6)], (((4, 6), (7, 8)), ((0, 1),)))
        tensor([ 1, -1,  0])
    """
    home = {mention: number for number, cluster in enumerate(clusters) for mention in cluster}
    return torch.tensor([home.get(mention, -1) for mention in mentions], dtype=torch.long)


def clusters_of(mentions: Sequence[Mention], antecedents: Sequence[int]) -> Clusters:
    """The clusters that antecedents make: each mention belongs with its own, and so on.

    Args:
        mentions: In their order.
        antecedents: The place of each one's antecedent, which is before it; -1 for none.

    Example:
        >>> clusters_of([(0, 1), (2, 3), (4, 6), (7, 8)], [-1, -1, 0, 2])
        (((0, 1), (4, 6), (7, 8)),)
    """
    first = list(range(len(mentions)))  # of each mention's cluster
    for place, antecedent in enumerate(antecedents):
        if antecedent >= 0:
            first[place] = first[antecedent]
    gathered: dict[int, list[Mention]] = {}
    for place, mention in zip(first, mentions, strict=True):
        gathered.setdefault(place, []).append(mention)
    return tuple(sorted(tuple(sorted(cluster)) for cluster in gathered.values() if len(cluster) > 1))


def pieces(document: Document, sentences: int) -> Iterator[Document]:
    """A document in parts of about equal length and at most so many sentences; mentions across a cut are left out.

    Example:
        >>> whole = Document("d", (("he",), ("he",), ("he",)), (((0, 1), (1, 2), (2, 3)),))
        >>> [(part.sentences, part.clusters) for part in pieces(whole, 2)]
        [((('he',), ('he',)), (((0, 1), (1, 2)),)), ((('he',),), (((0, 1),),))]
    """
    count = len(document.sentences)
    parts = -(-count // sentences)
    if parts <= 1:
        yield document
        return
    starts = [0, *accumulate(map(len, document.sentences))]
    borders = [-(-count * number // parts) for number in range(parts + 1)]
    for number, (first, last) in enumerate(pairwise(borders), 1):
        begin, end = starts[first], starts[last]
        within = (
            tuple((one - begin, two - begin) for one, two in cluster if one >= begin and two <= end)
            for cluster in document.clusters or ()
        )
        clusters = None if document.clusters is None else tuple(cluster for cluster in within if cluster)
        yield Document(f"{document.id} ({number} of {parts})", document.sentences[first:last], clusters)


def out_of_reach(document: Document, width: int) -> int:
    """How many mentions no span of at most so many tokens within a sentence can be."""
    sentence = [number for number, tokens in enumerate(document.sentences) for _ in tokens]
    return sum(
        end - start > width or sentence[start] != sentence[end - 1]
        for cluster in document.clusters or ()
        for start, end in cluster
    )
