"""The best tags beside enumeration of every sequence, with the rules of BIO and with scores of transitions."""

import itertools

import torch
from torch import Tensor

from polyseme.nn.packing import Packing
from polyseme.nn.viterbi import best_tags
from polyseme.tasks.span_tags import allowed_steps, bio_tags

LENGTHS = [2, 5, 1, 4]
TAGS = bio_tags(["A", "B"])


def _is_bio(tags: tuple[int, ...]) -> bool:
    names = ["O", *(TAGS[tag] for tag in tags)]
    return all(tag[0] != "I" or before in (f"B{tag[1:]}", tag) for before, tag in itertools.pairwise(names))


def _best(emissions: Tensor, transitions: Tensor) -> tuple[int, ...]:
    def score(tags: tuple[int, ...]) -> float:
        total = sum(float(emissions[place, tag]) for place, tag in enumerate(tags))
        return total + sum(float(transitions[pair]) for pair in itertools.pairwise(tags))

    return max(filter(_is_bio, itertools.product(range(len(TAGS)), repeat=len(emissions))), key=score)


def test_the_best_sequence_of_bio_tags_is_found() -> None:
    torch.manual_seed(1)
    flat, packing = torch.randn(sum(LENGTHS), len(TAGS)), Packing.of(LENGTHS)
    greedy = [tuple(one.argmax(dim=1).tolist()) for one in flat.split(LENGTHS)]
    assert not all(map(_is_bio, greedy))  # the rules make a difference
    allowed = allowed_steps(TAGS)
    for transitions in (None, torch.randn(len(TAGS), len(TAGS))):
        found = best_tags(flat[packing.flat_of_packed], packing, allowed=allowed, transitions=transitions)
        steps = torch.zeros(len(TAGS), len(TAGS)) if transitions is None else transitions
        for emissions, tags in zip(flat.split(LENGTHS), found[packing.packed_of_flat].split(LENGTHS), strict=True):
            assert tuple(tags.tolist()) == _best(emissions, steps)
