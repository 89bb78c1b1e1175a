"""Tagging: one label for each token, such as its part of speech."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from polyseme.tasks.examples import Tagged
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Tables
from polyseme.tasks.labels import NOT_LEARNT, LabelTable, by_count
from polyseme.tasks.metrics.accuracy import tag_accuracy
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.tagged_kind import TaggedKind, tags_of
from polyseme.tasks.token_scorer import TokenScorer


class TagModel(TaskModel[Tagged]):
    """The scores of `TokenScorer` and a softmax.

    Args:
        inputs: Gives the vectors.
        labels: What a token can be.
        hidden_dim: Cells of each direction.
        depth: Layers of the LSTM.
        dropout: Before, between and after the layers.
    """

    def __init__(
        self, inputs: Inputs, labels: Sequence[str], *, hidden_dim: int, depth: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.labels = LabelTable(labels)
        self.scorer = TokenScorer(
            input_dim=inputs.input_dim,
            output_dim=inputs.output_dim,
            labels=len(labels),
            hidden_dim=hidden_dim,
            depth=depth,
            dropout=dropout,
        )

    def forward(self, batch: Batch[Tagged]) -> Tensor:
        """The scores of every label for every token: (N, K) in flat order."""
        packing = batch.words.packing
        scores: Tensor = self.scorer(self.inputs(batch.words), packing)[packing.packed_of_flat]
        return scores

    def losses(self, batch: Batch[Tagged]) -> Tensor:
        """See `TaskModel`."""
        scores = self(batch)
        gold = self.labels.numbers(tag for example in batch.examples for tag in example.tags or ()).to(scores.device)
        each = nn.functional.cross_entropy(scores, gold, ignore_index=NOT_LEARNT, reduction="none")  # (N,)
        return torch.stack([one.sum() for one in each.split(batch.words.lengths)])

    def predictions(self, batch: Batch[Tagged]) -> int:
        """A prediction for each token."""
        return len(batch.words.types)

    def decode(self, batch: Batch[Tagged]) -> list[Tagged]:
        """See `TaskModel`."""
        best = self(batch).argmax(dim=1).tolist()  # (N,)
        tags = iter(self.labels.labels[number] for number in best)
        return [Tagged(example.tokens, tuple(next(tags) for _ in example.tokens)) for example in batch.examples]


class Tag(TaggedKind):
    """Tagging as a task."""

    name = "tag"
    metric = "accuracy"

    def tables(self, examples: Sequence[Tagged]) -> dict[str, list[str]]:
        """See `Kind`."""
        return {"labels": by_count(tag for example in examples for tag in example.tags or ())}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Tagged]:
        """See `Kind`."""
        sizes = {"hidden_dim": settings.hidden_dim, "depth": settings.depth}
        return TagModel(inputs, tables["labels"], **sizes, dropout=settings.dropout)

    def score(self, gold: Sequence[Tagged], predicted: Sequence[Tagged]) -> Score:
        """Accuracy over all tokens."""
        return tag_accuracy(tags_of(gold), tags_of(predicted), task=self.name)

    def compared(self, gold: Tagged, predicted: Tagged) -> Iterable[tuple[str, str]]:
        """See `Kind`."""
        return zip(gold.tags or (), predicted.tags or (), strict=True)

    def unknown_labels(self, example: Tagged, tables: Tables) -> set[str]:
        """See `Kind`."""
        return set(example.tags or ()) - set(tables["labels"])
