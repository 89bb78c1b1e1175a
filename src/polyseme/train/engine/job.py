"""What the engine sees of a training job; it knows nothing else about it.

The engine brings what every run needs: updates, learning rate, resuming, time budget, patience, number types, several
processes, checkpoints, learning curves and progress. A job brings what is its own: batches, their loss, an evaluation,
and the files that a user gets.
"""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType
from typing import Any, Generic, TypeVar

from torch import Tensor, nn

from polyseme.files.whole import JSON
from polyseme.progress import Figure, Watcher
from polyseme.train.engine.checkpoint import Progress, State
from polyseme.train.engine.distributed import World
from polyseme.train.engine.muon import Matrix
from polyseme.train.engine.row_gradient import RowGradient, RowTable
from polyseme.train.engine.settings import RunSettings

Batch = TypeVar("Batch")
Settings = TypeVar("Settings", bound=RunSettings)


@dataclass(frozen=True)
class Group(Generic[Batch]):
    """The batches of one update, as places in the data; the process that computes a batch reads it."""

    share: float
    """Of the epoch that is done after this update, from 0 to 1."""
    batches: Sequence[Batch]


@dataclass(frozen=True)
class BatchLoss:
    """The loss of one batch."""

    total: Tensor
    """Summed over the predictions, ready to be differentiated."""
    predictions: int
    tokens: int
    """Tokens that were learnt from, for the speed that is shown."""
    rows: Tensor | None = None
    """(R,) which rows of the job's `RowTable` took part, distinct and ascending, and those rows as leaves."""
    row_weight: Tensor | None = None
    row_bias: Tensor | None = None
    besides: Tensor | None = None
    """A second loss that is learnt from as well, and left out of the figures."""

    def row_gradient(self) -> RowGradient | None:
        """The gradient of the rows, after ``total`` was differentiated."""
        if self.rows is None:
            return None
        assert self.row_weight is not None
        assert self.row_bias is not None
        assert self.row_weight.grad is not None
        assert self.row_bias.grad is not None
        return RowGradient(self.rows, self.row_weight.grad, self.row_bias.grad)


@dataclass(frozen=True)
class Evaluation:
    """A measurement of what has been learnt so far."""

    score: float
    """By which two evaluations are compared."""
    figures: dict[str, JSON]
    """Everything that was measured, for the records."""
    shown: dict[str, Figure] = field(default_factory=dict)
    """What a person is shown of it."""


@dataclass(frozen=True)
class Curve:
    """How the learning curve of a job is drawn."""

    figures: tuple[str, ...]
    """Which figures of an evaluation, a line each."""
    label: str
    """What they are."""
    logarithmic: bool = False


class Job(ABC, Generic[Batch]):
    """Something that learns.

    Attributes:
        network: What is trained; parameters that do not learn have ``requires_grad`` false.
        output: The folder that a user gets.
        loss_name: Which loss is trained, for records and people: "sampled", "cross entropy", ...
        score_name: What `Evaluation.score` is, such as "held-out perplexity".
        higher_is_better: How two scores are compared.
        curve: How the learning curve is drawn.
        table: A table that is updated by rows; its parameters are left out of the other updates.
        matrices: Weights between layers that the optimiser Muon may update; the others are AdamW's.
        loss_scale: The gradient is that of this many times the mean loss.
        rate_shares: Parameters that learn more slowly: their rate as a share of the run's.
        evaluation_tokens: About how many tokens an evaluation measures; 0 if it is not known.
        may_measure_less: Whether `limit_evaluation` does something.
        conclusion: How long `conclude` takes, at most, in evaluations.
        in_kernels: Whether the kernels compute all large products, so that torch needs only one thread.
    """

    network: nn.Module
    output: Path
    loss_name: str
    score_name: str
    higher_is_better: bool = False
    curve: Curve
    table: RowTable | None = None
    matrices: Sequence[Matrix] = ()
    loss_scale: float = 1.0
    rate_shares: Mapping[nn.Parameter, float] = MappingProxyType({})
    evaluation_tokens: int = 0
    may_measure_less: bool = False
    conclusion: float = 0.0
    in_kernels: bool = False

    @abstractmethod
    def groups(self, epoch: int, start: int) -> Iterator[Group[Batch]]:
        """The groups of an epoch from number ``start`` on; the same for the same seed and epoch."""

    def begin_epoch(self) -> None:
        """Called before the first group of an epoch."""

    def begin_update(self, update: int) -> None:
        """Called before the batches of an update; what is drawn here must depend on seed and update alone."""

    @abstractmethod
    def loss(self, batch: Batch) -> BatchLoss:
        """The loss of one batch. Torch's random numbers are seeded by seed, update and place of the batch before."""

    @abstractmethod
    def evaluate(self, world: World) -> Evaluation:
        """Measure what has been learnt; every process takes its share, and all get the same result."""

    def limit_evaluation(self, share: float) -> None:
        """Measure only this share of the tokens from now on, to keep a time budget."""

    @abstractmethod
    def publish(self) -> None:
        """Write the model of this moment into the output folder, which is whole at every moment."""

    @abstractmethod
    def describe(self, progress: Progress) -> None:
        """Bring what the output folder says about the run (its card) up to date."""

    def conclude(self) -> None:
        """Called in the first process when the run has come to its end, before the last `describe`."""

    def state(self) -> State:
        """What a checkpoint must contain in addition to the network and the optimiser."""
        return {}

    def restore(self, state: State, world: World) -> None:
        """Continue from what `state` gave."""


class Plan(ABC, Generic[Settings]):
    """How a job comes about: its data is read once, by the first process, and then opened by all.

    Attributes:
        kind: What runs, as ``run.json`` names it: "train", ...
        settings: All settings of the run.
        identity: What else the result depends on, such as the names of the data files.
    """

    kind: str
    settings: Settings
    identity: dict[str, JSON]

    @abstractmethod
    def is_prepared(self, folder: Path) -> bool:
        """Whether `prepare` came to its end in this work folder."""

    @abstractmethod
    def prepare(self, folder: Path, watcher: Watcher) -> None:
        """Read the data and write what every process opens into the work folder."""

    @abstractmethod
    def open(self, folder: Path, settings: Settings, world: World, watcher: Watcher) -> Job[Any]:
        """The job, from what `prepare` wrote."""
