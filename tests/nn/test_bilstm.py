"""BiLstm beside torch.nn.LSTM, sentence by sentence."""

import pytest
import torch
from torch import Tensor, nn

from polyseme.nn.bilstm import BiLstm
from polyseme.nn.packing import Packing

LENGTHS = [3, 1, 7, 4, 4]


def pair(*, layers: int = 2, dropout: float = 0.0) -> tuple[BiLstm, nn.LSTM]:
    torch.manual_seed(3)
    ours = BiLstm(input_dim=5, hidden_dim=6, layers=layers, dropout=dropout)
    theirs = nn.LSTM(5, 6, num_layers=layers, bidirectional=True, batch_first=True)
    theirs.load_state_dict(ours.state_dict())
    return ours, theirs


def sentences() -> list[Tensor]:
    torch.manual_seed(4)
    return [torch.randn(length, 5) for length in LENGTHS]


def one_by_one(theirs: nn.LSTM, given: list[Tensor]) -> list[Tensor]:
    """The top layer of each sentence alone: (T, 2H) each."""
    return [theirs(sentence.unsqueeze(0))[0][0] for sentence in given]


def test_parameters_are_those_of_torch_by_name_shape_and_range() -> None:
    ours, theirs = pair()
    assert {name: tensor.shape for name, tensor in ours.state_dict().items()} == {
        name: tensor.shape for name, tensor in theirs.state_dict().items()
    }
    largest = max(float(tensor.abs().max()) for tensor in ours.state_dict().values())
    assert 0.9 * 6**-0.5 < largest <= 6**-0.5


def test_every_layer_equals_torch_sentence_by_sentence() -> None:
    ours, _ = pair(layers=3)
    given = sentences()
    packing = Packing.of(LENGTHS)
    packed = torch.cat(given)[packing.flat_of_packed]
    for number, layer in enumerate(ours(packed, packing)):
        shorter, theirs = pair(layers=number + 1)
        shorter.load_state_dict({name: ours.state_dict()[name] for name in shorter.state_dict()})
        theirs.load_state_dict(shorter.state_dict())
        expected = torch.cat(one_by_one(theirs, given))
        torch.testing.assert_close(layer[packing.packed_of_flat], expected, rtol=0, atol=1e-6)


def test_final_states_equal_torch_in_the_callers_order() -> None:
    ours, theirs = pair()
    given = sentences()
    packing = Packing.of(LENGTHS)
    _, finals = ours.run(torch.cat(given)[packing.flat_of_packed], packing)
    for row, sentence in enumerate(given):
        hidden, cell = theirs(sentence.unsqueeze(0))[1]  # (2 layers x 2 directions, 1, H) each
        for number, final in enumerate(finals):
            both = slice(2 * number, 2 * number + 2)
            torch.testing.assert_close(final.hidden[row], hidden[both, 0].flatten(), rtol=0, atol=1e-6)
            torch.testing.assert_close(final.cell[row], cell[both, 0].flatten(), rtol=0, atol=1e-6)


def test_gradients_equal_torch() -> None:
    ours, theirs = pair()
    given = sentences()
    ours_in = torch.nn.utils.rnn.pad_sequence(given, batch_first=True).requires_grad_()
    mask = torch.arange(max(LENGTHS)) < torch.tensor(LENGTHS).unsqueeze(1)
    theirs_in = [sentence.clone().requires_grad_() for sentence in given]
    ours.padded(ours_in, mask).square().sum().backward()
    torch.cat(one_by_one(theirs, theirs_in)).square().sum().backward()
    for name, parameter in theirs.named_parameters():
        torch.testing.assert_close(ours.get_parameter(name).grad, parameter.grad, rtol=1e-5, atol=1e-6)
    assert ours_in.grad is not None
    for row, sentence in enumerate(theirs_in):
        assert sentence.grad is not None
        torch.testing.assert_close(ours_in.grad[row, : LENGTHS[row]], sentence.grad, rtol=1e-5, atol=1e-6)
        assert not ours_in.grad[row, LENGTHS[row] :].any()


def test_a_padded_batch_equals_sentences_alone_and_is_zero_at_padding_and_for_empty_sentences() -> None:
    ours, theirs = pair()
    given = sentences()
    lengths = [*LENGTHS, 0]
    mask = torch.arange(9) < torch.tensor(lengths).unsqueeze(1)
    inputs = torch.full((6, 9, 5), float("nan"))  # padding may hold anything
    inputs[mask] = torch.cat(given)
    result = ours.padded(inputs, mask)
    assert result.shape == (6, 9, 12)
    torch.testing.assert_close(result[mask], torch.cat(one_by_one(theirs, given)), rtol=0, atol=1e-6)
    assert not result[~mask].any()


def test_a_batch_of_empty_sentences_gives_zeros() -> None:
    ours, _ = pair()
    assert torch.equal(ours.padded(torch.randn(2, 3, 5), torch.zeros(2, 3, dtype=torch.bool)), torch.zeros(2, 3, 12))
    assert ours.padded(torch.randn(2, 0, 5), torch.zeros(2, 0)).shape == (2, 0, 12)


def test_dropout_acts_between_layers_while_training_only() -> None:
    ours, _ = pair(dropout=0.5)
    packing = Packing.of([4])
    packed = torch.randn(4, 5)
    ours.eval()
    bottom, top = ours(packed, packing)
    ours.train()
    torch.manual_seed(0)
    dropped_bottom, dropped_top = ours(packed, packing)
    torch.testing.assert_close(dropped_bottom, bottom)
    assert not torch.allclose(dropped_top, top)


def test_sizes_of_nothing_are_refused() -> None:
    with pytest.raises(ValueError, match="hidden_dim 0 and layers 1 must all be at least 1"):
        BiLstm(input_dim=3, hidden_dim=0)
