import pytest
import torch
from torch import Tensor

from polyseme.nn import projected_lstm
from polyseme.nn.packing import Packing
from polyseme.nn.projected_lstm import ProjectedLstm


def layer(*, clip: float | None = 0.4, forget_bias: float = 1.0) -> ProjectedLstm:
    torch.manual_seed(3)
    made = ProjectedLstm(
        input_dim=5, hidden_dim=7, projection_dim=4, cell_clip=clip, projection_clip=clip, forget_bias=forget_bias
    )
    torch.nn.init.normal_(made.bias)
    return made.double()


def plain_loop(made: ProjectedLstm, inputs: Tensor, hidden: Tensor, cells: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """One sequence (T, I), one number at a time, straight from the definition."""
    outputs = []
    for x in inputs:
        gates = []
        for row in range(28):
            total = made.bias[row] + made.weight_ih[row] @ x + made.weight_hh[row] @ hidden
            gates.append(total + made.forget_bias if 7 <= row < 14 else total)
        new_cells = []
        for unit in range(7):
            admit, keep = torch.sigmoid(gates[unit]), torch.sigmoid(gates[7 + unit])
            value = admit * torch.tanh(gates[14 + unit]) + keep * cells[unit]
            new_cells.append(value.clamp(-made.cell_clip, made.cell_clip))
        cells = torch.stack(new_cells)
        emitted = torch.sigmoid(torch.stack(gates[21:])) * torch.tanh(cells)
        hidden = (made.weight_hr @ emitted).clamp(-made.projection_clip, made.projection_clip)
        outputs.append(hidden)
    return torch.stack(outputs), hidden, cells


@pytest.mark.parametrize("clip", [0.4, None])
@pytest.mark.parametrize("forget_bias", [0.0, 1.0])
def test_agrees_with_a_plain_loop(clip: float | None, forget_bias: float) -> None:
    made = layer(clip=clip, forget_bias=forget_bias)
    sequences = [torch.randn(size, 5, dtype=torch.float64) for size in (3, 6, 1, 6, 2)]
    states = torch.randn(5, 4, dtype=torch.float64), torch.randn(5, 7, dtype=torch.float64)
    packing = Packing.of([len(sequence) for sequence in sequences])
    packed = torch.cat(sequences)[packing.flat_of_packed]
    outputs, (hidden, cells) = made(packed, packing.batch_sizes, (states[0][packing.order], states[1][packing.order]))
    flat = outputs[packing.packed_of_flat].split([len(sequence) for sequence in sequences])
    for number, sequence in enumerate(sequences):
        expected = plain_loop(made, sequence, states[0][number], states[1][number])
        torch.testing.assert_close(flat[number], expected[0])
        torch.testing.assert_close(hidden[packing.rank][number], expected[1])
        torch.testing.assert_close(cells[packing.rank][number], expected[2])
    if clip:
        assert (cells.abs() == clip).any(), "the test must reach the clip"


def test_chunks_do_not_show(monkeypatch: pytest.MonkeyPatch) -> None:
    made = layer()
    inputs = torch.randn(50, 5, dtype=torch.float64)
    sizes = (4, 4, 4, *([3] * 10), *([1] * 8))
    whole = made(inputs, sizes)[0]
    monkeypatch.setattr(projected_lstm, "CHUNK_NUMBERS", 1)
    torch.testing.assert_close(made(inputs, sizes)[0], whole)


def test_gradients_are_those_of_finite_differences() -> None:
    made = layer(clip=0.9)
    inputs = torch.randn(6, 5, dtype=torch.float64, requires_grad=True)
    names = [name for name, _ in made.named_parameters()]

    def run(x: Tensor, *weights: Tensor) -> Tensor:
        result: tuple[Tensor, object] = torch.func.functional_call(
            made, dict(zip(names, weights, strict=True)), (x, (2, 2, 1, 1))
        )
        return result[0]

    assert torch.autograd.gradcheck(run, (inputs, *made.parameters()))
