"""The training loop, from the first update to the last."""

import math
import time
from collections.abc import Callable
from pathlib import Path
from typing import Generic

from polyseme.errors import Diverged
from polyseme.files.whole import JSON
from polyseme.progress import Figure, Watcher
from polyseme.train.engine import checkpoint
from polyseme.train.engine.budget import KNOWN_SPEED, TimeBudget
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Batch, Group, Job
from polyseme.train.engine.memory import give_back
from polyseme.train.engine.records import Log, write_summary
from polyseme.train.engine.schedule import learning_rate, share_done
from polyseme.train.engine.settings import RunSettings
from polyseme.train.engine.threads import Threads
from polyseme.train.engine.update import NotFinite, Updater

RECORD_EVERY = 20
"""Updates that make one training record."""
DIVERGED = 1.0
"""The smoothed loss may rise this much above its lowest value, in nats."""
_SMOOTHING = 0.98
_MOST_SETBACKS = 8


class Trainer(Generic[Batch]):
    """Runs one job.

    Args:
        job: What learns.
        settings: The run's.
        world: The processes that take part.
        folder: Where checkpoints and the log are kept while the run lasts.
        watcher: Is told how it goes.
        begun: When the work on this run began (by `time.monotonic`), reading of data included; the time budget counts
            from there.
        interrupted: Asked after each update whether to save and stop.
        threads: How many compute each update.
    """

    def __init__(
        self,
        job: Job[Batch],
        settings: RunSettings,
        *,
        world: World,
        folder: Path,
        watcher: Watcher,
        begun: float,
        interrupted: Callable[[], bool],
        threads: Threads,
    ) -> None:
        self.job, self.settings = job, settings
        self.world, self.folder, self.watcher = world, folder, watcher
        job.network.to(world.device)
        self.updater = Updater(job, settings, world)
        self.progress = Progress()
        self._begun, self._interrupted, self._threads = begun, interrupted, threads
        self._budget = TimeBudget(settings.time_budget, self._clock)
        self._saved = time.monotonic()
        self._log: Log | None = None

    def run(self, *, resume: bool) -> bool:
        """Train until done; gives whether the run came to its end, rather than being interrupted."""
        if resume and (self.folder / checkpoint.FILE).exists():
            self._restore()
            self.watcher.note(f"continuing after update {self.progress.update:,}, in epoch {self.progress.epoch + 1}")
        else:
            self._save()
        self._begun -= self.progress.elapsed
        self._log = Log(self.folder, self.progress.records) if self.world.first else None
        self.watcher.begin("training")
        ended: str | None = None
        try:
            while True:
                try:
                    if not self._finished():
                        if not self._epoch():
                            return False
                        continue
                    ended = ended or self._budget.ended(self.progress, self.job, self.settings.epochs)
                    if self.progress.evaluated_update == self.progress.update:
                        if ended:
                            self.watcher.note(ended)
                        return True
                    self._evaluate()
                except NotFinite as error:
                    self._roll_back(str(error))
        finally:
            if self._log:
                self._log.close()

    def _finished(self) -> bool:
        return self._share() >= 1.0 or self.progress.since_best >= self.settings.patience

    def _share(self) -> float:
        """The share of the updates that is done; the end of a time budget is kept for what follows them."""
        return self._share_at(self.progress.elapsed + self._budget.closing(self.progress, self.job))

    def _share_at(self, elapsed: float) -> float:
        p = self.progress
        return share_done(self.settings, epoch=p.epoch, epoch_share=p.epoch_share, update=p.update, elapsed=elapsed)

    def _epoch(self) -> bool:
        """Continue to the end of the epoch or of the run; False when interrupted."""
        p = self.progress
        if p.group == 0:
            self.job.begin_epoch()
        for group in self.job.groups(p.epoch, p.group):
            share = self._share()
            self._update(group, share)
            if note := self._budget.fit(p, self.job, self.world):
                self.watcher.note(note)
            if self._due(share, self._share()):
                self._evaluate()
            elif self._agreed(time.monotonic() - self._saved > self.settings.checkpoint_every):
                self._save()
            if self._agreed(self._interrupted()):
                self._save()
                if self.world.first and not self.job.output.exists():
                    self._publish()
                return False
            if self._finished() and group.share < 1.0:
                return True
        p.epoch, p.group, p.epoch_share = p.epoch + 1, 0, 0.0
        if self.settings.evaluate_every is None and p.evaluated_update != p.update:
            self._evaluate()
        return True

    def _agreed(self, own: bool) -> bool:
        """Whether the first process says so: clocks and signals differ between processes."""
        return self.world.total([float(own and self.world.first)])[0] > 0

    def _due(self, before: float, after: float) -> bool:
        """Whether an evaluation is due after this update."""
        if self.settings.evaluate_every:
            return self.progress.update % self.settings.evaluate_every == 0
        if self.settings.time_budget is None:
            return False
        p = self.progress
        if p.update < KNOWN_SPEED or not math.floor(before * 10) < math.floor(after * 10) < 10:
            return False
        return self._budget.is_affordable(p, self.job)

    def _update(self, group: Group[Batch], share: float) -> None:
        p = self.progress
        self._threads.begin()
        gradient = self.updater.gradient(group.batches, update=p.update)
        rate = p.rate_scale * learning_rate(self.settings, update=p.update, share=share)
        self.updater.step(gradient, update=p.update, rate=rate)
        self._threads.done(gradient.tokens)
        p.update += 1
        p.group += 1
        p.epoch_share = group.share
        p.tokens += gradient.tokens
        p.elapsed = self._clock(self._begun)
        self._judge(gradient.loss / max(1, gradient.predictions))
        latest = (gradient.loss, gradient.predictions, gradient.tokens, p.elapsed)
        p.recent = [*p.recent[1 - RECORD_EVERY :], latest]
        self._report(rate)

    def _clock(self, since: float) -> float:
        """Seconds since a moment, by the first process's clock."""
        return self.world.total([time.monotonic() - since if self.world.first else 0.0])[0]

    def _judge(self, loss: float) -> None:
        """Follow the smoothed loss; a long rise is treated as a loss that is not finite."""
        p = self.progress
        p.smooth_loss = loss if p.smooth_loss is None else _SMOOTHING * p.smooth_loss + (1 - _SMOOTHING) * loss
        p.lowest_loss = p.smooth_loss if p.lowest_loss is None else min(p.lowest_loss, p.smooth_loss)
        if p.smooth_loss > p.lowest_loss + DIVERGED:
            raise NotFinite(f"the loss rose from {p.lowest_loss:.2f} to {p.smooth_loss:.2f}")

    def _report(self, rate: float) -> None:
        """Tell the watcher about the last updates, and write a record now and then."""
        p = self.progress
        loss = sum(one[0] for one in p.recent) / max(1, sum(one[1] for one in p.recent))
        span = p.elapsed - p.recent[0][3]
        speed = sum(one[2] for one in p.recent[1:]) / span if span > 0 else 0.0
        figures: dict[str, Figure] = {
            "epoch": p.epoch + p.epoch_share,
            "update": p.update,
            f"{self.job.loss_name} loss": loss,
            "rate": rate,
            "tokens/s": speed,
        }
        self.watcher.step(self._share_at(p.elapsed), figures)  # of all: its end is the end of a time budget
        if p.update % RECORD_EVERY == 0:
            self._record("training", objective=self.job.loss_name, loss=loss, rate=rate, tokens_per_second=speed)
            give_back()

    def _record(self, kind: str, **figures: JSON) -> None:
        p = self.progress
        record: dict[str, JSON] = {"kind": kind, "update": p.update, "epoch": p.epoch + p.epoch_share}
        record |= {"tokens": p.tokens, "elapsed": p.elapsed, **figures}
        p.records.append(record)
        if self._log:
            self._log.add(record)

    def _evaluate(self) -> None:
        """Measure, keep the model if it is the best so far, and save."""
        p = self.progress
        self.updater.check()
        begun = time.monotonic()
        with self.updater.average.in_place():
            found = self.job.evaluate(self.world)
        p.evaluated_update = p.update
        best = p.best is None or (found.score > p.best if self.job.higher_is_better else found.score < p.best)
        if best:
            p.best, p.best_update, p.since_best = found.score, p.update, 0
        else:
            p.since_best += 1
        p.elapsed = self._clock(self._begun)
        self._record("heldout", **found.figures)
        remark: dict[str, Figure] = {"so far": "the best"} if best else {}
        self.watcher.result(f"update {p.update:,}: {self.job.score_name}", {**found.shown, **remark})
        if best and self.world.first:
            self._publish()
        pause = p.evaluation_seconds = self._clock(begun)
        self._budget.evaluated(p)
        p.elapsed = p.evaluated_elapsed = self._clock(self._begun)
        # The pause does not count against the speed of training.
        p.recent = [(loss, predictions, tokens, moment + pause) for loss, predictions, tokens, moment in p.recent]
        self._save()

    def _publish(self) -> None:
        with self.updater.average.in_place():
            self.job.publish()
        self.describe()

    def describe(self) -> None:
        """Bring the card, the metrics and the learning curve of the output up to date."""
        write_summary(self.job.output, self.progress.records, self.job.curve)
        self.job.describe(self.progress)

    def _save(self) -> None:
        self._saved = begun = time.monotonic()
        self.updater.check()
        if self.world.first:
            checkpoint.save(self.folder / checkpoint.FILE, self.progress, self.updater.state())
        self._budget.stored(begun, self.progress)

    def _restore(self) -> None:
        path = self.folder / checkpoint.FILE
        self.progress, state = checkpoint.load(path)
        self.job.limit_evaluation(self.progress.evaluation_share)
        self.updater.restore(state, where=str(path))

    def _roll_back(self, reason: str) -> None:
        """Return to the last checkpoint with half the learning rate."""
        now = self.progress
        if now.setbacks >= _MOST_SETBACKS:
            raise Diverged(
                f"training diverged {now.setbacks + 1} times, last at update {now.update:,} ({reason}), although the "
                f"rate was lowered to {now.rate_scale:.2g} of what was set; begin with a lower --learning-rate"
            )
        self.world.wait()
        self._restore()
        p = self.progress
        p.rate_scale, p.setbacks, p.elapsed = now.rate_scale / 2, now.setbacks + 1, now.elapsed
        self._record("setback", reason=reason, at_update=now.update, rate_scale=p.rate_scale)
        self.watcher.note(
            f"{reason} at update {now.update:,}; went back to update {p.update:,} with {p.rate_scale:.3g} of the rate"
        )
        self._save()
