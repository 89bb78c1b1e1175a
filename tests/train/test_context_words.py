"""The second loss, in which content words predict others further away."""

from pathlib import Path

import numpy as np
import pytest
import torch
from chains import MINI, Chain, write
from tiny import tiny_config

from polyseme.errors import InputError
from polyseme.models.bilm import BiLM
from polyseme.nn.sampled_softmax import Negatives
from polyseme.nn.softmax import FullSoftmax
from polyseme.text.vocabulary import Vocabulary
from polyseme.train.lm import context_words
from polyseme.train.lm.batches import SentenceBatch
from polyseme.train.lm.context_words import Away, ContextWords, Sample, kept_share
from polyseme.train.lm.objective import Objective
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import settings_of
from polyseme.train.lm.text_store import TextPart, TextStore

TYPES = ["<S>", "</S>", "the", "river", "bank", "fish", "unheard"]
OUTPUTS = ["<S>", "</S>", "<UNK>", "the", "river", "bank", "fish"]
LINE = "<S> the river the the bank the fish unheard bank the the the the the the the the river </S>"
DIM = 6


def _types(text: str) -> np.ndarray:
    return np.array([TYPES.index(word) for word in text.split()], np.int32)


def _store(text: str) -> TextStore:
    types, vocabulary = _types(text), Vocabulary(OUTPUTS)
    part = TextPart(types, np.array([0, len(types)]))
    characters = np.zeros((len(TYPES), 50), np.int32)
    return TextStore(part, part, characters, np.array(vocabulary.lookup(TYPES)), vocabulary)


@pytest.fixture
def frequent(monkeypatch: pytest.MonkeyPatch) -> float:
    monkeypatch.setattr(context_words, "FREQUENT", 0.1)
    return 0.1


def test_frequent_words_count_as_content_words_now_and_then_and_markers_never(frequent: float) -> None:
    tokens = LINE.split()
    expected = [
        0.0 if word in ("<S>", "</S>", "<UNK>") else min(1.0, (frequent / (tokens.count(word) / len(tokens))) ** 0.5)
        for word in OUTPUTS
    ]
    assert kept_share(_store(LINE)).tolist() == pytest.approx(expected)
    assert expected[3] < 0.5 < expected[6] == 1.0  # the, fish


@pytest.mark.usefixtures("frequent")
def test_a_word_predicts_content_words_2_to_10_places_away_in_its_own_sentence() -> None:
    store = _store(LINE)
    kept = kept_share(store)[store.outputs[_types(LINE)]]
    context, count = ContextWords(store, DIM), 1000
    types, lengths = np.concatenate([_types(LINE), _types("<S> fish bank river </S>")]), (20, 5)
    drawn = np.zeros((len(types), len(types)))
    for step in range(count):  # every share of a stick once, so that counts are shares
        uniform = np.full((2, len(types)), (step + 0.5) / count)
        uniform[1] = 0.0
        places, wanted = context.draw(types, lengths, uniform)
        drawn[places, wanted] += 1 / count
    for place in range(20):
        near = [other for other in range(20) if 2 <= abs(other - place) <= 10]
        total = sum(kept[other] for other in near)
        expected = [kept[other] / total if other in near and kept[place] else 0.0 for other in range(20)]
        assert drawn[place, :20].tolist() == pytest.approx(expected, abs=2 / count)
        assert not drawn[place, 20:].any()
    # In the short sentence only its first and last word are two places apart.
    assert np.argwhere(drawn[20:]).tolist() == [[1, 23], [3, 21]]

    places, _ = context.draw(types, lengths, np.full((2, len(types)), 0.5))
    assert [TYPES[types[place]] for place in places] == [
        *("river", "bank", "fish", "bank", "river"),  # no "the", which is kept less often than that
        *("fish", "river"),
    ]


