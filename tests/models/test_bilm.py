import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import tiny_config, tiny_model

from polyseme.models.bilm import BiLM
from polyseme.models.config import BiLMConfig, CharacterEncoderConfig, LstmEncoderConfig
from polyseme.nn.packing import Packing

PUBLISHED_FILTERS = ((1, 32), (2, 32), (3, 64), (4, 128), (5, 256), (6, 512), (7, 1024))


@pytest.mark.parametrize(
    ("hidden", "projection", "highways", "parameters"),
    [(1024, 128, 1, 13_593_312), (2048, 256, 1, 28_027_744), (4096, 512, 2, 93_600_864)],
)
def test_published_sizes(hidden: int, projection: int, highways: int, parameters: int) -> None:
    config = BiLMConfig(
        projection_dim=projection,
        token_encoder=CharacterEncoderConfig(
            alphabet="bytes",
            characters=262,
            character_dim=16,
            filters=PUBLISHED_FILTERS,
            highway_layers=highways,
            padding_id=261,
        ),
        encoder=LstmEncoderConfig(layers=2, hidden_dim=hidden),
    )
    with torch.device("meta"):
        assert sum(p.numel() for p in BiLM.from_config(config).parameters()) == parameters


@given(st.integers(1, 9), st.data())
@settings(max_examples=30, deadline=None)
def test_no_direction_sees_the_token_it_predicts(length: int, data: st.DataObject) -> None:
    """The forward state left of a token and the backward state right of it do not change with that token.

    A stacked bidirectional LSTM, whose layers see both directions, fails this at its second layer.
    """
    changed = data.draw(st.integers(0, length - 1))
    bilm = tiny_model().bilm
    tokens = torch.randn(length, 6, generator=torch.Generator().manual_seed(length))
    others = tokens.clone()
    others[changed] += 1.0
    packing = Packing.of([length])
    before, _ = bilm.contextualise(tokens, packing)
    after, _ = bilm.contextualise(others, packing)
    for layer, (one, two) in enumerate(zip(before[1:], after[1:], strict=True), start=1):
        (forward, backward), (forward2, backward2) = one.chunk(2, dim=1), two.chunk(2, dim=1)
        assert torch.equal(forward[:changed], forward2[:changed]), f"layer {layer} forward saw the future"
        assert torch.equal(backward[changed + 1 :], backward2[changed + 1 :]), f"layer {layer} backward saw the past"
        # And everything from the token on does depend on it, or the test would prove nothing.
        assert not torch.allclose(forward[changed:], forward2[changed:])
        assert not torch.allclose(backward[: changed + 1], backward2[: changed + 1])


def test_the_padded_form_agrees_with_the_packed_one() -> None:
    bilm = tiny_model().bilm
    ids = torch.randint(1, 262, (4, 5, 50))
    lengths = torch.tensor([5, 0, 2, 3])
    padded = bilm(ids, lengths)
    assert padded.shape == (3, 4, 5, 12)
    for row, length in enumerate(lengths.tolist()):
        assert not padded[:, row, length:].any()
        if length:
            alone, _ = bilm.contextualise(bilm.encode_tokens(ids[row, :length]), Packing.of([length]))
            torch.testing.assert_close(padded[:, row, :length], torch.stack(alone), atol=1e-6, rtol=0)
    assert not bilm(ids, torch.zeros(4, dtype=torch.long)).any()


def test_layer_0_is_the_token_vector_twice() -> None:
    bilm = tiny_model().bilm
    tokens = torch.randn(3, 6)
    layer, *_ = bilm.contextualise(tokens, Packing.of([3]))[0]
    assert torch.equal(layer, torch.cat([tokens, tokens], dim=1))


def test_skip_connections_add_the_layer_below() -> None:
    with_skip, without = tiny_model().bilm, tiny_model(skip_connections=False).bilm
    tokens, packing = torch.randn(3, 6), Packing.of([3])
    _, first, second = with_skip.contextualise(tokens, packing)[0]
    _, same, bare = without.contextualise(tokens, packing)[0]
    assert torch.equal(first, same)
    torch.testing.assert_close(second, bare + first)


def test_chunked_words_are_the_same_words() -> None:
    bilm = tiny_model().bilm
    ids = torch.randint(1, 262, (1100, 50))
    with torch.no_grad():
        chunked = bilm.encode_words(ids)
    torch.testing.assert_close(chunked, bilm.encode_words(ids))


def test_settings_that_cannot_be() -> None:
    encoder = tiny_config().token_encoder.model_dump()
    with pytest.raises(ValueError, match="a filter of width 60 does not fit into 50 characters"):
        CharacterEncoderConfig.model_validate({**encoder, "filters": [(60, 4)]})
    with pytest.raises(ValueError, match="both must be 0, or neither"):
        CharacterEncoderConfig.model_validate({**encoder, "words": 5})
    with pytest.raises(ValueError, match="padding_id 300 is not one of 262 characters"):
        CharacterEncoderConfig.model_validate({**encoder, "padding_id": 300})
