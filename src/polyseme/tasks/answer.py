"""Answers to questions: the stretch of a passage that answers."""

from collections.abc import Sequence
from dataclasses import replace

import torch
from torch import Tensor

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.progress import Figure
from polyseme.tasks.answer_spans import best_spans, cut_passage, span_text, token_spans
from polyseme.tasks.bidaf import Bidaf, SpanScores
from polyseme.tasks.examples import Answer, Question, Tokens
from polyseme.tasks.inputs import Inputs, Vectors
from polyseme.tasks.kind import Tables
from polyseme.tasks.metrics.answers import answer_f1, normalised
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.paired_kind import PairedKind
from polyseme.tasks.readers.documents import cut_sentences
from polyseme.tasks.readers.questions import token_offsets
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.writers.records import to_record


class AnswerModel(TaskModel[Question]):
    """The first and the last token of an answer by `Bidaf`; learnt so that any of the right answers is likely.

    Beside its vector each token has a mark: whether the question has the same word (Weissenborn et al. 2017).
    Attention learns this by itself from a hundred thousand questions, but not from some thousands.

    Args:
        inputs: Gives the vectors.
        hidden_dim: Cells of each direction.
        depth: Layers of the LSTM after the attention.
        dropout: Share of numbers dropped while training.
        longest: Tokens of an answer, at most.
    """

    def __init__(
        self, inputs: Inputs, *, hidden_dim: int, depth: int = 1, dropout: float = 0.0, longest: int = 17
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.longest = longest
        self.network = Bidaf(
            input_dim=inputs.input_dim + 1,
            output_dim=inputs.output_dim,
            hidden_dim=hidden_dim,
            depth=depth,
            dropout=dropout,
        )

    def forward(self, batch: Batch[Question]) -> SpanScores:
        """Where the answers begin and end: twice (B, T)."""
        # The sentences of a passage are end to end in flat order, right behind their question.
        lengths = [len(side) for example in batch.examples for side in (example.question, example.tokens)]
        vectors = self.inputs(batch.words)
        asked = [mark for example in batch.examples for mark in asked_words(example)]
        marks = torch.tensor(asked, dtype=vectors.input.dtype, device=vectors.input.device).unsqueeze(1)  # (N, 1)
        scores: SpanScores = self.network(Vectors(torch.cat([vectors.input, marks], dim=1), vectors.output), lengths)
        return scores

    def losses(self, batch: Batch[Question]) -> Tensor:
        """See `TaskModel`."""
        start, end = self(batch)
        found = []
        for number, example in enumerate(batch.examples):
            spans = torch.tensor(token_spans(example), dtype=torch.long, device=start.device).reshape(-1, 2)
            each = start[number, spans[:, 0]] + end[number, spans[:, 1]]  # one for each right span
            found.append(-each.logsumexp(dim=0) if len(spans) else start.new_zeros(()))
        return torch.stack(found)

    def decode(self, batch: Batch[Question]) -> list[Question]:
        """See `TaskModel`."""
        start, end = self(batch)
        spans = best_spans(start, end, self.longest)
        return [
            replace(example, answers=(span_text(example, span),))
            for example, span in zip(batch.examples, spans, strict=True)
        ]


class AnswerQuestions(PairedKind[Question]):
    """Answering questions as a task.

    The vectors of a passage are those of its sentences, one after the other: a language model learnt single sentences.
    """

    name = "answer"
    example = Question
    metric = "F1"
    unit = "questions"
    sides = ("question", "passage")

    def sentences(self, example: Question) -> Sequence[Tokens]:
        """The question, and the sentences of the passage."""
        return (example.question, *cut_sentences(example.tokens))

    def size(self, example: Question) -> int:
        """The tokens of the passage, so that questions about one passage come together."""
        return len(example.tokens)

    def is_labelled(self, example: Question) -> bool:
        """See `Kind`."""
        return bool(example.answers)

    def to_learn(
        self, examples: Sequence[Question], settings: TaskSettings
    ) -> tuple[list[Question], dict[str, Figure]]:
        """Cut long passages, and check that the answers are in them."""
        found = [cut_passage(example, settings.max_passage) for example in examples]
        for example in found:
            token_spans(example)
        cut = sum(len(example.tokens) > settings.max_passage for example in examples)
        return found, {f"passages cut to {settings.max_passage:,} tokens": cut} if cut else {}

    def tables(self, examples: Sequence[Question]) -> dict[str, list[str]]:
        """Nothing."""
        del examples
        return {}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Question]:
        """See `Kind`."""
        del tables
        return AnswerModel(
            inputs,
            hidden_dim=settings.hidden_dim,
            depth=settings.depth,
            dropout=settings.dropout,
            longest=settings.max_answer,
        )

    def score(self, gold: Sequence[Question], predicted: Sequence[Question]) -> Score:
        """The mean F1 of the words of the answers; the share of exact matches is among the details."""
        return answer_f1([_texts(one) for one in gold], [_texts(one)[0] for one in predicted], task=self.name)

    def blank(self, example: Question, tables: Tables) -> Question:
        """An answer without characters."""
        del tables
        return replace(example, answers=(Answer(0, ""),))

    def to_dict(self, example: Question) -> dict[str, JSON]:
        """See `Kind`."""
        return to_record(example)

    def text(self, example: Question) -> str:
        """See `Kind`."""
        return f"{' '.join(example.question)} / {example.passage}"

    def difference(self, gold: Question, predicted: Question) -> tuple[str, str]:
        """See `Kind`."""
        return " | ".join(dict.fromkeys(_texts(gold))), _texts(predicted)[0]

    def is_right(self, gold: Question, predicted: Question) -> bool:
        """Whether the answer is one of the right ones, as exact matches are counted."""
        return normalised(_texts(predicted)[0]) in map(normalised, _texts(gold))

    def of_texts(self, number: int, texts: tuple[str, str], tokens: tuple[Tokens, Tokens]) -> Question:
        """See `PairedKind`."""
        return Question(str(number), tokens[0], texts[1], tokens[1], token_offsets(texts[1], tokens[1]))


def asked_words(example: Question) -> list[bool]:
    """Whether each token of the question, and then of the passage, is a word of the question, in any case.

    Example:
        >>> asked_words(Question("1", ("Who", "ran", "?"), "Ada ran", ("Ada", "ran"), ((0, 3), (4, 7))))
        [True, True, True, False, True]
    """
    asked = {token.lower() for token in example.question}
    return [token.lower() in asked for token in (*example.question, *example.tokens)]


def _texts(example: Question) -> list[str]:
    if not example.answers:
        raise InputError(f"question {example.id}: no answer to learn or to compare with; give at least one")
    return [answer.text for answer in example.answers]