@pytest.mark.usefixtures("frequent")
@pytest.mark.parametrize("sampled", [False, True])
def test_its_loss_is_that_of_a_plain_loop_and_leaves_the_softmax_alone(sampled: bool) -> None:
    torch.manual_seed(0)
    store = _store(LINE)
    context, softmax = ContextWords(store, DIM), FullSoftmax(DIM, len(OUTPUTS))
    torch.nn.init.normal_(softmax.bias)
    for parameter in context.parameters():
        torch.nn.init.normal_(parameter, std=0.3)
    states, targets = torch.randn(4, 2 * DIM, requires_grad=True), torch.tensor([4, 5, 6, 4])
    negatives = Negatives(np.array([3, 4, 0]), 5, len(OUTPUTS))
    rows = torch.arange(len(OUTPUTS))
    sample = Sample(rows, softmax.weight, softmax.bias, negatives) if sampled else None
    got = context.nll(Away(states, targets), softmax, sample)
    log_kept = torch.from_numpy(np.log(np.maximum(kept_share(store), 1e-9))).float()
    correction = negatives.log_expected_count(rows)
    plain = torch.zeros(())
    for state, target in zip(states, targets.tolist(), strict=True):
        for half, one in zip(state.chunk(2), context.maps, strict=True):
            logits = one(half) @ softmax.weight.detach().t() + softmax.bias.detach() + log_kept
            among = torch.arange(len(OUTPUTS))
            if sampled:
                logits = logits - correction
                among = torch.tensor(sorted({target, *negatives.words.tolist()}))
            plain = plain - logits[target] + logits[among].logsumexp(0)
    assert got.item() == pytest.approx(plain.item(), rel=1e-5)
    learnt = [states, *context.parameters()]
    for mine, other in zip(torch.autograd.grad(got, learnt), torch.autograd.grad(plain, learnt), strict=True):
        torch.testing.assert_close(mine, other, rtol=1e-4, atol=1e-5)
    assert softmax.weight.grad is None


@pytest.mark.usefixtures("frequent")
def test_it_is_learnt_besides_and_left_out_of_the_loss_that_is_shown() -> None:
    store = _store(LINE)
    torch.manual_seed(0)
    bilm = BiLM.from_config(tiny_config(vocabulary_size=len(OUTPUTS)))
    batch = SentenceBatch(np.tile(_types(LINE), 5), (20,) * 5)
    context = ContextWords(store, 6)
    plain = Objective(bilm, store, dropout=0.0, device=torch.device("cpu"))(batch, None)
    torch.manual_seed(1)
    both = Objective(bilm, store, dropout=0.0, device=torch.device("cpu"), context=context, context_weight=0.5)
    loss = both(batch, None)
    assert plain.besides is None
    assert loss.total.item() == plain.total.item()
    assert loss.predictions == plain.predictions
    assert loss.besides is not None
    loss.besides.backward()
    assert all(p.grad is not None and p.grad.any() for p in context.parameters())
    assert all(p.grad is not None for p in bilm.encoder.parameters())


def test_a_run_with_it_learns_something_else_and_writes_a_model_like_any_other(tmp_path: Path) -> None:
    text = write(tmp_path / "text.txt", Chain().sentences(120, seed=1))
    settings = {**MINI, "epochs": 2, "context_weight": 0.3}
    train(text, tmp_path / "whole", **settings)
    train(text, tmp_path / "without", **{**settings, "context_weight": 0.0})
    files = sorted(path.name for path in (tmp_path / "whole").iterdir())
    assert files == sorted(path.name for path in (tmp_path / "without").iterdir())
    weights = [(tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "without")]
    assert len(weights[0]) == len(weights[1])
    assert weights[0] != weights[1]


@pytest.mark.parametrize("sampled", [False, True])
def test_a_batch_without_two_content_words_has_nothing_to_learn_from_it(sampled: bool) -> None:
    store = _store(LINE)
    context, softmax = ContextWords(store, DIM), FullSoftmax(DIM, len(OUTPUTS))
    negatives = Negatives(np.array([3, 4]), 2, len(OUTPUTS))
    places, _ = context.draw(_types("<S> fish </S>"), (3,), np.zeros((2, 3)))
    assert not len(places)
    states = torch.zeros(0, 2 * DIM, requires_grad=True)
    sample = Sample(torch.tensor([3, 4]), softmax.weight[3:5], softmax.bias[3:5], negatives) if sampled else None
    loss = context.nll(Away(states, torch.zeros(0, dtype=torch.long)), softmax, sample)
    loss.backward()
    assert loss.item() == 0
    assert all(parameter.grad is not None and not parameter.grad.any() for parameter in context.parameters())


def test_it_is_refused_where_it_cannot_be(tmp_path: Path) -> None:
    for wrong in ({"layout": "rows"}, {"softmax": "adaptive"}):
        with pytest.raises(InputError, match="context_weight is for layout 'sentences'"):
            settings_of("tiny", context_weight=0.3, **wrong)
    text = write(tmp_path / "text.txt", Chain().sentences(20, seed=1))
    train(text, tmp_path / "adaptive", **{**MINI, "softmax": "adaptive", "updates": 1})
    with pytest.raises(
        InputError, match="context_weight needs a full softmax, but the model to start from has an adap"
    ):
        train(text, tmp_path / "more", start=tmp_path / "adaptive", context_weight=0.3, updates=1)
