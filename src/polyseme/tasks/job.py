"""A task as a job of the engine."""

from collections.abc import Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Generic

import numpy as np

from polyseme.errors import OutputError
from polyseme.files.whole import reason
from polyseme.progress import Figure
from polyseme.tasks import folder
from polyseme.tasks.batches import BatchMaker, Numbers, epoch_groups
from polyseme.tasks.blueprint import Blueprint
from polyseme.tasks.card import write_card
from polyseme.tasks.model import Ex
from polyseme.tasks.predictor import answered
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import BatchLoss, Curve, Evaluation, Group, Job


class TaskJob(Job[Numbers], Generic[Ex]):
    """Trains a task model.

    Args:
        blueprint: What the model is built from.
        training: The examples to learn from; each has tokens in all its sentences.
        heldout: The examples that decide which model is the best.
        maker: Makes batches of both.
        world: The processes that take part.
        output: The folder of the model.
    """

    loss_name = "cross entropy"
    higher_is_better = True

    def __init__(
        self,
        blueprint: Blueprint[Ex],
        training: Sequence[Ex],
        heldout: Sequence[Ex],
        maker: BatchMaker[Ex],
        *,
        world: World,
        output: Path,
    ) -> None:
        self.blueprint, self.training, self.heldout, self.output = blueprint, training, heldout, output
        self.model = blueprint.build().to(world.device)
        self.network = self.model
        self._tuned = folder.tuned_networks(self.model)
        rate = blueprint.settings.fine_tune_rate
        self.rate_shares = {one: rate for network in self._tuned.values() for one in network.parameters()}
        kind = blueprint.kind
        self._lengths = np.array([kind.size(example) for example in training])
        self.evaluation_tokens = sum(kind.size(example) for example in heldout)
        self._maker = maker
        self._group = world.size * blueprint.settings.accumulate
        metric = kind.metric
        self.score_name = f"held-out {metric}"
        self.curve = Curve(("score",), f"{metric} (%)")

    def groups(self, epoch: int, start: int) -> Iterator[Group[Numbers]]:
        """See `Job`."""
        # Here, so that it holds for a resumed run too: no layer learns at first, and one more with each epoch.
        for network in self._tuned.values():
            network.unfreeze(epoch)
        settings = self.blueprint.settings
        groups = epoch_groups(
            self._lengths,
            size=settings.batch_size,
            tokens=settings.batch_tokens,
            group=self._group,
            seed=settings.seed,
            epoch=epoch,
        )
        return islice(groups, start, None)

    def loss(self, batch: Numbers) -> BatchLoss:
        """See `Job`."""
        made = self._maker.batch([self.training[number] for number in batch.tolist()])
        self.model.train()
        predictions = self.model.predictions(made)
        total = self.model.losses(made).sum()
        # The gradient is that of the mean loss, so that the penalty is multiplied as often as a prediction is made.
        total = total + predictions * self.model.inputs.penalty(self.blueprint.settings.mix_l2)
        return BatchLoss(total, predictions, len(made.words.types))

    def evaluate(self, world: World) -> Evaluation:
        """The task's measure on the held-out examples; every process computes all of it."""
        kind, tables = self.blueprint.kind, self.blueprint.tables
        found = kind.score(self.heldout, answered(kind, self.model, tables, self.heldout, self._maker))
        shown: dict[str, Figure] = {"score": round(found.score, 2)}  # the metric is in `score_name`
        return Evaluation(found.score, {**found.to_dict()}, shown)

    def publish(self) -> None:
        """Write the folder, or replace the weights in it: nothing else of it changes during a run."""
        if not self.output.exists():
            folder.write(self.blueprint, self.model, self.output)
            return
        try:
            folder.replace_weights(self.blueprint, self.model, self.output)
        except OSError as error:
            raise OutputError(f"{self.output}: the weights could not be replaced ({reason(error)})") from error

    def describe(self, progress: Progress) -> None:
        """See `Job`."""
        counts = (len(self.training), len(self.heldout))
        write_card(self.output / folder.CARD, self.blueprint, counts, progress)
