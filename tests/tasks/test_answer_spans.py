"""Answers as tokens of their passage."""

import pytest
import torch
from tasks.made_pairs import question_of

from polyseme.errors import InputError
from polyseme.tasks.answer_spans import best_spans, cut_passage, span_text, token_span, token_spans
from polyseme.tasks.examples import Answer, Question

PASSAGE = "zero one two three"


@pytest.mark.parametrize("longest", [1, 3, 17])
def test_the_best_span_is_that_of_a_search_over_all(longest: int) -> None:
    torch.manual_seed(longest)
    start, end = torch.randn(40, 9), torch.randn(40, 9)
    padding = torch.arange(9) >= torch.randint(1, 10, (40, 1))
    start, end = (scores.masked_fill(padding, -torch.inf).log_softmax(1) for scores in (start, end))
    expected = []
    for first, last in zip(start.tolist(), end.tolist(), strict=True):
        spans = [(i, j) for i in range(9) for j in range(i, min(9, i + longest))]
        expected.append(max(spans, key=lambda span: first[span[0]] + last[span[1]]))
    assert best_spans(start, end, longest) == expected


@pytest.mark.parametrize(
    ("answer", "span", "widened"),
    [
        (Answer(0, "zero"), (0, 0), "zero"),
        (Answer(5, "one two"), (1, 2), "one two"),
        (Answer(2, "ro o"), (0, 1), "zero one"),  # begins and ends inside tokens
        (Answer(4, " one "), (1, 1), "one"),  # white space is no part of it
        (Answer(17, "e"), (3, 3), "three"),
    ],
)
def test_an_answer_is_widened_to_the_tokens_it_touches(answer: Answer, span: tuple[int, int], widened: str) -> None:
    question = question_of("q", "what ?", PASSAGE, (answer,))
    assert token_span(question, answer) == span
    assert span_text(question, span).text == widened
    assert PASSAGE[span_text(question, span).start :].startswith(widened)


@pytest.mark.parametrize("answer", [Answer(14, "three four"), Answer(-1, "zero"), Answer(60, "x"), Answer(4, " ")])
def test_an_answer_outside_its_passage_is_refused(answer: Answer) -> None:
    with pytest.raises(InputError, match=r"^question q7: its answer .* is not in its passage of 18 characters; give "):
        token_span(question_of("q7", "what ?", PASSAGE, (answer,)), answer)


def _long(place: int, text: str, *more: Answer) -> Question:
    return question_of("q", "what ?", " ".join(f"t{n:02}" for n in range(30)), (Answer(4 * place, text), *more))


def test_a_long_passage_is_cut_around_its_answer() -> None:
    early, late, last = _long(2, "t02"), _long(20, "t20 t21"), _long(29, "t29")
    assert cut_passage(early, 10).tokens == early.tokens[:10]
    assert cut_passage(late, 10).tokens == late.tokens[16:26]
    assert cut_passage(last, 10).tokens == last.tokens[20:]
    assert cut_passage(late, 30) is late
    for question in (early, late, last):
        cut = cut_passage(question, 10)
        assert [cut.tokens[first : end + 1] for first, end in token_spans(cut)] == [
            question.tokens[first : end + 1] for first, end in token_spans(question)
        ]
        assert cut.passage == question.passage


def test_what_is_cut_off_is_no_answer() -> None:
    assert cut_passage(_long(2, "t02", Answer(100, "t25"), Answer(8, "t02 t03")), 10).answers == (
        Answer(8, "t02"),
        Answer(8, "t02 t03"),
    )
    whole = " ".join(f"t{n:02}" for n in range(15))
    (answer,) = cut_passage(_long(0, whole), 8).answers or ()
    assert answer.text == " ".join(whole.split()[:8])  # as much of it as is kept
