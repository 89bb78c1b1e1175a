"""Entailment: what one sentence says of another, such as whether it follows from it."""

from collections.abc import Iterable, Sequence

from torch import Tensor, nn

from polyseme.files.whole import JSON
from polyseme.tasks.esim import Esim
from polyseme.tasks.examples import Pair, Tokens
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Tables
from polyseme.tasks.labels import NOT_LEARNT, LabelTable, by_count, known_labels
from polyseme.tasks.metrics.accuracy import accuracy
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.paired_kind import PairedKind
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.writers.records import to_record


class EntailModel(TaskModel[Pair]):
    """The scores of `Esim` and a softmax.

    Args:
        inputs: Gives the vectors.
        labels: What a pair can be.
        hidden_dim: Cells of each direction.
        depth: Layers of the first LSTM.
        dropout: Share of numbers dropped while training.
    """

    def __init__(
        self, inputs: Inputs, labels: Sequence[str], *, hidden_dim: int, depth: int = 1, dropout: float = 0.0
    ) -> None:
        super().__init__()
        self.inputs = inputs
        self.labels = LabelTable(labels)
        self.network = Esim(
            input_dim=inputs.input_dim,
            output_dim=inputs.output_dim,
            labels=len(labels),
            hidden_dim=hidden_dim,
            depth=depth,
            dropout=dropout,
        )

    def forward(self, batch: Batch[Pair]) -> Tensor:
        """The scores of every label for every pair: (B, K)."""
        scores: Tensor = self.network(self.inputs(batch.words), batch.words.packing)
        return scores

    def losses(self, batch: Batch[Pair]) -> Tensor:
        """See `TaskModel`."""
        scores = self(batch)
        gold = self.labels.numbers(example.label or "" for example in batch.examples).to(scores.device)
        return nn.functional.cross_entropy(scores, gold, ignore_index=NOT_LEARNT, reduction="none")

    def decode(self, batch: Batch[Pair]) -> list[Pair]:
        """See `TaskModel`."""
        best = self(batch).argmax(dim=1).tolist()
        return [
            Pair(one.premise, one.hypothesis, self.labels.labels[number])
            for one, number in zip(batch.examples, best, strict=True)
        ]


class Entail(PairedKind[Pair]):
    """Entailment as a task."""

    name = "entail"
    example = Pair
    metric = "accuracy"
    unit = "pairs"
    sides = ("premise", "hypothesis")

    def sentences(self, example: Pair) -> Sequence[Tokens]:
        """See `Kind`."""
        return example.premise, example.hypothesis

    def is_labelled(self, example: Pair) -> bool:
        """See `Kind`."""
        return example.label is not None

    def tables(self, examples: Sequence[Pair]) -> dict[str, list[str]]:
        """See `Kind`."""
        return {"labels": by_count(known_labels(examples, "pair"))}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Pair]:
        """See `Kind`."""
        return EntailModel(
            inputs,
            tables["labels"],
            hidden_dim=settings.hidden_dim,
            depth=settings.depth,
            dropout=settings.dropout,
        )

    def score(self, gold: Sequence[Pair], predicted: Sequence[Pair]) -> Score:
        """The share of pairs with the right label."""
        return accuracy(known_labels(gold, "pair"), known_labels(predicted, "pair"), task=self.name)

    def blank(self, example: Pair, tables: Tables) -> Pair:
        """The most frequent label."""
        return Pair(example.premise, example.hypothesis, tables["labels"][0])

    def to_dict(self, example: Pair) -> dict[str, JSON]:
        """See `Kind`."""
        return to_record(example)

    def difference(self, gold: Pair, predicted: Pair) -> tuple[str, str]:
        """See `Kind`."""
        return str(gold.label), str(predicted.label)

    def compared(self, gold: Pair, predicted: Pair) -> Iterable[tuple[str, str]]:
        """See `Kind`."""
        return [self.difference(gold, predicted)]

    def of_texts(self, number: int, texts: tuple[str, str], tokens: tuple[Tokens, Tokens]) -> Pair:
        """See `PairedKind`."""
        del number, texts
        return Pair(*tokens)

    def unknown_labels(self, example: Pair, tables: Tables) -> set[str]:
        """See `Kind`."""
        return set() if example.label is None else {example.label} - set(tables["labels"])
