"""The parts of the coreference model beside plain loops and enumeration."""

import itertools
import math

import pytest
import torch
from torch import Tensor

from polyseme.tasks import antecedents, span_scorer
from polyseme.tasks.antecedents import Candidates, PairScorer, buckets, marginal_loss
from polyseme.tasks.coref_documents import clusters_of, out_of_reach, pieces
from polyseme.tasks.examples import Document
from polyseme.tasks.span_scorer import SpanScorer, attended
from polyseme.tasks.spans import Spans, all_spans, best_apart

LENGTHS = [3, 1, 5, 2]


def test_all_spans_are_those_of_a_plain_loop() -> None:
    for width in (1, 3, 9):
        expected, first = [], 0
        for length in LENGTHS:
            expected += [
                (first + start, first + end)
                for start in range(length)
                for end in range(start + 1, min(start + width, length) + 1)
            ]
            first += length
        assert all_spans(LENGTHS, width).pairs() == expected


def test_attention_within_spans_is_that_of_a_plain_loop() -> None:
    torch.manual_seed(0)
    values = torch.randn(sum(LENGTHS), 4, requires_grad=True)
    weights = (30 * torch.randn(sum(LENGTHS))).requires_grad_()
    spans = all_spans(LENGTHS, 3)
    found = attended(values, weights, spans, 3)
    expected = torch.stack([weights[a:b].softmax(0) @ values[a:b] for a, b in spans.pairs()])
    assert torch.allclose(found, expected, atol=1e-6)
    upstream = torch.randn_like(found)
    ours = torch.autograd.grad((found * upstream).sum(), (values, weights))
    theirs = torch.autograd.grad((expected * upstream).sum(), (values, weights))
    assert all(torch.allclose(one, two, atol=1e-5) for one, two in zip(ours, theirs, strict=True))


