"""The alternating highway LSTM beside a plain loop over its formulas."""

import pytest
import torch
from torch import Tensor

from polyseme.nn.alternating_lstm import AlternatingLstm, HighwayLstm
from polyseme.nn.packing import Packing

LENGTHS = [2, 5, 1, 5, 3]
INPUT, HIDDEN = 3, 4


def _layer(layer: HighwayLstm, sentence: Tensor, mask: Tensor, *, backwards: bool) -> Tensor:
    """One layer over one sentence (T, I), step by step."""
    of_input = layer.weight_ih.split(HIDDEN)
    of_state, bias = layer.weight_hh.split(HIDDEN), layer.bias.split(HIDDEN)
    hidden = cell = torch.zeros(HIDDEN, dtype=sentence.dtype)
    outputs: list[Tensor] = []
    for token in sentence.flip(0) if backwards else sentence:
        sums = [of_input[k] @ token + of_state[k] @ hidden + bias[k] for k in range(5)]
        admit, keep, emit, through = (one.sigmoid() for one in sums[1:])
        cell = admit * sums[0].tanh() + keep * cell
        hidden = mask * (through * emit * cell.tanh() + (1 - through) * (of_input[5] @ token))
        outputs.append(hidden)
    return torch.stack(outputs[::-1] if backwards else outputs)


def _network(layers: int = 3, dropout: float = 0.0) -> tuple[AlternatingLstm, Tensor]:
    torch.manual_seed(0)
    lstm = AlternatingLstm(input_dim=INPUT, hidden_dim=HIDDEN, layers=layers, dropout=dropout).double()
    return lstm, torch.randn(sum(LENGTHS), INPUT, dtype=torch.float64)


def _plain(lstm: AlternatingLstm, flat: Tensor) -> Tensor:
    found = []
    for sentence in flat.split(LENGTHS):
        states = sentence
        for number, layer in enumerate(lstm.layers):
            assert isinstance(layer, HighwayLstm)
            states = _layer(layer, states, torch.ones(HIDDEN, dtype=flat.dtype), backwards=number % 2 == 1)
        found.append(states)
    return torch.cat(found)


def test_outputs_and_gradients_are_those_of_a_plain_loop() -> None:
    lstm, flat = _network()
    packing = Packing.of(LENGTHS)
    weights = torch.randn(sum(LENGTHS), HIDDEN, dtype=torch.float64)
    first, second = flat.clone().requires_grad_(), flat.clone().requires_grad_()
    found = lstm(first[packing.flat_of_packed], packing)[packing.packed_of_flat]
    expected = _plain(lstm, second)
    assert torch.allclose(found, expected, atol=1e-12)
    ours = torch.autograd.grad((found * weights).sum(), [first, *lstm.parameters()])
    theirs = torch.autograd.grad((expected * weights).sum(), [second, *lstm.parameters()])
    assert all(torch.allclose(one, two, atol=1e-12) for one, two in zip(ours, theirs, strict=True))


def test_one_mask_is_used_at_all_steps_of_a_sequence() -> None:
    lstm, flat = _network(layers=1)
    (layer,) = lstm.layers
    assert isinstance(layer, HighwayLstm)
    packing = Packing.of(LENGTHS)
    mask = torch.tensor([0.0, 2.0], dtype=torch.float64)[torch.randint(2, (len(LENGTHS), HIDDEN))]
    first, second = flat.clone().requires_grad_(), flat.clone().requires_grad_()
    found = layer(first[packing.flat_of_packed], packing.batch_sizes, mask)[packing.packed_of_flat]
    expected = torch.cat(
        [
            _layer(layer, sentence, mask[packing.rank[number]], backwards=False)
            for number, sentence in enumerate(second.split(LENGTHS))
        ]
    )
    assert torch.allclose(found, expected, atol=1e-12)
    ours = torch.autograd.grad((found**2).sum(), [first, *layer.parameters()])
    theirs = torch.autograd.grad((expected**2).sum(), [second, *layer.parameters()])
    assert all(torch.allclose(one, two, atol=1e-12) for one, two in zip(ours, theirs, strict=True))


def test_dropout_drops_whole_columns_of_a_sequence_while_training_alone() -> None:
    lstm, flat = _network(layers=2, dropout=0.5)
    packing = Packing.of(LENGTHS)
    packed = flat[packing.flat_of_packed]
    dropped = [(one == 0).all(0) for one in lstm(packed, packing)[packing.packed_of_flat].split(LENGTHS)]
    rows = torch.stack(dropped)
    assert 0 < int(rows.sum()) < rows.numel()
    zeros = [(one == 0).any(0) for one in lstm.eval()(packed, packing)[packing.packed_of_flat].split(LENGTHS)]
    assert not torch.stack(zeros).any()


def test_a_sentence_is_computed_alike_alone_and_in_a_batch() -> None:
    lstm, flat = _network()
    packing = Packing.of(LENGTHS)
    together = lstm(flat[packing.flat_of_packed], packing)[packing.packed_of_flat].split(LENGTHS)
    for sentence, expected in zip(flat.split(LENGTHS), together, strict=True):
        assert torch.allclose(lstm(sentence, Packing.of([len(sentence)])), expected, atol=1e-12)


def test_the_start_is_orthogonal() -> None:
    layer = HighwayLstm(input_dim=4, hidden_dim=4)
    for block in [*layer.weight_ih.split(4), *layer.weight_hh.split(4)]:
        assert torch.allclose(block @ block.t(), torch.eye(4), atol=1e-5)
    assert layer.bias.tolist() == [0.0] * 8 + [1.0] * 4 + [0.0] * 8


def test_sizes_must_be_positive() -> None:
    with pytest.raises(ValueError, match="layers 0 must all be at least 1"):
        AlternatingLstm(input_dim=1, hidden_dim=1, layers=0)
