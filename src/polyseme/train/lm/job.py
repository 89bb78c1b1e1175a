"""The biLM as a job of the engine."""

from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import numpy as np
import torch
from torch import nn

from polyseme.errors import OutputError
from polyseme.files.whole import reason
from polyseme.formats import native
from polyseme.models.encoders import LstmEncoder
from polyseme.models.model import Model
from polyseme.nn.backend import backend_for
from polyseme.nn.sampled_softmax import Negatives
from polyseme.nn.softmax import FullSoftmax
from polyseme.train.choices import SoftmaxKind
from polyseme.train.engine.checkpoint import Progress, State, moved
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import BatchLoss, Curve, Evaluation, Group, Job
from polyseme.train.engine.row_gradient import RowTable
from polyseme.train.lm.batches import BatchPlace, open_batches
from polyseme.train.lm.card import write_card
from polyseme.train.lm.case_noise import CaseNoise
from polyseme.train.lm.context_words import ContextWords
from polyseme.train.lm.evaluate import evaluate_heldout
from polyseme.train.lm.initial_model import set_trained
from polyseme.train.lm.matrices import hidden_matrices
from polyseme.train.lm.objective import Objective, checked_carried
from polyseme.train.lm.settings import LmSettings
from polyseme.train.lm.text_store import TextStore, pieces


class LmJob(Job[BatchPlace]):
    """Trains a biLM on a text.

    Args:
        model: To be trained in place.
        store: The text.
        settings: The run's.
        softmax: Which softmax is trained.
        world: The processes that take part.
        output: The model folder.
        vectors: The file of static vectors that the model begins with, for its card.
    """

    score_name = "held-out perplexity"
    curve = Curve(("forward", "backward"), "held-out perplexity (full softmax)", logarithmic=True)
    may_measure_less = True

    def __init__(
        self,
        model: Model,
        store: TextStore,
        settings: LmSettings,
        *,
        softmax: SoftmaxKind,
        world: World,
        output: Path,
        vectors: str | None = None,
    ) -> None:
        self.model, self.store, self.settings, self.output = model, store, settings, output
        self.network: nn.Module = model.bilm.to(world.device)
        self.loss_name = softmax
        self._vectors = vectors
        # The original recipe differentiates the loss of a row's steps, which Adagrad's first accumulator feels.
        self.loss_scale = float(settings.steps_a_row) if settings.optimizer == "adagrad" else 1.0
        frozen_table = settings.word_input == "frozen" and settings.freeze == "nothing"
        set_trained(model.bilm, "tokens" if frozen_table else settings.freeze)
        self.matrices = hidden_matrices(model.bilm)
        if softmax == "sampled":
            assert isinstance(model.bilm.softmax, FullSoftmax)
            self.table = RowTable(model.bilm.softmax.weight, model.bilm.softmax.bias)
        self.in_kernels = isinstance(model.bilm.encoder, LstmEncoder) and (
            backend_for(
                model.bilm.parameters(),
                "bfloat16" if settings.precision == "bfloat16" else "float32",
                gradients=True,
            )
            == "kernels"
        )
        self.sizes = store.sizes()
        noise = None if store.forms is None else CaseNoise(store.forms, settings.case_noise, settings.seed)
        self._batches = open_batches(store.training, settings, world.size * settings.accumulate, noise)
        self._objective = self._open_objective(world.device)
        self._heldout = pieces(store.heldout, settings.max_sentence)
        self._negatives: Negatives | None = None
        self.evaluation_tokens = min(settings.heldout_tokens, int(self._heldout.starts[-1]))
        self._measured = settings.heldout_tokens

    def _open_objective(self, device: torch.device) -> Objective:
        """The loss; what a second one trains besides the biLM becomes a part of the network."""
        bilm, settings, context = self.model.bilm, self.settings, None
        if settings.context_weight and self.loss_name != "adaptive":
            context = ContextWords(self.store, self.model.bilm_config.projection_dim).to(device)
            self.network = nn.ModuleDict({"bilm": bilm, "context": context})
        weight = settings.context_weight
        return Objective(
            bilm, self.store, dropout=settings.dropout, device=device, context=context, context_weight=weight
        )

    def groups(self, epoch: int, start: int) -> Iterator[Group[BatchPlace]]:
        """See `Job`."""
        return self._batches.groups(epoch, start)

    def begin_epoch(self) -> None:
        """See `Job`."""
        self._objective.forget()

    def begin_update(self, update: int) -> None:
        """Draw the negative words of a sampled softmax, the same for every batch and process."""
        if self.table is not None:
            generator = np.random.default_rng([self.settings.seed, 1, update])
            self._negatives = Negatives.draw(self.settings.samples, len(self.store.vocabulary), generator)

    def loss(self, batch: BatchPlace) -> BatchLoss:
        """See `Job`."""
        return self._objective(self._batches.read(batch), self._negatives)

    def evaluate(self, world: World) -> Evaluation:
        """The perplexity of held-out text, with the full softmax."""
        found = evaluate_heldout(
            self.model.bilm,
            self.store,
            self._heldout,
            tokens=self._measured,
            batch_tokens=2 * self.settings.batch_tokens,
            world=world,
        )
        figures = found.to_dict()
        figures["heldout_tokens"] = figures.pop("tokens")
        shown = {name: getattr(found, name) for name in ("forward", "backward", "average")}
        return Evaluation(found.average, {"softmax": "full", **figures}, shown)

    def limit_evaluation(self, share: float) -> None:
        """See `Job`."""
        self._measured = max(1, int(share * self.evaluation_tokens)) if share < 1 else self.settings.heldout_tokens

    def publish(self) -> None:
        """Write the model folder, or replace the weights in it: nothing else of it changes during a run."""
        if not self.output.exists():
            native.write(self.model, self.output)
            return
        try:
            native.write_weights(self.model, self.output / native.WEIGHTS)
        except OSError as error:
            raise OutputError(f"{self.output}: the weights could not be replaced ({reason(error)})") from error

    def describe(self, progress: Progress) -> None:
        """See `Job`."""
        write_card(
            self.output / native.CARD,
            self.model,
            asdict(self.sizes),
            self.settings,
            progress,
            softmax=self.loss_name,
            vectors=self._vectors,
        )

    def state(self) -> State:
        """The state that rows of running text carry from batch to batch."""
        return {"carried": self._objective.carried}

    def restore(self, state: State, world: World) -> None:
        """See `Job`; only the first process's rows keep what they have read."""
        self._objective.carried = checked_carried(moved(state["carried"], world.device)) if world.first else {}
