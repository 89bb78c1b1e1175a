"""Coreference: which spans of a document mention the same thing, by ranking the antecedents of every span."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor, nn
from torch.nn.functional import binary_cross_entropy_with_logits

from polyseme.errors import InputError
from polyseme.files.whole import JSON
from polyseme.nn.bilstm import BiLstm
from polyseme.progress import Figure
from polyseme.tasks.antecedents import PairScorer, marginal_loss
from polyseme.tasks.coref_documents import Clusters, cluster_numbers, clusters_of, out_of_reach, pieces
from polyseme.tasks.examples import Document, Tokens
from polyseme.tasks.inputs import Inputs
from polyseme.tasks.kind import Kind, Tables
from polyseme.tasks.metrics.coreference import coreference_f1
from polyseme.tasks.metrics.score import Score
from polyseme.tasks.model import Batch, TaskModel
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.span_scorer import SpanScorer
from polyseme.tasks.spans import Spans, all_spans, best_apart
from polyseme.tasks.writers.records import to_record

_HIDDEN = 150
"""Of the layers that score spans and pairs."""


class CorefModel(TaskModel[Document]):
    """Vectors -> biLSTM in each sentence -> spans -> the best of them -> antecedents (Lee et al. 2017).

    Args:
        inputs: Gives the vectors.
        hidden_dim: Cells of each direction.
        depth: Layers of the LSTM.
        width: Tokens of a span, at most.
        kept: Spans that are kept, as a share of the document's tokens.
        candidates: Antecedents of a span that are scored, at most.
        mention_loss: Weight of the loss of telling mentions from other spans.
        dropout: On the vectors, and after every layer.
    """

    def __init__(
        self,
        inputs: Inputs,
        *,
        hidden_dim: int,
        depth: int = 1,
        width: int = 10,
        kept: float = 0.4,
        candidates: int = 50,
        mention_loss: float = 1.0,
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        self.inputs, self.width, self.kept, self.mention_loss = inputs, width, kept, mention_loss
        self.encoder = BiLstm(input_dim=inputs.input_dim, hidden_dim=hidden_dim, layers=depth, dropout=dropout)
        self.dropout = nn.Dropout(dropout)
        self.spans = SpanScorer(
            state_dim=self.encoder.dim + inputs.output_dim,
            input_dim=inputs.input_dim,
            width=width,
            hidden_dim=_HIDDEN,
            dropout=dropout,
        )
        self.pairs = PairScorer(span_dim=self.spans.dim, hidden_dim=_HIDDEN, candidates=candidates, dropout=dropout)

    def losses(self, batch: Batch[Document]) -> Tensor:
        """See `TaskModel`; a mention that is no span of the model cannot be learnt.

        Mentions come before all other spans. Otherwise one that is not kept would cost nothing, and few documents
        would teach the model to keep none. For the same reason each span that is kept learns from being a mention or
        not (Zhang et al. 2018): antecedents alone teach that only where a candidate happens to be right.
        """
        found: list[Tensor] = []
        for example, (spans, vectors, mentions) in zip(batch.examples, self._kept(batch, right=True), strict=True):
            clusters = cluster_numbers(spans.pairs(), example.clusters or ()).to(mentions.device)
            is_mention = (clusters >= 0).to(mentions.dtype)
            total = self.mention_loss * binary_cross_entropy_with_logits(mentions, is_mention, reduction="sum")
            first = 0
            for some in self.pairs(vectors, mentions):
                rows = torch.arange(first, first + len(some.scores), device=mentions.device)
                total = total + marginal_loss(some, clusters, rows)
                first += len(rows)
            found.append(total)
        return torch.stack(found)

    def predictions(self, batch: Batch[Document]) -> int:
        """A prediction for each span that is kept, if as many as may be are."""
        return sum(self._most(sum(map(len, example.sentences))) for example in batch.examples)

    @torch.no_grad()
    def decode(self, batch: Batch[Document]) -> list[Document]:
        """See `TaskModel`."""
        found: list[Document] = []
        for example, (spans, vectors, mentions) in zip(batch.examples, self._kept(batch), strict=True):
            antecedents: list[int] = []
            for some in self.pairs(vectors, mentions):
                best = some.scores.argmax(dim=1)  # the dummy is the first of equals
                places = some.places.gather(1, (best - 1).clamp(min=0).unsqueeze(1)).squeeze(1)
                antecedents += torch.where(best > 0, places, -1).tolist()
            found.append(Document(example.id, example.sentences, clusters_of(spans.pairs(), antecedents)))
        return found

    def _most(self, tokens: int) -> int:
        """How many spans of a document of so many tokens are kept at most."""
        return max(1, int(self.kept * tokens))

    def _kept(self, batch: Batch[Document], *, right: bool = False) -> Iterator[tuple[Spans, Tensor, Tensor]]:
        """Of each document the spans that are kept, S, their vectors (S, G) and mention scores (S,).

        With ``right``, the mentions of the document come before all other spans.
        """
        packing = batch.words.packing
        vectors = self.inputs(batch.words)
        given = self.dropout(vectors.input)
        states = self.encoder(given[packing.flat_of_packed], packing)[-1][packing.packed_of_flat]
        states = self.dropout(torch.cat([states, vectors.output], dim=1))
        lengths = iter(packing.lengths)
        first = 0
        for example in batch.examples:
            own = [next(lengths) for _ in filter(None, example.sentences)]
            rows = slice(first, first + sum(own))
            first = rows.stop
            spans = all_spans(own, self.width, states.device)
            scores = self.spans(states[rows], given[rows], spans)
            order = scores.detach()
            if right:
                is_mention = cluster_numbers(spans.pairs(), example.clusters or ()).to(order.device) >= 0
                order = order.masked_fill(is_mention, torch.inf)
            best = best_apart(spans, order, self._most(sum(own)))
            kept = spans.at(best)
            yield kept, self.spans.vectors(states[rows], given[rows], kept), scores[best]


class Coref(Kind[Document]):
    """Coreference as a task."""

    name = "coref"
    example = Document
    metric = "coreference F1"
    unit = "documents"

    def sentences(self, example: Document) -> Sequence[Tokens]:
        """Those that have tokens."""
        return tuple(filter(None, example.sentences))

    def is_labelled(self, example: Document) -> bool:
        """See `Kind`."""
        return example.clusters is not None

    def tables(self, examples: Sequence[Document]) -> dict[str, list[str]]:
        """Nothing: clusters have no labels."""
        return {}

    def build(self, inputs: Inputs, tables: Tables, settings: TaskSettings) -> TaskModel[Document]:
        """See `Kind`."""
        return CorefModel(
            inputs,
            hidden_dim=settings.hidden_dim,
            depth=settings.depth,
            width=settings.span_width,
            kept=settings.kept_spans,
            candidates=settings.antecedents,
            mention_loss=settings.mention_loss,
            dropout=settings.dropout,
        )

    def score(self, gold: Sequence[Document], predicted: Sequence[Document]) -> Score:
        """The mean F1 of MUC, B-cubed and CEAF-e."""
        return coreference_f1(_clusters(gold), _clusters(predicted), task=self.name)

    def blank(self, example: Document, tables: Tables) -> Document:
        """No cluster."""
        return Document(example.id, example.sentences, ())

    def to_dict(self, example: Document) -> dict[str, JSON]:
        """See `Kind`."""
        return to_record(example)

    def difference(self, gold: Document, predicted: Document) -> tuple[str, str]:
        """The clusters that only one of the two has."""
        right, given = gold.clusters or (), predicted.clusters or ()
        return (
            _shown(gold, [cluster for cluster in right if cluster not in given]),
            _shown(gold, [cluster for cluster in given if cluster not in right]),
        )

    def of_sentences(self, sentences: Sequence[Tokens]) -> list[Document]:
        """All sentences as one document."""
        return [Document("text", tuple(sentences))]

    def to_learn(
        self, examples: Sequence[Document], settings: TaskSettings
    ) -> tuple[list[Document], dict[str, Figure]]:
        """Long documents in pieces, so that memory stays bounded."""
        found = [list(pieces(example, settings.document_sentences)) for example in examples]
        lost = sum(out_of_reach(example, settings.span_width) for example in examples)
        cut = sum(len(some) > 1 for some in found)
        learnt = [one for some in found for one in some]
        figures: dict[str, Figure] = {"documents cut": cut, "pieces": len(learnt)} if cut else {}
        return learnt, figures | ({"mentions too long or across sentences": lost} if lost else {})

    def problem(self, example: Document) -> str | None:
        """See `Kind`."""
        length = sum(map(len, example.sentences))
        seen: set[tuple[int, int]] = set()
        for start, end in (mention for cluster in example.clusters or () for mention in cluster):
            if not 0 <= start < end <= length:
                return f"the mention {start}-{end} is not within its {length} tokens; give the end behind it"
            if (start, end) in seen:
                return f"the mention {start}-{end} is there twice; put it into one cluster"
            seen.add((start, end))
        return None


def _clusters(examples: Sequence[Document]) -> list[Clusters]:
    found = []
    for number, example in enumerate(examples, 1):
        if example.clusters is None:
            raise InputError(f"document {number:,} has no clusters to compare with; give labelled documents")
        found.append(example.clusters)
    return found


def _shown(document: Document, clusters: Sequence[Sequence[tuple[int, int]]]) -> str:
    """Clusters for people."""
    tokens = [token for sentence in document.sentences for token in sentence]
    return "; ".join(" = ".join(" ".join(tokens[a:b]) for a, b in cluster) for cluster in clusters) or "none"
