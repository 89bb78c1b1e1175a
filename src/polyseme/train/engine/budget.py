"""How a run keeps its time budget: what comes after the last update has to fit too."""

import time
from collections.abc import Callable

from polyseme.progress.figures import shown_time
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Batch, Job

KNOWN_SPEED = 3
"""Updates after which the speed of training is known, and with it how long an evaluation will take."""
_EVALUATION_SHARE = 0.1  # of the budget that evaluations on the way may take, and the last one
_TRIAL_SHARE = 0.01  # of the budget that a trial of the evaluation may take, by the speed of training
_LARGEST_SHARE = 0.5  # of the budget that is kept for the end of the run
_STORING = 5.0  # times the first checkpoint, which has neither an optimiser's state nor a model and its card beside it
_LEAVING = 1.5  # seconds: the last picture of the learning curve, the work folder removed, the end of the process


class TimeBudget:
    """Foresees how long the end of a run takes: the last evaluation, and storing its model.

    Args:
        limit: Seconds for the whole run; None if it has no budget.
        clock: Seconds since a moment, the same in all processes.
    """

    def __init__(self, limit: float | None, clock: Callable[[float], float]) -> None:
        self.limit, self._clock = limit, clock
        self._storing = 0.0
        self._seconds = 0.0  # of an evaluation, and the speed of training then
        self._speed = 0.0

    def stored(self, begun: float, p: Progress) -> None:
        """A checkpoint was written; storing takes as long, and longer if it was the first."""
        self._storing = self._clock(begun) * (1.0 if p.evaluated_update > 0 else _STORING)

    def evaluated(self, p: Progress) -> None:
        """An evaluation was made, and took ``p.evaluation_seconds``."""
        self._seconds, self._speed = p.evaluation_seconds, _speed(p)

    def evaluation(self, p: Progress, job: Job[Batch]) -> float:
        """How long the next evaluation will take, by the last or by the speed of training; 0 if it is not known."""
        speed = _speed(p)
        if self.limit is not None and self._seconds:
            return self._seconds * max(1.0, self._speed / speed if speed else 1.0)  # a machine may get busier
        if p.evaluation_seconds or self.limit is None or not speed:
            return p.evaluation_seconds
        return p.evaluation_share * job.evaluation_tokens / speed

    def is_affordable(self, p: Progress, job: Job[Batch]) -> bool:
        """Whether an evaluation on the way would not take too much of the time since the last."""
        return self.evaluation(p, job) < _EVALUATION_SHARE * (p.elapsed - p.evaluated_elapsed)

    def closing(self, p: Progress, job: Job[Batch]) -> float:
        """How long everything after the last update will take."""
        if self.limit is None:
            return 0.0
        seconds = (1 + job.conclusion) * self.evaluation(p, job) + self._storing + _LEAVING
        return min(seconds, _LARGEST_SHARE * self.limit)

    def fit(self, p: Progress, job: Job[Batch], world: World) -> str | None:
        """Measure less held-out text, once and for the whole run, if all of it would not fit; returns a note of it."""
        seconds = self.evaluation(p, job)
        known = p.update == KNOWN_SPEED and seconds and not p.evaluation_seconds
        if self.limit is None or not known or not job.may_measure_less:
            return None
        seconds = self._tried(min(1.0, _TRIAL_SHARE * self.limit / seconds), job, world) or seconds
        affordable = _EVALUATION_SHARE * self.limit
        p.evaluation_share = min(1.0, affordable / seconds)
        self._seconds, self._speed = p.evaluation_share * seconds, _speed(p)
        job.limit_evaluation(p.evaluation_share)
        if p.evaluation_share == 1.0:
            return None
        return f"{p.evaluation_share:.0%} of the held-out text is measured, to keep the time budget"

    def _tried(self, share: float, job: Job[Batch], world: World) -> float:
        """How long an evaluation would take by one of a small share; a full softmax is slower than training."""
        begun = time.monotonic()
        job.limit_evaluation(share)
        job.evaluate(world)
        return self._clock(begun) / share

    def ended(self, p: Progress, job: Job[Batch], epochs: int) -> str | None:
        """A note, if it was the budget that ended the run."""
        if self.limit is None or p.elapsed + self.closing(p, job) < self.limit:
            return None
        given = f"the time budget of {shown_time(self.limit)}"
        if not p.update:
            return f"{given} was over before the first update, so that nothing was learnt; give more time"
        done = p.epoch + p.epoch_share
        return f"{given} ended training after update {p.update:,}, {done:.2f} of {epochs:,} epochs"


def _speed(p: Progress) -> float:
    """Tokens a second over the last updates; 0 if there are too few."""
    if len(p.recent) < KNOWN_SPEED:
        return 0.0
    seconds = p.recent[-1][3] - p.recent[0][3]
    return sum(one[2] for one in p.recent[1:]) / seconds if seconds > 0 else 0.0
