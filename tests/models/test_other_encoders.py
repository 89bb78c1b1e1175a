"""The gated convolutions against plain loops; and of both encoders that no direction sees what it predicts."""

import pytest
import torch

from polyseme.models.encoders import ContextEncoder
from polyseme.models.gated_cnn_encoder import GatedCnnEncoder, GatedConvolution
from polyseme.models.gru_encoder import GruEncoder
from polyseme.nn.packing import Packing

DIM = 6


def _encoder(kind: str) -> ContextEncoder:
    torch.manual_seed(0)
    if kind == "gru":
        return GruEncoder(layers=3, hidden_dim=10, projection_dim=DIM)
    return GatedCnnEncoder(layers=3, hidden_dim=10, projection_dim=DIM, width=3)


@pytest.mark.parametrize("kind", ["gru", "gated-cnn"])
def test_a_sequence_is_the_same_in_any_batch_and_leaks_nothing(kind: str) -> None:
    encoder = _encoder(kind)
    lengths = [4, 9, 1, 6]
    tokens = torch.randn(sum(lengths), DIM)
    packing = Packing.of(lengths)
    together, _ = encoder(tokens[packing.flat_of_packed], packing)
    start = 0
    for length in lengths:
        own = tokens[start : start + length]
        alone, _ = encoder(own, Packing.of([length]))
        for layer, single in zip(together, alone, strict=True):
            torch.testing.assert_close(layer[packing.packed_of_flat][start : start + length], single)
        for changed in range(length):
            other = own.clone()
            other[changed] += 1
            for single, after in zip(alone, encoder(other, Packing.of([length]))[0], strict=True):
                same = (single == after).all(dim=1).tolist()
                forward = (single[:, :DIM] == after[:, :DIM]).all(dim=1)
                backward = (single[:, DIM:] == after[:, DIM:]).all(dim=1)
                assert forward[:changed].all()
                assert backward[changed + 1 :].all()
                assert not same[changed]
        start += length


def test_gru_goes_on_from_a_state() -> None:
    encoder = _encoder("gru")
    tokens = torch.randn(10, DIM)
    whole, _ = encoder(tokens, Packing.of([10]))
    first, state = encoder(tokens[:6], Packing.of([6]))
    second, _ = encoder(tokens[6:], Packing.of([4]), state)
    for layer, one, two in zip(whole, first, second, strict=True):
        torch.testing.assert_close(layer[:, :DIM], torch.cat([one, two])[:, :DIM])


def test_gated_convolution_is_the_plain_formula() -> None:
    encoder = _encoder("gated-cnn")
    assert isinstance(encoder, GatedCnnEncoder)
    tokens = torch.randn(5, DIM)
    layers, _ = encoder(tokens, Packing.of([5]))
    layer = encoder.forward_layers[0]
    assert isinstance(layer, GatedConvolution)
    padded = torch.cat([torch.zeros(2, DIM), tokens])
    for place in range(5):
        window = torch.cat([padded[place + 2], padded[place + 1], padded[place]])  # this token first, then the past
        linear, gate = layer.convolution(window).chunk(2)
        torch.testing.assert_close(layers[0][place, :DIM], layer.projection(linear * gate.sigmoid()))
