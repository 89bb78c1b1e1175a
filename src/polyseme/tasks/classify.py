"""Classification of texts: the mean of the vectors and one hidden layer, or the biattentive network."""

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from polyseme.files.whole import JSON
from polyseme.tasks.biattentive import BiattentiveNetwork
from polyseme.tasks.examples import Text, Tokens
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Kind, Tables
from polyseme.tasks.labels import NOT_LEARNT, LabelTable, by_count, known_labels
from polyseme.tasks.metrics.accuracy import accuracy
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.pooling import masked_mean
from polyseme.tasks.settings import TaskSettings


class MeanMlp(nn.Module):
    """The mean of all vectors, a hidden layer and the scores of the labels.

    Args:
        input_dim: Width of a vector; those at input and output are put side by side.
        hidden_dim: Of the hidden layer.
        labels: How many, K.
        dropout: Before and after the hidden layer.
    """

    def __init__(self, *, input_dim: int, hidden_dim: int, labels: int, dropout: float) -> None:
        super().__init__()
        self.layers = nn.Sequential(
            nn.Dropout(dropout),
            nn.Linear(input_dim, hidden_dim),
            nn.ReLU(),
            nn.Dropout(dropout),
            nn.Linear(hidden_dim, labels),
        )

    def forward(self, vectors: Tensor, output: Tensor, mask: Tensor) -> Tensor:
        """(B, T, D), (B, T, D') and (B, T) to (B, K)."""
        scores: Tensor = self.layers(masked_mean(torch.cat([vectors, output], dim=2), mask))
        return scores


class ClassifyModel(TaskModel[Text]):
    """A network over the padded vectors of texts, and a softmax.

    Args:
        inputs: Gives the vectors.
        labels: What a text can be.
        network: Vectors at the input (B, T, D), at the output (B, T, D') and mask (B, T) to scores (B, K).
    """

    def __init__(self, inputs: Inputs, labels: Sequence[str], network: nn.Module) -> None:
        super().__init__()
        self.inputs = inputs
        self.labels = LabelTable(labels)
        self.network = network

    def forward(self, batch: Batch[Text]) -> Tensor:
        """The scores of every label for every text: (B, K)."""
        vectors = self.inputs(batch.words)
        first, mask = batch.words.padded(vectors.input)
        scores: Tensor = self.network(first, batch.words.padded(vectors.output)[0], mask)
        return scores.float()

    def losses(self, batch: Batch[Text]) -> Tensor:
        """See `TaskModel`."""
        scores = self(batch)
        gold = self.labels.numbers(example.label or "" for example in batch.examples).to(scores.device)
        return nn.functional.cross_entropy(scores, gold, ignore_index=NOT_LEARNT, reduction="none")

    def decode(self, batch: Batch[Text]) -> list[Text]:
        """See `TaskModel`."""
        best = self(batch).argmax(dim=1).tolist()
        return [Text(one.tokens, self.labels.labels[number]) for one, number in zip(batch.examples, best, strict=True)]


class Classify(Kind[Text]):
    """Classification as a task."""

    name = "classify"
    example = Text
    metric = "accuracy"
    unit = "texts"

    def sentences(self, example: Text) -> Sequence[Tokens]:
        """See `Kind`."""
        return (example.tokens,)

    def is_labelled(self, example: Text) -> bool:
        """See `Kind`."""
        return example.label is not None

    def tables(self, examples: Sequence[Text]) -> dict[str, list[str]]:
        """See `Kind`."""
        return {"labels": by_count(example.label for example in examples if example.label is not None)}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Text]:
        """See `Kind`."""
        labels, hidden = tables["labels"], settings.hidden_dim
        network: nn.Module
        if settings.model == "mlp":
            width = inputs.input_dim + inputs.output_dim
            network = MeanMlp(input_dim=width, hidden_dim=hidden, labels=len(labels), dropout=settings.dropout)
        else:
            network = BiattentiveNetwork(
                input_dim=inputs.input_dim,
                output_dim=inputs.output_dim,
                hidden_dim=hidden,
                labels=len(labels),
                dropout=settings.dropout,
            )
        return ClassifyModel(inputs, labels, network)

    def score(self, gold: Sequence[Text], predicted: Sequence[Text]) -> Score:
        """The share of texts with the right label."""
        return accuracy(known_labels(gold, "text"), known_labels(predicted, "text"), task=self.name)

    def blank(self, example: Text, tables: Tables) -> Text:
        """The most frequent label."""
        return Text(example.tokens, tables["labels"][0])

    def to_dict(self, example: Text) -> dict[str, JSON]:
        """See `Kind`."""
        return {"tokens": [*example.tokens], "label": example.label}

    def difference(self, gold: Text, predicted: Text) -> tuple[str, str]:
        """See `Kind`."""
        return str(gold.label), str(predicted.label)

    def compared(self, gold: Text, predicted: Text) -> Iterable[tuple[str, str]]:
        """See `Kind`."""
        return [(str(gold.label), str(predicted.label))]

    def of_sentences(self, sentences: Sequence[Tokens]) -> list[Text]:
        """All sentences as one text."""
        return [Text(tuple(token for sentence in sentences for token in sentence))]

    def unknown_labels(self, example: Text, tables: Tables) -> set[str]:
        """See `Kind`."""
        return {example.label} - {None, *tables["labels"]}  # type: ignore[return-value]