def test_mention_scores_are_those_of_the_spans_vectors(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    scorer = SpanScorer(state_dim=4, input_dim=3, width=3, hidden_dim=5)
    states, inputs, spans = torch.randn(sum(LENGTHS), 4), torch.randn(sum(LENGTHS), 3), all_spans(LENGTHS, 3)
    vectors = scorer.vectors(states, inputs, spans)
    assert vectors.shape == (len(spans), scorer.dim)
    parts = (scorer.of_start, scorer.of_end, scorer.of_head, scorer.of_width)
    weight = torch.cat([part.weight for part in parts], dim=1)  # one layer over the whole vector
    expected = scorer.rest(vectors @ weight.t() + scorer.of_start.bias).squeeze(1)
    assert torch.allclose(scorer(states, inputs, spans), expected, atol=1e-5)
    monkeypatch.setattr(span_scorer, "_CHUNK", 4)
    assert torch.allclose(scorer(states, inputs, spans), expected, atol=1e-5)


def _cross(one: tuple[int, int], two: tuple[int, int]) -> bool:
    return one[0] < two[0] < one[1] < two[1] or two[0] < one[0] < two[1] < one[1]


def test_kept_spans_never_cross_and_are_the_best_in_turn() -> None:
    for seed in range(20):
        torch.manual_seed(seed)
        spans = all_spans(LENGTHS, 4)
        scores = torch.randint(6, (len(spans),)).float()  # with equal ones
        for count in (1, 4, 99):
            expected: list[int] = []
            pairs = spans.pairs()
            for row in sorted(range(len(pairs)), key=lambda row: -float(scores[row])):
                if len(expected) < count and not any(_cross(pairs[row], pairs[other]) for other in expected):
                    expected.append(row)
            assert best_apart(spans, scores, count).tolist() == sorted(expected)


def test_one_span_of_one_token() -> None:
    assert best_apart(Spans(torch.tensor([0]), torch.tensor([1])), torch.zeros(1), 1).tolist() == [0]


def _pairs(spans: int, *, candidates: int) -> tuple[PairScorer, Tensor, Tensor]:
    torch.manual_seed(0)
    return PairScorer(span_dim=4, hidden_dim=5, candidates=candidates), torch.randn(spans, 4), torch.randn(spans)


def _plain_score(scorer: PairScorer, vectors: Tensor, mentions: Tensor, i: int, j: int) -> float:
    """s(i, j) from its formula, and whatever part of it chooses candidates."""
    bucket = buckets(torch.tensor(i - j))
    coarse = scorer.coarse_from(vectors[i]) @ scorer.coarse_to(vectors[j]) / math.sqrt(5)
    coarse = coarse + scorer.coarse_distance[bucket]
    layers = (scorer.of_later, scorer.of_earlier, scorer.of_both, scorer.of_distance)
    whole = torch.cat([vectors[i], vectors[j], vectors[i] * vectors[j], scorer.distances.weight[bucket]])
    weight = torch.cat([layer.weight for layer in layers], dim=1)
    fine = scorer.rest(weight @ whole + scorer.of_later.bias)
    return float((mentions[i] + mentions[j] + coarse + fine).detach())


@pytest.mark.parametrize("chunk", [3, 256])
def test_pairs_are_scored_by_the_formula(chunk: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(antecedents, "_CHUNK", chunk)
    scorer, vectors, mentions = _pairs(8, candidates=9)
    row = 0
    for some in scorer(vectors, mentions):
        for places, scores in zip(some.places.tolist(), some.scores.tolist(), strict=True):
            assert scores[0] == 0
            known = {place: score for place, score in zip(places, scores[1:], strict=True) if score > -math.inf}
            expected = {place: _plain_score(scorer, vectors, mentions, row, place) for place in range(row)}
            assert known == pytest.approx(expected, abs=1e-5)
            row += 1
    assert row == 8


def test_the_best_candidates_by_the_coarse_score_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    scorer, vectors, mentions = _pairs(9, candidates=2)
    monkeypatch.setattr(antecedents, "_CHUNK", 4)
    monkeypatch.setattr(antecedents, "FARTHEST", 5)
    distance = scorer.coarse_distance.tolist()
    coarse = (scorer.coarse_from(vectors) @ scorer.coarse_to(vectors).t() / math.sqrt(5) + mentions).detach()
    rows = 0
    for some in scorer(vectors, mentions):
        for places, scores in zip(some.places.tolist(), some.scores[:, 1:].tolist(), strict=True):
            earlier = range(max(0, rows - 5), rows)
            value = {j: float(coarse[rows, j]) + distance[buckets(torch.tensor(rows - j))] for j in earlier}
            known = {place for place, score in zip(places, scores, strict=True) if score > -math.inf}
            assert known == set(sorted(earlier, key=lambda j: -value[j])[:2])
            rows += 1
    assert rows == 9


def test_the_marginal_likelihood_is_that_of_enumeration() -> None:
    torch.manual_seed(0)
    size = 5
    clusters = torch.tensor([0, -1, 0, 1, 0])  # 3 is alone among the spans
    places = torch.arange(size).expand(size, size)
    scores = torch.randn(size, size).masked_fill(places >= torch.arange(size).unsqueeze(1), -torch.inf)
    given = Candidates(places, torch.cat([torch.zeros(size, 1), scores], dim=1))
    total = right = 0.0
    # An assignment gives each span an earlier one or none; the right ones make the clusters.
    for chosen in itertools.product(*(range(-1, row) for row in range(size))):
        weight = math.exp(sum(float(scores[row, one]) for row, one in enumerate(chosen) if one >= 0))
        total += weight
        links = [(row, one) for row, one in enumerate(chosen) if one >= 0]
        linked = {row for row, _ in links}
        if all(clusters[row] == clusters[one] != -1 for row, one in links) and linked == {2, 4}:
            right += weight
    found = marginal_loss(given, clusters, torch.arange(size))
    assert float(found) == pytest.approx(-math.log(right / total), abs=1e-5)


def test_antecedents_make_clusters() -> None:
    mentions = [(0, 1), (2, 5), (3, 4), (6, 7), (8, 9)]
    assert clusters_of(mentions, [-1, -1, 0, 1, 2]) == (((0, 1), (3, 4), (8, 9)), ((2, 5), (6, 7)))
    assert clusters_of(mentions, [-1] * 5) == ()


def test_pieces_hold_all_sentences_and_the_mentions_within() -> None:
    sentences = tuple((f"w{number}", "he") for number in range(7))
    whole = Document("d", sentences, (((1, 2), (5, 7), (9, 10), (13, 14)),))
    found = list(pieces(whole, 3))
    assert [len(part.sentences) for part in found] == [3, 2, 2]
    assert tuple(sentence for part in found for sentence in part.sentences) == sentences
    assert [part.clusters for part in found] == [(((1, 2),),), (((3, 4),),), (((3, 4),),)]  # 5-7 was cut
    assert [part.id for part in found] == ["d (1 of 3)", "d (2 of 3)", "d (3 of 3)"]
    assert list(pieces(whole, 7)) == [whole]
    assert out_of_reach(whole, 5) == 1  # across two sentences
    assert out_of_reach(Document("d", (("a",) * 5,), (((0, 3), (4, 5)),)), 2) == 1
