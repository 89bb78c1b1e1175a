"""LSTMs without projection in the kernels beside a slow loop in float64, plain and with a highway."""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import pytest
import torch
from torch import Tensor

from polyseme.nn.alternating_lstm import AlternatingLstm
from polyseme.nn.backend import available
from polyseme.nn.bilstm import BiLstm
from polyseme.nn.kernels.packed import Precision
from polyseme.nn.kernels.recurrent import Lane, recurrent_layer
from polyseme.nn.kernels.threads import set_threads
from polyseme.nn.packing import Packing

pytestmark = pytest.mark.skipif(not available("float32"), reason="no compiled kernels on this machine")

# More sequences than a part has rows, so that parts and tiles of all sizes occur.
LENGTHS = (7, 1, 12, 3, 12, 5, 9, 2, 8, *[4] * 30, 6, 1)
PACKING = Packing.of(LENGTHS)
Result = tuple[Tensor, Tensor]


@pytest.fixture(autouse=True)
def _threads() -> Iterator[None]:
    yield
    set_threads(None)


def lanes_of(inputs: int, hidden: int, *, highway: bool = False, count: int = 2) -> list[Lane]:
    """Lanes with random weights; the second one reads backwards."""
    generator = torch.Generator().manual_seed(hidden)

    def draw(*shape: int) -> Tensor:
        return torch.randn(*shape, generator=generator).div_(shape[-1] ** 0.5).requires_grad_()

    gates = 5 if highway else 4
    found = []
    for number in range(count):
        mask = torch.rand(len(LENGTHS), hidden, generator=generator).gt(0.3).float() / 0.7 if highway else None
        weights = draw((gates + highway) * hidden, inputs), draw(gates * hidden, hidden), draw(gates * hidden)
        found.append(Lane(*weights, places=PACKING.reverse if number else None, mask=mask))
    return found


def rows(width: int) -> Tensor:
    return torch.randn(sum(LENGTHS), width, generator=torch.Generator().manual_seed(1)).requires_grad_()


def plain_loop(inputs: Tensor, lanes: Sequence[Lane]) -> Result:
    """Token by token, each sequence alone: outputs (N, lanes * H) and final cells (lanes, B, H)."""
    all_outputs, all_cells = [], []
    for lane in lanes:
        hidden_dim = lane.weight_hh.shape[1]
        highway = len(lane.weight_ih) > len(lane.weight_hh)
        outputs: dict[int, Tensor] = {}
        cells: list[Tensor] = []
        for rank in range(len(LENGTHS)):
            hidden = cell = inputs.new_zeros(hidden_dim)
            starts = torch.tensor((0, *PACKING.batch_sizes)).cumsum(0).tolist()
            for step in range(LENGTHS[int(PACKING.order[rank])]):
                row = starts[step] + rank
                row = row if lane.places is None else int(lane.places[row])
                blocks = (lane.weight_ih @ inputs[row]).split(hidden_dim)
                state = (lane.weight_hh @ hidden + lane.bias).split(hidden_dim)
                sums = [block + one for block, one in zip(blocks, state, strict=False)]
                if highway:
                    candidate, admit, keep, emit, through = (sums[0].tanh(), *(one.sigmoid() for one in sums[1:]))
                else:
                    admit, keep, candidate, emit = (
                        sums[0].sigmoid(),
                        sums[1].sigmoid(),
                        sums[2].tanh(),
                        sums[3].sigmoid(),
                    )
                cell = admit * candidate + keep * cell
                hidden = emit * cell.tanh()
                if highway:
                    hidden = through * hidden + (1 - through) * blocks[5]
                if lane.mask is not None:
                    hidden = hidden * lane.mask[rank]
                outputs[row] = hidden
            cells.append(cell)
        all_outputs.append(torch.stack([outputs[row] for row in range(len(inputs))]))
        all_cells.append(torch.stack(cells))
    return torch.cat(all_outputs, dim=1), torch.stack(all_cells)


def in_float64(lane: Lane) -> Lane:
    weights = {
        name: getattr(lane, name).detach().double().requires_grad_() for name in ("weight_ih", "weight_hh", "bias")
    }
    return replace(lane, **weights, mask=None if lane.mask is None else lane.mask.double())


def gradients(result: Result, inputs: Tensor, lanes: Sequence[Lane]) -> list[Tensor]:
    """Of a loss that touches outputs and final cells, each in its own way."""
    loss = torch.zeros((), dtype=inputs.dtype)
    for one in result:
        loss = loss + (one * torch.linspace(-1, 1, one.numel(), dtype=one.dtype).view_as(one)).sum()
    wanted = [inputs, *(one for lane in lanes for one in (lane.weight_ih, lane.weight_hh, lane.bias))]
    return list(torch.autograd.grad(loss, wanted))


