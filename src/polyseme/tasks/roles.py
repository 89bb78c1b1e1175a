"""Semantic roles: the arguments of a marked predicate, by a deep LSTM that reads in turn forwards and backwards."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.nn.alternating_lstm import AlternatingLstm
from polyseme.nn.viterbi import best_tags
from polyseme.tasks.examples import Roles, Span, Tokens
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Kind, Tables
from polyseme.tasks.labels import LabelTable, by_count
from polyseme.tasks.metrics.roles import role_f1
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.span_tags import allowed_steps, as_bio, bio_tags
from polyseme.tasks.tags import OUTSIDE, split_tag, tag_spans
from polyseme.tasks.writers.records import to_record

MARK_DIM = 100
"""Width of the vector that says whether a token is the predicate."""


class RolesModel(TaskModel[Roles]):
    """[vectors; is it the predicate] -> alternating LSTM -> tags; decoding gives whole spans (He et al. 2017).

    Args:
        inputs: Gives the vectors.
        labels: What an argument can be.
        hidden_dim: Cells of each layer.
        depth: Layers, of which every second one reads backwards.
        dropout: On the vectors at the input and at the output.
        recurrent_dropout: On the outputs of each layer, one mask for each sentence.
    """

    def __init__(
        self,
        inputs: Inputs,
        labels: Sequence[str],
        *,
        hidden_dim: int,
        depth: int = 4,
        dropout: float = 0.0,
        recurrent_dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.tags = LabelTable(bio_tags(labels))
        self.mark = nn.Embedding(2, MARK_DIM)
        self.encoder = AlternatingLstm(
            input_dim=inputs.input_dim + MARK_DIM, hidden_dim=hidden_dim, layers=depth, dropout=recurrent_dropout
        )
        self.dropout = nn.Dropout(dropout)
        self.output = nn.Linear(hidden_dim + inputs.output_dim, len(self.tags))
        self.register_buffer("allowed", allowed_steps(self.tags.labels), persistent=False)

    def forward(self, batch: Batch[Roles]) -> Tensor:
        """The scores of every tag for every token: (N, K) in packed order."""
        packing = batch.words.packing
        vectors = self.inputs(batch.words)
        lengths = torch.tensor(packing.lengths)
        places = lengths.cumsum(0) - lengths + torch.tensor([example.predicate for example in batch.examples])
        marked = torch.zeros(len(vectors.input), dtype=torch.long)
        marked[places] = 1
        marks = self.mark(marked.to(vectors.input.device))
        packed = packing.flat_of_packed
        states = self.encoder(torch.cat([self.dropout(vectors.input), marks], dim=1)[packed], packing)
        scores: Tensor = self.output(torch.cat([states, self.dropout(vectors.output[packed])], dim=1))
        return scores.float()

    def losses(self, batch: Batch[Roles]) -> Tensor:
        """See `TaskModel`; an argument with an unknown label is learnt as none."""
        scores = self(batch)[batch.words.packing.packed_of_flat]
        tags = [tag for one in batch.examples for tag in as_bio(apart(one.spans or ()), len(one.tokens))]
        gold = self.tags.numbers(tags).clamp(min=0).to(scores.device)  # O is 0
        each = nn.functional.cross_entropy(scores, gold, reduction="none")  # (N,)
        return torch.stack([one.sum() for one in each.split(batch.words.lengths)])

    def predictions(self, batch: Batch[Roles]) -> int:
        """A prediction for each token."""
        return len(batch.words.types)

    @torch.no_grad()
    def decode(self, batch: Batch[Roles]) -> list[Roles]:
        """See `TaskModel`."""
        packing = batch.words.packing
        best = best_tags(self(batch).log_softmax(dim=1), packing, allowed=self.get_buffer("allowed"))
        rows = best[packing.packed_of_flat].split(packing.lengths)
        return [
            Roles(one.tokens, one.predicate, tuple(tag_spans([self.tags.labels[tag] for tag in row.tolist()])))
            for one, row in zip(batch.examples, rows, strict=True)
        ]


class SemanticRoles(Kind[Roles]):
    """Semantic roles as a task."""

    name = "roles"
    example = Roles
    metric = "role F1"
    unit = "predicates"

    def sentences(self, example: Roles) -> Sequence[Tokens]:
        """See `Kind`."""
        return (example.tokens,)

    def is_labelled(self, example: Roles) -> bool:
        """See `Kind`."""
        return example.spans is not None

    def tables(self, examples: Sequence[Roles]) -> dict[str, list[str]]:
        """See `Kind`."""
        return {"labels": by_count(span.label for example in examples for span in example.spans or ())}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Roles]:
        """See `Kind`."""
        return RolesModel(
            inputs,
            tables["labels"],
            hidden_dim=settings.hidden_dim,
            depth=settings.depth,
            dropout=settings.dropout,
            recurrent_dropout=settings.recurrent_dropout,
        )

    def score(self, gold: Sequence[Roles], predicted: Sequence[Roles]) -> Score:
        """F1 of arguments with their labels, the predicate itself left out."""
        return role_f1(_spans(gold), _spans(predicted), task=self.name)

    def blank(self, example: Roles, tables: Tables) -> Roles:
        """No token, no argument."""
        return Roles(example.tokens, example.predicate, ())

    def to_dict(self, example: Roles) -> dict[str, JSON]:
        """See `Kind`."""
        return to_record(example)

    def difference(self, gold: Roles, predicted: Roles) -> tuple[str, str]:
        """The arguments that only one of the two has."""
        right, given = set(gold.spans or ()), set(predicted.spans or ())
        return _shown(gold, right - given), _shown(gold, given - right)

    def compared(self, gold: Roles, predicted: Roles) -> Iterable[tuple[str, str]]:
        """The argument that each token is part of."""
        length = len(gold.tokens)
        pairs = zip(as_bio(gold.spans or (), length), as_bio(predicted.spans or (), length), strict=True)
        return ((split_tag(right)[1] or OUTSIDE, split_tag(given)[1] or OUTSIDE) for right, given in pairs)

    def unknown_labels(self, example: Roles, tables: Tables) -> set[str]:
        """See `Kind`."""
        return {span.label for span in example.spans or ()} - set(tables["labels"])

    def problem(self, example: Roles) -> str | None:
        """See `Kind`."""
        length = len(example.tokens)
        if length and not 0 <= example.predicate < length:
            return f"the predicate is token {example.predicate}, but the sentence has {length}; count them from 0"
        for span in example.spans or ():
            if not 0 <= span.start < span.end <= length:
                return f"the span {span.start}-{span.end} is not within its {length} tokens; give the end behind it"
        return None


def apart(spans: Iterable[Span]) -> list[Span]:
    """The spans in their order without those that overlap one before them: a token has one tag.

    Example:
        >>> apart([Span(2, 5, "A1"), Span(0, 3, "A0"), Span(5, 6, "A2")])
        [Span(start=0, end=3, label='A0'), Span(start=5, end=6, label='A2')]
    """
    found: list[Span] = []
    for span in sorted(spans, key=lambda span: (span.start, span.end)):
        if not found or span.start >= found[-1].end:
            found.append(span)
    return found


def _spans(examples: Sequence[Roles]) -> list[tuple[Span, ...]]:
    found = []
    for number, example in enumerate(examples, 1):
        if example.spans is None:
            raise InputError(f"predicate {number:,} has no arguments to compare with; give labelled predicates")
        found.append(example.spans)
    return found


def _shown(example: Roles, spans: Iterable[Span]) -> str:
    """Arguments for people, in their order."""
    ordered = sorted(spans, key=lambda span: (span.start, span.end, span.label))
    return ", ".join(f"{span.label}: {' '.join(example.tokens[span.start : span.end])}" for span in ordered) or "none"
