"""The attentional decoder against the formulas, step by step, one sentence at a time."""

from itertools import accumulate

import pytest
import torch
from torch import Tensor

from polyseme.nn.attention_decoder import AttentionDecoder, DecoderState
from polyseme.nn.attention_steps import Memory
from polyseme.nn.packing import Packing

SOURCE, TARGET = (3, 1, 4, 2), (2, 4, 4, 1)
W, D, E = 3, 4, 6


@pytest.fixture
def decoder() -> AttentionDecoder:
    torch.manual_seed(1)
    made = AttentionDecoder(input_dim=W, hidden_dim=D, memory_dim=E).double()
    for parameter in made.parameters():
        torch.nn.init.normal_(parameter, std=0.7)
    return made


def _inputs() -> tuple[Tensor, Tensor, Tensor]:
    """Source states and word vectors in flat order, and the last states of the encoder."""
    torch.manual_seed(2)
    sizes = ((sum(SOURCE), E), (sum(TARGET), W), (len(SOURCE), E))
    states, words, final = (torch.randn(size, dtype=torch.float64, requires_grad=True) for size in sizes)
    return states, words, final


def _memory(decoder: AttentionDecoder, states: Tensor, order: Tensor) -> Memory:
    starts = [0, *accumulate(SOURCE)]
    where = torch.zeros(len(order), max(SOURCE), dtype=torch.int64)
    mask = torch.zeros(len(order), max(SOURCE), dtype=torch.bool)
    for rank, number in enumerate(order.tolist()):
        where[rank, : SOURCE[number]] = torch.arange(starts[number], starts[number + 1])
        mask[rank, : SOURCE[number]] = True
    return decoder.remember(states, where, mask)


def _fast(decoder: AttentionDecoder, states: Tensor, words: Tensor, final: Tensor) -> Tensor:
    """Attentional states in flat order."""
    packing = Packing.of(TARGET)
    memory = _memory(decoder, states, packing.order)
    packed = decoder(words[packing.flat_of_packed], packing, memory, decoder.begin(final[packing.order]))
    found: Tensor = packed[packing.packed_of_flat]
    return found


def _slow(decoder: AttentionDecoder, states: Tensor, words: Tensor, final: Tensor) -> Tensor:
    """The formulas of McCann et al. (2017), section 3, as they stand there."""
    found = []
    for number, (sources, targets) in enumerate(zip(states.split(SOURCE), words.split(TARGET), strict=True)):
        hidden, cell = decoder.start(final[number]).chunk(2)
        hidden, fed = hidden.tanh(), torch.zeros(D, dtype=torch.float64)
        for word in targets:
            gates = decoder.weight_ih @ word + decoder.weight_fh @ fed + decoder.weight_hh @ hidden + decoder.bias
            entry, forget, output, candidate = gates.split(D)
            cell = forget.sigmoid() * cell + entry.sigmoid() * candidate.tanh()
            hidden = output.sigmoid() * cell.tanh()
            attention = (sources @ (decoder.query.weight @ hidden + decoder.query.bias)).softmax(dim=0)
            fed = (decoder.mix.weight @ torch.cat([sources.T @ attention, hidden]) + decoder.mix.bias).tanh()
            found.append(fed)
    return torch.stack(found)


def test_equals_the_formulas(decoder: AttentionDecoder) -> None:
    inputs = _inputs()
    torch.testing.assert_close(_fast(decoder, *inputs), _slow(decoder, *inputs), rtol=0, atol=1e-12)


def test_gradients_equal_those_of_the_formulas(decoder: AttentionDecoder) -> None:
    inputs = _inputs()
    leaves = [*inputs, *decoder.parameters()]
    weights = torch.randn(sum(TARGET), D, dtype=torch.float64)
    fast, slow = (torch.autograd.grad((run(decoder, *inputs) * weights).sum(), leaves) for run in (_fast, _slow))
    for one, two in zip(fast, slow, strict=True):
        torch.testing.assert_close(one, two, rtol=0, atol=1e-11)


def test_gradients_equal_differences(decoder: AttentionDecoder) -> None:
    assert torch.autograd.gradcheck(lambda *some: _fast(decoder, *some[:3]), (*_inputs(), *decoder.parameters()))


def test_steps_of_a_search_equal_those_of_training(decoder: AttentionDecoder) -> None:
    states, words, final = _inputs()
    wanted = _fast(decoder, states, words, final).split(TARGET)
    with torch.no_grad():
        for number, targets in enumerate(words.split(TARGET)):
            memory = _memory(decoder, states, torch.tensor([number]))
            state = decoder.begin(final[number : number + 1])
            for word, expected in zip(targets, wanted[number], strict=True):
                state, attention = decoder.step(word.unsqueeze(0), memory, state)
                torch.testing.assert_close(state.attentional[0], expected, rtol=0, atol=1e-12)
                assert attention.sum().item() == pytest.approx(1.0)
                assert not attention[0, SOURCE[number] :].any()


def test_rows_of_a_state() -> None:
    state = DecoderState(*(torch.arange(6.0).view(3, 2) + shift for shift in (0, 10, 20)))
    chosen = state.rows(torch.tensor([2, 0]))
    assert chosen.cell.tolist() == [[14, 15], [10, 11]]


def test_bfloat16_is_close_to_float32(decoder: AttentionDecoder) -> None:
    decoder = decoder.float()
    inputs = [one.detach().float().requires_grad_() for one in _inputs()]
    exact = _fast(decoder, *inputs)
    gradients = torch.autograd.grad(exact.square().sum(), [*inputs, *decoder.parameters()])
    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = _fast(decoder, *inputs)
    assert rounded.dtype == torch.float32
    torch.testing.assert_close(rounded, exact, rtol=0, atol=0.05)
    for one, two in zip(
        torch.autograd.grad(rounded.square().sum(), [*inputs, *decoder.parameters()]), gradients, strict=True
    ):
        assert torch.nn.functional.cosine_similarity(one.flatten(), two.flatten(), dim=0) > 0.98
