import copy
import pickle
from collections.abc import Iterator
from random import Random

import numpy as np
import pytest
import torch
from conftest import GOLDEN, batches
from hypothesis import given, settings
from hypothesis import strategies as st
from tiny import WORDS, tiny_model, tiny_word_model

import polyseme
from polyseme import Embedder, ScalarMix
from polyseme.embed.layers import LayerChoice
from polyseme.errors import InputError
from polyseme.formats.detect import open_model
from polyseme.models.model import Model

MODEL = open_model(GOLDEN / "allennlp" / "two_layers")
SENTENCES = [sentence for batch in batches() for sentence in batch]
token = st.text(max_size=12) | st.sampled_from(["bank", "<S>", "\u3000", "", "漢字", "x" * 80, "👩‍👩‍👧"])
sentences = st.lists(st.lists(token, max_size=12), max_size=12)


def plain(model: Model, sentence: list[str]) -> np.ndarray:
    """One sentence, straight through the padded form of the model."""
    ids = np.concatenate([model.indexer.boundaries[:1], model.indexer.ids(sentence), model.indexer.boundaries[1:]])
    with torch.no_grad():
        layers = model.bilm(torch.from_numpy(ids)[None], torch.tensor([len(ids)]))
    return np.asarray(layers[:, 0, 1:-1])


