"""The translator as a job of the engine."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import torch

from polyseme.formats import translator_folder
from polyseme.models.translation import TranslationModel
from polyseme.nn.sampled_softmax import Negatives
from polyseme.progress import Watcher
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import BatchLoss, Curve, Evaluation, Group, Job
from polyseme.train.engine.row_gradient import RowTable
from polyseme.train.translate.batches import Numbers, PairBatches, read_batch
from polyseme.train.translate.card import write_card
from polyseme.train.translate.evaluate import FinalFigures, bleu, measure_all, perplexity, spread, translations_of
from polyseme.train.translate.objective import Objective
from polyseme.train.translate.pair_store import PairStore
from polyseme.train.translate.settings import TranslateSettings


class TranslateJob(Job[Numbers]):
    """Trains a translator on pairs.

    Args:
        model: To be trained in place.
        store: The pairs.
        settings: The run's.
        world: The processes that take part.
        output: The folder of the translator.
        watcher: Is told when the last measurement begins.
    """

    score_name = "held-out perplexity"
    curve = Curve(("bleu",), "BLEU of held-out pairs")

    def __init__(
        self,
        model: TranslationModel,
        store: PairStore,
        settings: TranslateSettings,
        *,
        world: World,
        output: Path,
        watcher: Watcher,
    ) -> None:
        self.model, self.store, self.settings, self.output = model, store, settings, output
        self.network = self._network = model.network.to(world.device)
        self.sampled = settings.sampled(len(store.vocabulary))
        self.loss_name = "sampled" if self.sampled else "full"
        if self.sampled:
            self.table = RowTable(self._network.softmax.weight, self._network.softmax.bias)
        self.final: FinalFigures | None = None
        self._watcher = watcher
        self._device = world.device
        self._vectors = torch.from_numpy(np.asarray(store.table.matrix)).to(world.device)
        self._objective = Objective(self._network, self._vectors, label_smoothing=settings.label_smoothing)
        self._negatives: Negatives | None = None
        self.evaluation_tokens = len(store.heldout.source) + len(store.heldout.target)
        self.conclusion = len(store.heldout) / max(1, min(settings.bleu_pairs, len(store.heldout)))
        self._batches = PairBatches(
            store.training,
            batch_tokens=settings.batch_tokens,
            group=world.size * settings.accumulate,
            seed=settings.seed,
        )

    def groups(self, epoch: int, start: int) -> Iterator[Group[Numbers]]:
        """See `Job`."""
        return self._batches.groups(epoch, start)

    def begin_update(self, update: int) -> None:
        """Draw the negative words of a sampled softmax, the same for every batch and process."""
        self.network.train()
        if self.sampled:
            generator = np.random.default_rng([self.settings.seed, 1, update])
            self._negatives = Negatives.draw(self.settings.samples, len(self.store.vocabulary), generator)

    def loss(self, batch: Numbers) -> BatchLoss:
        """See `Job`."""
        return self._objective(read_batch(self.store.training, batch, self._device), self._negatives)

    def evaluate(self, world: World) -> Evaluation:
        """Perplexity of all held-out pairs, and BLEU of the greedy translations of some of them."""
        store = self.store
        found = perplexity(
            self.model, store.heldout, self._vectors, batch_tokens=2 * self.settings.batch_tokens, world=world
        )
        some = spread(len(store.heldout), self.settings.bleu_pairs)
        lines = translations_of(self.model, [store.heldout_sources[number] for number in some])
        score = bleu(lines, [store.heldout_references[number] for number in some], self.model.target.tokenizer).score
        figures = {"perplexity": found, "bleu": score, "bleu_pairs": len(some), "heldout_pairs": len(store.heldout)}
        return Evaluation(found, {**figures}, {"perplexity": found, "BLEU": score})

    def publish(self) -> None:
        """See `Job`."""
        if self.output.exists():
            translator_folder.replace_weights(self.model, self.output)
        else:
            translator_folder.write(self.model, self.output)

    def conclude(self) -> None:
        """Measure the best weights on all held-out pairs."""
        self._watcher.begin(f"translating all {len(self.store.heldout):,} held-out pairs")
        model = translator_folder.read(self.output)
        model.network.to(self._device)
        self.final = measure_all(model, self.store.heldout_sources, self.store.heldout_references)

    def describe(self, progress: Progress) -> None:
        """See `Job`."""
        write_card(
            self.output / translator_folder.CARD, self.store, self.settings, progress, self.loss_name, self.final
        )
