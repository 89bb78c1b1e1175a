"""Attention equals a plain loop over tokens, and padding takes no part in it."""

import pytest
import torch
from torch import Tensor

from polyseme.tasks import attention
from polyseme.tasks.attention import BothWays, SelfAttention, Trilinear, attended
from polyseme.tasks.esim import compare
from polyseme.tasks.words import length_mask

DIM = 5
FIRST, SECOND = (4, 1, 6), (2, 3, 1)


def _drawn(lengths: tuple[int, ...]) -> tuple[Tensor, Tensor]:
    """Padded states with numbers in the padding too, which nothing may read."""
    mask = length_mask(lengths)
    return torch.randn(*mask.shape, DIM), mask


def _softmax(values: list[float]) -> list[float]:
    return torch.tensor(values, dtype=torch.float64).softmax(0).tolist()


def _weighted(shares: list[float], rows: Tensor) -> Tensor:
    return sum((share * row for share, row in zip(shares, rows, strict=True)), torch.zeros(rows.shape[1]))


def _close(found: Tensor, expected: Tensor) -> bool:
    return torch.allclose(found, expected, atol=1e-5)


def test_tokens_beside_what_they_attend_to() -> None:
    first, mask = _drawn(FIRST)
    second, second_mask = _drawn((*SECOND[:2], 6))
    found, both_masks = compare(first, mask, second, second_mask)
    assert torch.equal(both_masks, torch.cat([mask, second_mask]))
    for pair in range(3):
        one, other = first[pair][mask[pair]], second[pair][second_mask[pair]]
        for states, others, row in ((one, other, pair), (other, one, pair + 3)):
            for place, state in enumerate(states):
                shares = _softmax([float(state @ token) for token in others])
                near = _weighted(shares, others)
                assert _close(found[row, place], torch.cat([state, near, state - near, state * near]))


def _score(scores: Trilinear, one: Tensor, other: Tensor) -> float:
    first, second = scores.first.weight[0], scores.second.weight[0]
    return float(first @ one + second @ other + scores.product @ (one * other))


@torch.no_grad()
def test_question_and_passage_attend_to_each_other() -> None:
    passage, mask = _drawn(FIRST)
    question, question_mask = _drawn(SECOND)
    layer = BothWays(DIM)
    found = layer(passage, mask, question, question_mask)
    for number in range(3):
        tokens, asked = passage[number][mask[number]], question[number][question_mask[number]]
        scores = [[_score(layer.scores, token, word) for word in asked] for token in tokens]
        to_passage = _weighted(_softmax([max(row) for row in scores]), tokens)
        for place, (token, row) in enumerate(zip(tokens, scores, strict=True)):
            near = _weighted(_softmax(row), asked)
            assert _close(found[number, place], torch.cat([token, near, token * near, token * to_passage]))


@torch.no_grad()
@pytest.mark.parametrize("block", [1, 40, 1 << 22])
def test_tokens_attend_to_all_others(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attention, "_BLOCK", block)
    states, mask = _drawn(FIRST)
    layer = SelfAttention(DIM)
    found = layer(states, mask)
    for number in range(3):
        tokens = states[number][mask[number]]
        for place, token in enumerate(tokens):
            others = torch.cat([tokens[:place], tokens[place + 1 :]]) if len(tokens) > 1 else tokens
            shares = _softmax([_score(layer.scores, token, other) for other in others])
            assert _close(found[number, place], _weighted(shares, others))


def test_a_token_that_is_not_there_gets_no_share() -> None:
    values = torch.eye(3).unsqueeze(0)
    shares = attended(torch.tensor([[[1.0, 1.0, 9.0]]]), values, torch.tensor([[True, True, False]]))
    assert shares.tolist() == [[[0.5, 0.5, 0.0]]]
