"""The random field beside enumeration of every sequence of tags."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from polyseme.nn.crf import Crf
from polyseme.nn.packing import Packing

TAGS = 3
LENGTHS = [2, 4, 1, 4, 3]


def _field(allowed: Tensor | None = None) -> tuple[Crf, Tensor, Packing]:
    torch.manual_seed(0)
    crf = Crf(TAGS, allowed)
    for parameter in crf.parameters():
        torch.nn.init.normal_(parameter)
    return crf, torch.randn(sum(LENGTHS), TAGS), Packing.of(LENGTHS)


def _score(crf: Crf, emissions: Tensor, tags: tuple[int, ...]) -> float:
    total = crf.start[tags[0]] + crf.end[tags[-1]] + sum(emissions[i, tag] for i, tag in enumerate(tags))
    total = total + sum((crf.transitions[a, b] for a, b in itertools.pairwise(tags)), torch.tensor(0.0))
    return float(total.detach())


def _sequences(length: int) -> list[tuple[int, ...]]:
    return list(itertools.product(range(TAGS), repeat=length))


def test_likelihood_is_that_of_enumeration() -> None:
    crf, flat, packing = _field()
    gold = torch.randint(TAGS, (sum(LENGTHS),))
    found = crf(flat[packing.flat_of_packed], gold[packing.flat_of_packed], packing)
    for number, (emissions, tags) in enumerate(zip(flat.split(LENGTHS), gold.split(LENGTHS), strict=True)):
        total = math.log(sum(math.exp(_score(crf, emissions, one)) for one in _sequences(len(tags))))
        expected = total - _score(crf, emissions, tuple(tags.tolist()))
        assert float(found[number].detach()) == pytest.approx(expected, abs=1e-5)


def test_decoding_is_the_best_of_enumeration_among_what_is_allowed() -> None:
    allowed = torch.ones(TAGS + 2, TAGS, dtype=torch.bool)
    allowed[0, 1] = allowed[TAGS, 2] = allowed[TAGS + 1, 0] = False  # 1 after 0, 2 at the start, 0 at the end
    crf, flat, packing = _field(allowed)
    decoded = crf.decode(flat[packing.flat_of_packed], packing)[packing.packed_of_flat].split(LENGTHS)
    unruly = 0
    for emissions, tags in zip(flat.split(LENGTHS), decoded, strict=True):
        everything = _sequences(len(tags))
        ruly = [one for one in everything if one[0] != 2 and one[-1] != 0 and (0, 1) not in itertools.pairwise(one)]
        best = max(ruly, key=lambda one: _score(crf, emissions, one))
        assert tuple(tags.tolist()) == best
        unruly += max(everything, key=lambda one: _score(crf, emissions, one)) not in ruly
    assert unruly  # the rule made a difference


def test_gradients_are_those_of_differences() -> None:
    crf, flat, packing = _field()
    crf.double()
    gold = torch.randint(TAGS, (sum(LENGTHS),))
    emissions = flat.double().requires_grad_()
    assert torch.autograd.gradcheck(lambda given: crf(given, gold, packing), (emissions,))


def test_a_rule_of_another_size_is_refused() -> None:
    with pytest.raises(ValueError, match=r"allowed is \(3, 3\), expected \(5, 3\)"):
        Crf(3, torch.ones(3, 3))