@pytest.mark.parametrize(
    ("inputs", "hidden", "highway", "count"),
    [(3, 5, False, 2), (19, 33, False, 1), (70, 64, False, 2), (3, 5, True, 1), (18, 81, True, 2)],
)
def test_outputs_cells_and_gradients_are_those_of_a_plain_loop(
    inputs: int, hidden: int, highway: bool, count: int
) -> None:
    lanes, given = lanes_of(inputs, hidden, highway=highway, count=count), rows(inputs)
    found = recurrent_layer(given, lanes, PACKING.batch_sizes, "float32")
    exact, exact_rows = [in_float64(lane) for lane in lanes], given.detach().double().requires_grad_()
    expected = plain_loop(exact_rows, exact)
    pairs = [*zip(found, expected, strict=True)]
    pairs += zip(gradients(found, given, lanes), gradients(expected, exact_rows, exact), strict=True)
    for ours, theirs in pairs:
        assert float((ours - theirs).detach().abs().max()) < 5e-6 * max(1.0, float(theirs.detach().abs().max()))


@pytest.mark.parametrize("highway", [False, True])
def test_bfloat16_is_near_float32(highway: bool) -> None:
    if not available("bfloat16"):
        pytest.skip("no bfloat16 kernel on this machine")
    lanes, given = lanes_of(33, 65, highway=highway), rows(33)  # odd, so that pairs of numbers are filled up
    precisions: tuple[Precision, Precision] = ("float32", "bfloat16")
    exact, rounded = (recurrent_layer(given, lanes, PACKING.batch_sizes, precision) for precision in precisions)
    torch.testing.assert_close(rounded[0], exact[0], atol=0.08, rtol=0)
    for ours, theirs in zip(gradients(rounded, given, lanes), gradients(exact, given, lanes), strict=True):
        assert torch.cosine_similarity(ours.flatten(), theirs.flatten(), dim=0) > 0.995


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize("highway", [False, True])
def test_the_number_of_threads_changes_no_bit(highway: bool, precision: Precision) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")
    lanes, given = lanes_of(20, 150, highway=highway), rows(20)
    results = []
    for number in (1, 2, 3):
        set_threads(number)
        found = recurrent_layer(given, lanes, PACKING.batch_sizes, precision)
        results.append([*found, *gradients(found, given, lanes)])
    for other in results[1:]:
        assert all(torch.equal(one, two) for one, two in zip(results[0], other, strict=True))


def test_a_sentence_has_the_same_bits_alone_and_in_a_batch() -> None:
    lstm = BiLstm(input_dim=11, hidden_dim=37, layers=2)
    flat = rows(11).detach()
    together = lstm(flat[PACKING.flat_of_packed], PACKING)[-1][PACKING.packed_of_flat]
    for sentence, expected in zip(flat.split(LENGTHS), together.split(LENGTHS), strict=True):
        assert torch.equal(lstm(sentence, Packing.of([len(sentence)]))[-1], expected)


@pytest.mark.parametrize(
    "lstm", [BiLstm(input_dim=4, hidden_dim=6), AlternatingLstm(input_dim=4, hidden_dim=6, layers=2)]
)
def test_modules_use_the_kernels_and_fall_back_to_torch(
    lstm: BiLstm | AlternatingLstm, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = []

    def counted(*given: object) -> Result:
        calls.append(1)
        return recurrent_layer(*given)  # type: ignore[arg-type]

    for name in ("bilstm", "alternating_lstm"):
        monkeypatch.setattr(f"polyseme.nn.{name}.recurrent_layer", counted)
    given = rows(4).detach()
    ours = torch.cat([*lstm(given, PACKING)])
    assert calls
    calls.clear()
    monkeypatch.setattr("polyseme.nn.backend.available", lambda _: False)
    torch.testing.assert_close(ours, torch.cat([*lstm(given, PACKING)]), atol=2e-6, rtol=0)
    assert not calls


def test_weights_that_changed_before_the_backward_pass_are_refused() -> None:
    lanes, given = lanes_of(3, 5), rows(3)
    outputs, _ = recurrent_layer(given, lanes, PACKING.batch_sizes, "float32")
    with torch.no_grad():
        lanes[0].weight_hh.add_(1.0)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        outputs.sum().backward()


def test_rows_of_another_shape_are_refused() -> None:
    with pytest.raises(ValueError, match=r"got packed rows \(2, 3\), expected \(186, 3\)"):
        recurrent_layer(torch.zeros(2, 3), lanes_of(3, 5), PACKING.batch_sizes, "float32")
