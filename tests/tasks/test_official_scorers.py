"""The measures give the official scorers' figures, digit for digit."""

import json
import math
from typing import Any

import pytest
from conftest import GOLDEN

from polyseme.tasks.examples import Span
from polyseme.tasks.metrics.answers import answer_f1
from polyseme.tasks.metrics.coreference import coreference_f1, document_sums
from polyseme.tasks.metrics.roles import role_f1

Case = dict[str, Any]
_PARTS = {"muc": "muc", "bcub": "b_cubed", "ceafe": "ceaf_e"}


def cases(name: str) -> list[Case]:
    found: list[Case] = json.loads((GOLDEN / "scorers" / f"{name}.json").read_text(encoding="utf-8"))
    return found


def clusters(found: list[list[list[int]]]) -> list[list[tuple[int, int]]]:
    return [[(start, end + 1) for start, end in cluster] for cluster in found]


def printed_f1(sums: list[float]) -> float:
    """As the coreference scorer prints it: in percent, two digits, the rest cut off (4/5 may come out as 79.99)."""
    recall, precision = (sums[at] / sums[at + 1] if sums[at + 1] else 0.0 for at in (0, 2))
    return math.floor(10_000 * 2 * precision * recall / (precision + recall)) / 100 if precision + recall else 0.0


@pytest.mark.parametrize("case", cases("coref"))
def test_coreference(case: Case) -> None:
    gold, predicted = clusters(case["key"]), clusters(case["response"])
    sums = document_sums(gold, predicted)
    details = coreference_f1([gold], [predicted]).details
    for place, (part, name) in enumerate(_PARTS.items()):
        official = case["scores"][part]
        mine = sums[4 * place : 4 * place + 4].tolist()
        assert mine == pytest.approx([*official["recall"], *official["precision"]], abs=1e-12)
        figures = details[name]
        assert isinstance(figures, dict)
        assert isinstance(figures["f1"], float)
        assert printed_f1(mine) == official["f1"]
        assert figures["f1"] == pytest.approx(official["f1"], abs=0.01001)


def test_coreference_of_many_documents_adds_their_numerators_and_denominators() -> None:
    found = cases("coref")
    score = coreference_f1([clusters(case["key"]) for case in found], [clusters(case["response"]) for case in found])
    means = []
    for part, name in _PARTS.items():
        recall = [sum(case["scores"][part]["recall"][place] for case in found) for place in (0, 1)]
        precision = [sum(case["scores"][part]["precision"][place] for case in found) for place in (0, 1)]
        r, p = 100 * recall[0] / recall[1], 100 * precision[0] / precision[1]
        means.append(2 * p * r / (p + r))
        figures = score.details[name]
        assert isinstance(figures, dict)
        assert figures == pytest.approx({"precision": p, "recall": r, "f1": means[-1]}, abs=1e-9)
    assert score.score == pytest.approx(sum(means) / 3, abs=1e-9)
    assert score.n == 80


@pytest.mark.parametrize("case", cases("srl"))
def test_roles(case: Case) -> None:
    gold, predicted = (
        [[Span(start, end + 1, role) for start, end, role in spans] for one in case["sentences"] for spans in one[name]]
        for name in ("gold", "predicted")
    )
    score = role_f1(gold, predicted)
    right, made, wanted = score.items.sum(0)
    assert (right, made - right, wanted - right) == (case["correct"], case["excess"], case["missed"])
    shown = [f"{score.details['precision']:.2f}", f"{score.details['recall']:.2f}", f"{score.score:.2f}"]
    assert shown == [f"{case[name]:.2f}" for name in ("precision", "recall", "f1")]
    assert sum(label.n for label in score.labels.values()) == score.n == wanted


def test_answers() -> None:
    found = cases("squad")
    assert len(found) == 400
    for case in found:
        score = answer_f1([case["references"]], [case["prediction"]])
        assert score.details["exact_match"] == 100 * case["em"], case
        assert score.score == pytest.approx(100 * case["f1"], abs=1e-10), case
    score = answer_f1([case["references"] for case in found], [case["prediction"] for case in found])
    assert score.score == pytest.approx(100 * sum(case["f1"] for case in found) / 400, abs=1e-9)
    assert score.details["exact_match"] == 100 * sum(case["em"] for case in found) / 400
