"""Updates of rows against torch's own optimisers."""

import pytest
import torch
from tiny import tiny_config

from polyseme.models.bilm import BiLM
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.engine.optimizers import Optimizer, clip_norm
from polyseme.train.engine.row_gradient import RowGradient, RowTable, sum_gradients
from polyseme.train.lm.settings import settings_of

WORDS = 9


def _setup(optimizer: str) -> tuple[BiLM, Optimizer, FullSoftmax, torch.optim.Optimizer]:
    torch.manual_seed(0)
    bilm = BiLM.from_config(tiny_config(vocabulary_size=WORDS))
    assert isinstance(bilm.softmax, FullSoftmax)
    plain = FullSoftmax(6, WORDS)
    plain.load_state_dict(bilm.softmax.state_dict())
    other: torch.optim.Optimizer
    if optimizer == "adagrad":
        other = torch.optim.Adagrad(plain.parameters(), lr=0.1, initial_accumulator_value=1.0, eps=1e-8)
    else:
        groups = [{"params": [plain.weight], "weight_decay": 0.01}, {"params": [plain.bias], "weight_decay": 0.0}]
        other = torch.optim.AdamW(groups, lr=0.1, betas=(0.9, 0.99))
    table = RowTable(bilm.softmax.weight, bilm.softmax.bias)
    return bilm, Optimizer(bilm, settings_of(optimizer=optimizer), table), plain, other


@pytest.mark.parametrize("optimizer", ["adamw", "adagrad"])
def test_rows_that_always_take_part_move_as_with_torch_and_the_others_not_at_all(optimizer: str) -> None:
    bilm, own, plain, other = _setup(optimizer)
    softmax = bilm.softmax
    assert isinstance(softmax, FullSoftmax)
    rows = torch.tensor([1, 2, 5, 8])
    before = softmax.weight.detach().clone()
    for seed in range(4):
        generator = torch.Generator().manual_seed(seed)
        weight, bias = torch.randn(4, 6, generator=generator), torch.randn(4, generator=generator)
        plain.weight.grad, plain.bias.grad = torch.zeros(WORDS, 6), torch.zeros(WORDS)
        plain.weight.grad[rows], plain.bias.grad[rows] = weight, bias
        other.step()
        own.step(0.1, RowGradient(rows, weight, bias))
    torch.testing.assert_close(softmax.weight[rows], plain.weight[rows])
    torch.testing.assert_close(softmax.bias[rows], plain.bias[rows])
    rest = [row for row in range(WORDS) if row not in rows.tolist()]
    assert torch.equal(softmax.weight[rest], before[rest])


def test_merged_rows_are_the_sum() -> None:
    one = RowGradient(torch.tensor([1, 4]), torch.ones(2, 3), torch.ones(2))
    two = RowGradient(torch.tensor([0, 4]), 2 * torch.ones(2, 3), 2 * torch.ones(2))
    both = sum_gradients([one, two])
    assert both is not None
    assert both.rows.tolist() == [0, 1, 4]
    assert both.weight[:, 0].tolist() == both.bias.tolist() == [2, 1, 3]
    assert sum_gradients([one]) is one
    assert sum_gradients([]) is None


def test_the_norm_is_that_of_all_gradients_together() -> None:
    parameter = torch.nn.Parameter(torch.zeros(2))
    parameter.grad = torch.tensor([6.0, 0.0])
    rows = RowGradient(torch.tensor([0]), torch.tensor([[0.0, 8.0]]), torch.tensor([0.0]))
    assert clip_norm([parameter], rows, scale=0.5, limit=2.5) == pytest.approx(5.0)
    assert parameter.grad.tolist() == pytest.approx([1.5, 0.0])
    assert rows.weight[0].tolist() == pytest.approx([0.0, 2.0])
