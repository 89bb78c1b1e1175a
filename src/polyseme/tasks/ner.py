"""Named entities: spans of tokens with a label, by a biLSTM and a random field over BIOES tags."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor

from polyseme.nn.crf import Crf
from polyseme.tasks.examples import Tagged
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Tables
from polyseme.tasks.labels import LabelTable, by_count
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.metrics.spans import span_f1
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.span_tags import allowed_steps, as_bio, as_bioes, bioes_tags
from polyseme.tasks.tagged_kind import TaggedKind, tags_of
from polyseme.tasks.tags import OUTSIDE, split_tag, tag_spans
from polyseme.tasks.token_scorer import TokenScorer


class NerModel(TaskModel[Tagged]):
    """The scores of `TokenScorer` and a conditional random field (Peters et al. 2018, appendix A.5).

    Args:
        inputs: Gives the vectors.
        labels: What an entity can be.
        bioes: Whether answers are written in BIOES, rather than BIO.
        hidden_dim: Cells of each direction.
        depth: Layers of the LSTM.
        dropout: Before, between and after the layers.
    """

    def __init__(
        self,
        inputs: Inputs,
        labels: Sequence[str],
        *,
        bioes: bool = False,
        hidden_dim: int,
        depth: int = 2,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.tags = LabelTable(bioes_tags(labels))
        self.bioes = bioes
        self.scorer = TokenScorer(
            input_dim=inputs.input_dim,
            output_dim=inputs.output_dim,
            labels=len(self.tags),
            hidden_dim=hidden_dim,
            depth=depth,
            dropout=dropout,
        )
        self.crf = Crf(len(self.tags), allowed_steps(self.tags.labels))

    def losses(self, batch: Batch[Tagged]) -> Tensor:
        """See `TaskModel`; an entity with an unknown label is learnt as none."""
        packing = batch.words.packing
        scores = self.scorer(self.inputs(batch.words), packing)
        tags = [tag for one in batch.examples for tag in as_bioes(tag_spans(one.tags or ()), len(one.tokens))]
        gold = self.tags.numbers(tags).clamp(min=0).to(scores.device)  # O is 0
        losses: Tensor = self.crf(scores, gold[packing.flat_of_packed], packing)
        return losses

    def predictions(self, batch: Batch[Tagged]) -> int:
        """A prediction for each token."""
        return len(batch.words.types)

    @torch.no_grad()
    def decode(self, batch: Batch[Tagged]) -> list[Tagged]:
        """See `TaskModel`."""
        packing = batch.words.packing
        best = self.crf.decode(self.scorer(self.inputs(batch.words), packing), packing)[packing.packed_of_flat]
        rows = [[self.tags.labels[number] for number in one.tolist()] for one in best.split(packing.lengths)]
        if not self.bioes:
            rows = [as_bio(tag_spans(row), len(row)) for row in rows]
        return [Tagged(one.tokens, tuple(row)) for one, row in zip(batch.examples, rows, strict=True)]


class Ner(TaggedKind):
    """Named entities as a task."""

    name = "ner"
    metric = "span F1"

    def tables(self, examples: Sequence[Tagged]) -> dict[str, list[str]]:
        """Labels, and the scheme of the tags."""
        spans = (span.label for example in examples for span in tag_spans(example.tags or ()))
        bioes = any(split_tag(tag)[0] in ("E", "S") for example in examples for tag in example.tags or ())
        return {"labels": by_count(spans), "scheme": ["BIOES" if bioes else "BIO"]}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Tagged]:
        """See `Kind`."""
        return NerModel(
            inputs,
            tables["labels"],
            bioes=tables["scheme"] == ["BIOES"],
            hidden_dim=settings.hidden_dim,
            depth=settings.depth,
            dropout=settings.dropout,
        )

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> Score:
        """F1 of spans with their labels."""
        return span_f1(tags_of(gold), tags_of(predicted), task=self.name)

    def compared(self, gold: Tagged, predicted: Tagged) -> Iterable[tuple[str, str]]:
        """The entity that each token is part of."""
        pairs = zip(gold.tags or (), predicted.tags or (), strict=True)
        return ((split_tag(right)[1] or OUTSIDE, split_tag(given)[1] or OUTSIDE) for right, given in pairs)

    def unknown_labels(self, example: Tagged, tables: Tables) -> set[str]:
        """See `Kind`."""
        return {span.label for span in tag_spans(example.tags or ())} - set(tables["labels"])
