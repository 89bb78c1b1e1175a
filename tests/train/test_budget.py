"""What comes after the last update fits into a time budget: evaluation and storing are foreseen."""

from typing import Any, cast

import pytest

from polyseme.train.engine.budget import KNOWN_SPEED, TimeBudget
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Job


class Clock:
    """Passes only when something takes time."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now = 100.0
        monkeypatch.setattr("time.monotonic", lambda: self.now)

    def __call__(self, since: float) -> float:
        return self.now - since


class Evaluated:
    """A job whose evaluation takes a tenth of a second for each token."""

    evaluation_tokens, conclusion = 600, 0.0

    def __init__(self, clock: Clock, *, may_measure_less: bool = True) -> None:
        self.clock, self.may_measure_less, self.share = clock, may_measure_less, 1.0

    def limit_evaluation(self, share: float) -> None:
        self.share = share

    def evaluate(self, world: World) -> None:
        self.clock.now += 0.1 * self.share * self.evaluation_tokens


def progress(*, speed: float, update: int = KNOWN_SPEED, elapsed: float = 10.0) -> Progress:
    """After some updates of 50 tokens."""
    recent = [(1.0, 50, 50, elapsed + 50 * number / speed) for number in range(4)]
    return Progress(update=update, elapsed=elapsed, recent=recent)


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    return Clock(monkeypatch)


def budget_of(limit: float | None, clock: Clock, job: Evaluated) -> tuple[TimeBudget, Job[Any]]:
    return TimeBudget(limit, clock), cast("Job[Any]", job)


def test_an_evaluation_slower_than_training_is_found_out_by_a_trial(clock: Clock) -> None:
    made = Evaluated(clock)
    budget, job = budget_of(150.0, clock, made)
    p = progress(speed=100.0)
    assert budget.evaluation(p, job) == pytest.approx(6.0)  # as fast as training, it would take six seconds
    note = budget.fit(p, job, World())
    assert note == "25% of the held-out text is measured, to keep the time budget"
    assert made.share == p.evaluation_share == pytest.approx(0.25)
    assert budget.evaluation(p, job) == pytest.approx(15.0)
    assert budget.fit(progress(speed=100.0, update=KNOWN_SPEED + 1), job, World()) is None  # once


def test_a_job_that_cannot_measure_less_reserves_the_time(clock: Clock) -> None:
    made = Evaluated(clock, may_measure_less=False)
    budget, job = budget_of(150.0, clock, made)
    p = progress(speed=100.0)
    assert budget.fit(p, job, World()) is None
    assert made.share == 1.0
    p.evaluation_seconds = 40.0
    budget.evaluated(p)
    assert budget.closing(p, job) > 40.0
    p.evaluation_seconds = 1000.0
    budget.evaluated(p)
    assert budget.closing(p, job) == 75.0  # training gets half of the budget in any case


def test_a_machine_that_gets_busier(clock: Clock) -> None:
    budget, job = budget_of(150.0, clock, Evaluated(clock))
    p = progress(speed=100.0)
    budget.fit(p, job, World())
    assert budget.evaluation(progress(speed=50.0), job) == pytest.approx(30.0)
    assert budget.evaluation(progress(speed=200.0), job) == pytest.approx(15.0)


def test_storing_is_foreseen_by_the_first_checkpoint(clock: Clock) -> None:
    budget, job = budget_of(150.0, clock, Evaluated(clock))
    p = progress(speed=100.0)
    before = budget.closing(p, job)
    clock.now += 2.0
    budget.stored(clock.now - 2.0, p)
    first = budget.closing(p, job)
    assert first >= before + 2 * 2.0  # the model and its checkpoint with the optimiser's state
    p.evaluated_update = 3
    budget.stored(clock.now - 2.0, p)
    assert budget.closing(p, job) == pytest.approx(before + 2.0)


def test_what_ended_a_run(clock: Clock) -> None:
    budget, job = budget_of(150.0, clock, Evaluated(clock))
    p = progress(speed=100.0)
    assert budget.ended(p, job, 10) is None
    p.elapsed, p.epoch, p.epoch_share = 149.0, 2, 0.5
    assert budget.ended(p, job, 10) == "the time budget of 2m30s ended training after update 3, 2.50 of 10 epochs"
    told = budget.ended(Progress(elapsed=160.0), job, 10)
    assert (
        told == "the time budget of 2m30s was over before the first update, so that nothing was learnt; give more time"
    )


def test_without_a_budget_nothing_is_foreseen(clock: Clock) -> None:
    budget, job = budget_of(None, clock, Evaluated(clock))
    p = progress(speed=100.0)
    assert (budget.closing(p, job), budget.fit(p, job, World()), budget.ended(p, job, 1)) == (0.0, None, None)
