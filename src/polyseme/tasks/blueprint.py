"""Everything that a task model is built from, apart from its weights."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Generic

import torch

from polyseme.tasks.inputs import Inputs, source_part
from polyseme.tasks.kind import Kind, Tables
from polyseme.tasks.lexicon import Lexicon
from polyseme.tasks.model import Ex, TaskModel
from polyseme.tasks.predictor import Predictor
from polyseme.tasks.settings import TaskSettings
from polyseme.tasks.sources import TaskSource
from polyseme.tasks.tuned import TunedNetwork
from polyseme.text.segmentation import Segmentation

_WORD_DIM = 50


@dataclass(frozen=True)
class Blueprint(Generic[Ex]):
    """What a model is built from; its folder holds this and the weights.

    Attributes:
        kind: The task.
        settings: Of the run that trains it.
        tables: What it knows of the training data, such as the labels.
        lexicon: Words that have a learned vector.
        sources: The vector sources.
        segmentation: How raw text is tokenised for it.
    """

    kind: Kind[Ex]
    settings: TaskSettings
    tables: Tables
    lexicon: Lexicon
    sources: Sequence[TaskSource]
    segmentation: Segmentation

    def build(self) -> TaskModel[Ex]:
        """A new model: static vectors as they are in their table, everything else random by the seed."""
        torch.manual_seed(self.settings.seed)
        model = self.kind.build(self._inputs(), self.tables, self.settings)
        for number, one in enumerate(self.sources):
            if (name := source_part(number)) in model.inputs.static:
                table = model.inputs.static[name]
                assert isinstance(table, torch.nn.Embedding)
                with torch.no_grad():
                    table.weight.copy_(torch.from_numpy(one.initial_rows()))
        return model

    def predictor(self, model: TaskModel[Ex]) -> Predictor[Ex]:
        """What answers with a model of this blueprint."""
        return Predictor(self.kind, model, self.tables, self.lexicon, self.sources, self.settings.layers)

    def _inputs(self) -> Inputs:
        settings = self.settings
        word_dim = settings.word_dim
        if word_dim is None:
            word_dim = 0 if any(one.is_static for one in self.sources) else _WORD_DIM
        return Inputs(
            words=len(self.lexicon),
            word_dim=word_dim,
            casing_dim=settings.casing_dim,
            character_dim=settings.character_dim,
            character_filters=settings.character_filters,
            character_width=settings.character_width,
            sources=[one.shape() for one in self.sources],
            elmo_at=settings.elmo_at,
            layers=settings.layers,
            tuned={number: TunedNetwork(one.model()) for number, one in enumerate(self.sources) if one.tuned},
        )