@given(sentences, st.integers(1, 40), st.randoms(use_true_random=False))
@settings(max_examples=60, deadline=None)
def test_the_same_vectors_whatever_the_batch(
    given_sentences: list[list[str]], batch_tokens: int, random: Random
) -> None:
    """Promise 1: order, neighbours, batch and cache do not show."""
    embedder = Embedder(MODEL, batch_tokens=batch_tokens, cache_mib=random.choice([0, 1]))
    order = list(range(len(given_sentences)))
    random.shuffle(order)
    embedder.embed([given_sentences[i] for i in order[: len(order) // 2]])  # fills the cache
    shuffled = embedder.embed([given_sentences[i] for i in order])
    for position, number in enumerate(order):
        sentence = given_sentences[number]
        assert shuffled[position].shape == (3, len(sentence), 16)
        np.testing.assert_allclose(shuffled[position], plain(MODEL, sentence), atol=1e-5, rtol=0)


def test_the_same_vectors_whatever_the_number_of_threads() -> None:
    threads = torch.get_num_threads()
    try:
        results = []
        for number in (1, 2):
            torch.set_num_threads(number)
            results.append(Embedder(MODEL).embed(SENTENCES))
    finally:
        torch.set_num_threads(threads)
    for one, two in zip(*results, strict=True):
        np.testing.assert_allclose(one, two, atol=1e-5, rtol=0)


def test_layer_choices() -> None:
    embedder = Embedder(MODEL)
    layers = embedder.embed(SENTENCES)
    mix = ScalarMix(3, initial_weights=[0.1, -1.0, 2.0])
    mix.gamma.data.fill_(1.5)
    shares = mix.shares().detach().numpy()
    choices: dict[LayerChoice, list[np.ndarray]] = {
        "top": [array[-1] for array in layers],
        "mean": [array.mean(axis=0) for array in layers],
        0: [array[0] for array in layers],
        1: [array[1] for array in layers],
        mix: [1.5 * np.tensordot(shares, array, axes=1) for array in layers],
    }
    for choice, expected in choices.items():
        for ours, wanted in zip(embedder.embed(SENTENCES, layers=choice), expected, strict=True):
            assert ours.dtype == np.float32
            np.testing.assert_allclose(ours, wanted, atol=1e-6)
    np.testing.assert_array_equal(embedder.embed(SENTENCES[:1], layers=np.int64(1))[0], choices[1][0])  # type: ignore[arg-type]


def test_a_path_is_no_model() -> None:
    with pytest.raises(
        InputError, match=r"^got 'my-model' where an opened model is expected; use polyseme.load\('my-m"
    ):
        Embedder("my-model")  # type: ignore[arg-type]


def test_a_mix_with_layer_norm_does_not_see_the_neighbours() -> None:
    embedder = Embedder(MODEL)
    mix = ScalarMix(3, layer_norm=True)
    together = embedder.embed(SENTENCES, layers=mix)
    for sentence, vectors in zip(SENTENCES, together, strict=True):
        np.testing.assert_allclose(embedder.embed([sentence], layers=mix)[0], vectors, atol=1e-5)


@pytest.mark.parametrize("choice", [3, -1, "last", True, 1.0, None])
def test_an_unknown_layer(choice: object) -> None:
    embedder = Embedder(MODEL)
    with pytest.raises(InputError, match=r"unknown layer .*; expected one of 0, 1, 2, or 'all', 'mean', 'top'"):
        embedder.embed(SENTENCES, layers=choice)  # type: ignore[arg-type]


def test_a_mix_of_another_model() -> None:
    with pytest.raises(InputError, match="the mix is of 2 layers but there are 3"):
        Embedder(MODEL).embed(SENTENCES, layers=ScalarMix(2))


def test_sentence_vectors_count_no_padding() -> None:
    embedder = Embedder(MODEL)
    pooled = embedder.embed_sentences([*SENTENCES, []])
    assert pooled.shape == (len(SENTENCES) + 1, 16)
    for sentence, vector in zip(SENTENCES, pooled, strict=False):
        np.testing.assert_allclose(vector, plain(MODEL, sentence).mean(axis=(0, 1)), atol=1e-5)
    assert not pooled[-1].any()
    largest = embedder.embed_sentences(SENTENCES[:2], layers="top", pool="max")
    np.testing.assert_allclose(largest[1], plain(MODEL, SENTENCES[1])[-1].max(axis=0), atol=1e-5)
    assert embedder.embed_sentences([]).shape == (0, 16)
    with pytest.raises(InputError, match="choose 'mean', 'top' or a layer's number"):
        embedder.embed_sentences(SENTENCES, layers="all")


def test_streams_lazily() -> None:
    read = 0

    def source() -> Iterator[list[str]]:
        nonlocal read
        for number in range(10_000):
            read += 1
            yield ["bank", str(number)]

    stream = Embedder(MODEL, batch_tokens=20).stream(source(), layers="top")
    first = next(stream)
    assert first.shape == (2, 16)
    assert read < 200
    assert sum(1 for _ in stream) == 9_999


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        (
            ["The", "river"],
            r"sentence 0 is the string 'The', not a list of tokens; if these are the tokens of one sentence, put "
            r"them into another list: \[tokens\]; if they are texts, give each by itself as a string$",
        ),
        ([["The"], "river"], r"sentence 1 is the string 'river'"),
        ([["The", 3]], r"sentence 0, token 1 is 3 \(int\), not a string"),
        (None, r"got None \(NoneType\) where a list of sentences is expected"),
        ([["The"], 5], r"sentence 1 is 5 \(int\), not a list of tokens; give a list of lists"),
        ([iter(["The"])], r"sentence 0 is <list_iterator.* \(list_iterator\), not a list of tokens"),
    ],
)
def test_what_is_not_sentences(bad: object, message: str) -> None:
    for stateful in (False, True):
        with pytest.raises(InputError, match=message):
            Embedder(MODEL, stateful=stateful).embed(bad)  # type: ignore[arg-type]


def test_arrays_of_strings_are_sentences() -> None:
    rows = [["The", "river"], ["A", "bank"]]
    for ours, wanted in zip(Embedder(MODEL).embed(np.array(rows)), Embedder(MODEL).embed(rows), strict=True):
        np.testing.assert_array_equal(ours, wanted)


def test_the_cache_notices_new_weights() -> None:
    model = tiny_model()
    embedder = Embedder(model)
    before = embedder.embed([["bank"]])[0]
    with torch.no_grad():
        next(model.bilm.token_encoder.parameters()).add_(0.5)
    after = embedder.embed([["bank"]])[0]
    assert not np.allclose(before, after)
    np.testing.assert_allclose(after, plain(model, ["bank"]), atol=1e-6)


@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_precision_is_close_but_not_the_same(precision: str) -> None:
    exact = Embedder(MODEL).embed(SENTENCES)
    rounded = polyseme.load(GOLDEN / "allennlp" / "two_layers", precision=precision).embed(SENTENCES)  # type: ignore[arg-type]
    differences = [np.abs(one - two).max() for one, two in zip(exact, rounded, strict=True)]
    assert max(differences) > 1e-4
    assert np.mean(differences) < 0.3  # the golden weights are made to hit the clips, and rounding shows there


def test_loaded_in_inference_mode() -> None:
    with torch.inference_mode():
        embedder = polyseme.load(GOLDEN / "allennlp" / "two_layers")
    for ours, wanted in zip(embedder.embed(SENTENCES), Embedder(MODEL).embed(SENTENCES), strict=True):
        np.testing.assert_array_equal(ours, wanted)


def test_the_cache_stays_within_its_budget() -> None:
    embedder = Embedder(MODEL, batch_tokens=64, cache_mib=0)
    embedder._cache = type(embedder._cache)(8, budget_bytes=32 * 10)  # ten words
    many = [[f"word{number % 37}", f"word{number % 11}"] for number in range(200)]
    for sentence, vectors in zip(many, embedder.embed(many), strict=True):
        np.testing.assert_allclose(vectors, plain(MODEL, sentence), atol=1e-5, rtol=0)
    assert len(embedder._cache) == 10


class TestLanguageModel:
    def test_scores_are_those_of_the_definition(self) -> None:
        """log p of each token from the forward state left of it and the backward state right of it."""
        model = tiny_model()
        sentences = [["the", "river", "bank"], ["money"], [], ["of", "nowhere", "a", "play"]]
        scores = Embedder(model, batch_tokens=6).score(sentences)
        assert model.bilm.softmax is not None
        assert model.vocabulary is not None
        for sentence, ours in zip(sentences, scores, strict=True):
            assert ours.shape == (len(sentence), 2)
            if not sentence:
                continue
            ids = np.concatenate(
                [model.indexer.boundaries[:1], model.indexer.ids(sentence), model.indexer.boundaries[1:]]
            )
            top = model.bilm(torch.from_numpy(ids)[None], torch.tensor([len(ids)]))[-1, 0]
            for position, word in enumerate(sentence):
                index = WORDS.index(word) if word in WORDS else WORDS.index("<UNK>")
                for column, state in ((0, top[position, :6]), (1, top[position + 2, 6:])):
                    logits = model.bilm.softmax.weight @ state + model.bilm.softmax.bias
                    expected = logits[index] - torch.logsumexp(logits, 0)
                    assert ours[position, column] == pytest.approx(float(expected), abs=1e-5)

    def test_scores_do_not_depend_on_the_token_scored(self) -> None:
        """Scores over all words for one place sum to one, so the place's own token cannot have been seen."""
        embedder = Embedder(tiny_model())
        total = np.zeros(2)
        for word in WORDS:
            # A word outside the vocabulary would be scored as <UNK>, so only the target's id changes, not the length.
            total += np.exp(embedder.score([["the", word, "bank"]])[0][1])
        np.testing.assert_allclose(total, 1, atol=1e-4)

    def test_substitutes(self) -> None:
        embedder = Embedder(tiny_model())
        found = embedder.substitutes(["the", "brook", "bank"], 1, k=4)
        assert len(found) == 4
        assert not {"<S>", "</S>", "<UNK>"} & {substitute.word for substitute in found}
        assert [s.log_probability for s in found] == sorted((s.log_probability for s in found), reverse=True)
        for substitute in found:
            forward, backward = embedder.score([["the", substitute.word, "bank"]])[0][1]
            assert substitute.forward == pytest.approx(forward, abs=1e-5)
            assert substitute.backward == pytest.approx(backward, abs=1e-5)
        assert len(embedder.substitutes(["the"], 0, k=100)) == len(WORDS) - 3

    def test_substitutes_count_the_frequency_of_a_word_once(self) -> None:
        # P(w | left, right) ~ P(w | left) P(w | right) / P(w), P(w) falling with the rank as log(1 + 1 / (rank + 1)).
        found = Embedder(tiny_model()).substitutes(["the", "brook", "bank"], 1, k=len(WORDS))
        ranks = np.array([WORDS.index(one.word) for one in found])
        product = np.exp([one.forward + one.backward for one in found]) / np.log1p(1 / (ranks + 1))
        ours = np.exp([one.log_probability for one in found])
        np.testing.assert_allclose(ours / ours.sum(), product / product.sum(), rtol=1e-4)

    def test_a_position_outside(self) -> None:
        with pytest.raises(InputError, match="position 3 is not in the sentence of 3 tokens; count from 0"):
            Embedder(tiny_model()).substitutes(["the", "river", "bank"], 3)

    def test_words_as_input(self) -> None:
        assert Embedder(tiny_word_model()).embed([["river", "unheard"]])[0].shape == (3, 2, 12)


def test_settings_that_cannot_be() -> None:
    for name in ("batch_size", "batch_tokens"):
        with pytest.raises(InputError, match=f"{name} is 0, expected at least 1"):
            Embedder(MODEL, **{name: 0})  # type: ignore[arg-type]
    with pytest.raises(InputError, match="cache_mib is -1, expected at least 0"):
        Embedder(MODEL, cache_mib=-1)
    with pytest.raises(InputError, match="k is 0, expected how many words"):
        Embedder(tiny_model()).substitutes(["the"], 0, k=0)
    with pytest.raises(InputError, match="unknown pool 'median'; expected 'mean' or 'max'"):
        Embedder(MODEL).embed_sentences(SENTENCES, pool="median")  # type: ignore[arg-type]


def test_scores_leave_the_carried_state_alone() -> None:
    model = tiny_model()
    plain, stateful = Embedder(model), Embedder(model, stateful=True)
    stateful.embed([["the", "river"]])
    np.testing.assert_array_equal(stateful.score([["a", "bank"]])[0], plain.score([["a", "bank"]])[0])


def test_a_used_embedder_can_be_copied_and_pickled() -> None:
    embedder = Embedder(MODEL)
    expected = embedder.embed(SENTENCES)
    for twin in (copy.deepcopy(embedder), pickle.loads(pickle.dumps(embedder))):
        for ours, wanted in zip(twin.embed(SENTENCES), expected, strict=True):
            np.testing.assert_array_equal(ours, wanted)


def test_replaced_weights_are_noticed() -> None:
    model = tiny_model()
    embedder = Embedder(model)
    before = embedder.embed([["bank"]])[0]
    other = tiny_model(seed=5)
    model.bilm.load_state_dict({k: v.clone() for k, v in other.bilm.state_dict().items()}, assign=True)
    assert not np.allclose(embedder.embed([["bank"]])[0], before)
    np.testing.assert_allclose(embedder.embed([["bank"]])[0], plain(other, ["bank"]), atol=1e-6)
