"""The MT-LSTM beside torch.nn.LSTM, sentence by sentence, at every layer."""

import numpy as np
import pytest
import torch
from tiny_cove import WORDS, tiny_cove, tiny_lstm, tiny_vectors
from torch import Tensor, nn

from polyseme.arrays import Vectors
from polyseme.embed.embedder import Embedder
from polyseme.errors import InputError
from polyseme.models.elmo_layers import ElmoLayers
from polyseme.models.mt_lstm import MtLstm, StaticTokenEncoder, cove_model
from polyseme.text.table_words import TableWords

SENTENCES = [["the", "river", "bank"], ["Paris"], [], ["the", "sea", "of", "New York", "bank"], ["of", "The"]]


def by_torch(sentence: list[str], *, hidden_dim: int = 4, input_dim: int = 4) -> list[Tensor]:
    """The static vectors (T, I) and each LSTM layer (T, 2H) of one sentence, by torch alone."""
    table = dict(zip(WORDS, tiny_vectors(input_dim), strict=True))
    below = torch.stack([table.get(word, torch.zeros(input_dim)) for word in sentence])
    layers = [below]
    state = tiny_lstm(hidden_dim=hidden_dim, input_dim=input_dim).state_dict()
    for number in (0, 1):
        lstm = nn.LSTM(below.shape[1], hidden_dim, bidirectional=True)
        lstm.load_state_dict(
            {name.replace(f"_l{number}", "_l0"): state[name] for name in state if f"_l{number}" in name}
        )
        with torch.no_grad():
            below = lstm(below)[0]
        layers.append(below)
    return layers


def test_every_layer_equals_torch_sentence_by_sentence() -> None:
    for sentence, vectors in zip(SENTENCES, Embedder(tiny_cove()).embed(SENTENCES), strict=True):
        assert vectors.shape == (3, len(sentence), 8)
        if sentence:
            static, first, second = by_torch(sentence)
            expected = torch.stack([torch.cat([static, static], dim=1), first, second]).numpy()
            np.testing.assert_allclose(vectors, expected, rtol=0, atol=1e-6)


@pytest.mark.parametrize(("hidden_dim", "input_dim"), [(6, 4), (3, 5)])
def test_widths_that_differ_are_filled_with_zeros_and_narrowed_again(hidden_dim: int, input_dim: int) -> None:
    model = tiny_cove(hidden_dim=hidden_dim, input_dim=input_dim)
    network = model.network
    assert isinstance(network, MtLstm)
    half = max(hidden_dim, input_dim)
    assert network.dim == 2 * half
    (vectors,) = Embedder(model).embed(SENTENCES[:1])
    expected = by_torch(SENTENCES[0], hidden_dim=hidden_dim, input_dim=input_dim)
    for number, layer in enumerate(torch.from_numpy(vectors)):
        torch.testing.assert_close(network.narrow(layer, number), expected[number], rtol=0, atol=1e-6)
        width = input_dim if number == 0 else hidden_dim
        assert not layer[:, width:half].any()
        assert not layer[:, half + width :].any()


def test_a_padded_batch_equals_the_sentences_alone() -> None:
    module = ElmoLayers(tiny_cove())
    layers, mask = module(module.ids(SENTENCES))
    assert mask.sum(dim=1).tolist() == [len(sentence) for sentence in SENTENCES]
    for row, sentence in enumerate(SENTENCES):
        alone: Vectors = Embedder(tiny_cove()).embed([sentence])[0]
        padded = torch.stack(layers)[:, row]
        np.testing.assert_allclose(padded[:, : len(sentence)], alone, rtol=0, atol=1e-6)
        assert not padded[:, len(sentence) :].any()


def test_words_without_a_vector_are_zeros_also_after_training() -> None:
    encoder = StaticTokenEncoder(words=3, dim=2)
    nn.init.ones_(encoder.vectors)
    result = encoder(torch.tensor([[2], [3], [0]]))
    assert result.tolist() == [[1, 1], [0, 0], [1, 1]]
    result.sum().backward()
    assert encoder.vectors.grad is not None
    assert encoder.vectors.grad.tolist() == [[1, 1], [0, 0], [1, 1]]


def test_another_case_will_do_if_asked_for() -> None:
    assert TableWords(WORDS, case_backoff=True).ids(["The", "paris", "sea"]).tolist() == [[0], [3], [6]]
    assert TableWords(WORDS, case_backoff=False).ids(["The", "paris", "sea"]).tolist() == [[6], [6], [6]]
    assert tiny_cove(case_backoff=True).fingerprint() != tiny_cove().fingerprint()


def test_parts_that_do_not_fit_are_refused() -> None:
    with pytest.raises(InputError, match="the LSTM reads vectors of width 4, the table has 5"):
        cove_model(WORDS, tiny_vectors(5), tiny_lstm(), case_backoff=False)
    with pytest.raises(InputError, match="got 2 words and 6 vectors; expected one vector for each word"):
        cove_model(WORDS[:2], tiny_vectors(), tiny_lstm(), case_backoff=False)


def test_other_precisions_and_carried_state_are_refused() -> None:
    with pytest.raises(InputError, match="precision 'int8' is for the LSTMs of a biLM; CoVe computes in 'float32'"):
        Embedder(tiny_cove(), precision="int8")
    with pytest.raises(InputError, match="unknown precision 'float8'"):
        Embedder(tiny_cove(), precision="float8")  # type: ignore[arg-type]
    with pytest.raises(InputError, match="carries no state"):
        Embedder(tiny_cove(), stateful=True)
