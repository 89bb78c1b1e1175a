"""The training loop, from the first update to the last."""

import math
import time
from pathlib import Path
from typing import Any

from polyseme.errors import Diverged
from polyseme.models.model import Model
from polyseme.train.engine import checkpoint
from polyseme.train.engine.checkpoint import Progress
from polyseme.train.engine.distributed import World
from polyseme.train.engine.memory import give_back
from polyseme.train.engine.records import Log
from polyseme.train.engine.schedule import learning_rate, share_done
from polyseme.train.engine.update import Updater, WentWrong
from polyseme.train.engine.watcher import Step, Watcher
from polyseme.train.lm.batches import Place
from polyseme.train.lm.evaluate import evaluate_heldout
from polyseme.train.lm.initial_model import set_trained, softmax_kind
from polyseme.train.lm.publish import publish
from polyseme.train.lm.settings import Settings
from polyseme.train.lm.text_store import TextStore, pieces

RECORD_EVERY = 20
"""Updates that make one training record."""
_SMOOTHING = 0.98
_DIVERGED = 1.0  # nats above the lowest smoothed loss
_MOST_SETBACKS = 8
_EVALUATION_SHARE = 0.1  # of a time budget that held-out figures on the way may take


class Trainer:
    """Trains one model on one text.

    Args:
        model: To be trained in place.
        store: The text.
        settings: The run's.
        world: The processes that take part.
        folder: Where checkpoints and the log go.
        output: The model folder.
        watcher: Told what happens.
    """

    def __init__(
        self,
        model: Model,
        store: TextStore,
        settings: Settings,
        *,
        world: World,
        folder: Path,
        output: Path,
        watcher: Watcher,
    ) -> None:
        self.model, self.store, self.settings = model, store, settings
        self.world, self.folder, self.output, self.watcher = world, folder, output, watcher
        self.kind = softmax_kind(settings, len(store.vocabulary)) if not model.config.softmax_cutoffs else "adaptive"
        self.bilm = model.bilm.to(world.device)
        set_trained(self.bilm, settings.freeze)
        self.updater = Updater(self.bilm, store, settings, world, kind=self.kind)
        self.heldout = pieces(store.heldout, settings.max_sentence)
        self.progress = Progress()
        self.interrupted = False
        """Set from outside, by a signal's handler: save and stop after this update."""

    def run(self, *, resume: bool) -> bool:
        """Train until done; gives whether the run came to its end, rather than being interrupted."""
        if resume and (self.folder / checkpoint.FILE).exists():
            self._restore()
            self.watcher.note(f"going on after update {self.progress.update:,}, epoch {self.progress.epoch + 1}")
        else:
            self._save()
        self.log = Log(self.folder, self.progress.records) if self.world.first else None
        self._began = time.monotonic() - self.progress.elapsed
        self._saved = time.monotonic()
        try:
            while True:
                try:
                    if not self._finished():
                        if not self._epoch():
                            return False
                    elif self.progress.evaluated_update != self.progress.update:
                        self._evaluate()
                    else:
                        return True
                except WentWrong as reason:
                    self._roll_back(str(reason))
        finally:
            if self.log:
                self.log.close()

    def _finished(self) -> bool:
        return self._share() >= 1.0 or self.progress.since_best >= self.settings.patience

    def _share(self) -> float:
        p = self.progress
        # The last held-out figure has to fit into a time budget too.
        elapsed = p.elapsed + min(p.evaluation_seconds, (self.settings.time_budget or 0.0) / 2)
        return share_done(self.settings, epoch=p.epoch, epoch_share=p.epoch_share, update=p.update, elapsed=elapsed)

    def _epoch(self) -> bool:
        """Go on to the end of the epoch or of the run; False when interrupted."""
        p = self.progress
        if p.group == 0:
            self.updater.objective.forget()
        for epoch_share, places in self.updater.stream.groups(p.epoch, p.group):
            share = self._share()
            self._update(places, share)
            p.group += 1
            p.epoch_share = epoch_share
            if self._due(share, self._share()):
                self._evaluate()
            elif self._agreed(time.monotonic() - self._saved > self.settings.checkpoint_every):
                self._save()
            if self._agreed(self.interrupted):
                self._save()
                if self.world.first and not self.output.exists():
                    publish(self.model, self.output, self.store.facts, self.settings, p, self.kind)
                return False
            if self._finished() and epoch_share < 1.0:
                return True
        p.epoch, p.group, p.epoch_share = p.epoch + 1, 0, 0.0
        if self.settings.evaluate_every is None and p.evaluated_update != p.update:
            self._evaluate()
        return True

    def _agreed(self, own: bool) -> bool:
        """Whether the first process says so: clocks and signals differ between processes."""
        return self.world.total([float(own and self.world.first)])[0] > 0

    def _due(self, before: float, after: float) -> bool:
        """Whether a held-out figure is due after this update."""
        if self.settings.evaluate_every:
            return self.progress.update % self.settings.evaluate_every == 0
        if self.settings.time_budget is None:
            return False
        p = self.progress
        affordable = p.evaluation_seconds < _EVALUATION_SHARE * (p.elapsed - p.evaluated_elapsed)
        return affordable and math.floor(before * 10) < math.floor(after * 10) < 10

    def _update(self, places: list[Place], share: float) -> None:
        p = self.progress
        gradient = self.updater.gradient(places, update=p.update)
        rate = p.rate_scale * learning_rate(self.settings, update=p.update, share=share)
        self.updater.step(gradient, rate=rate)
        p.update += 1
        p.tokens += gradient.predictions // 2
        p.elapsed = self._clock(self._began)
        self._judge(gradient.loss / max(1, gradient.predictions))
        self._report(gradient.loss, gradient.predictions, rate)

    def _clock(self, since: float) -> float:
        """Seconds since a moment, by the first process's clock."""
        return self.world.total([time.monotonic() - since if self.world.first else 0.0])[0]

    def _judge(self, loss: float) -> None:
        """Follow the smoothed loss, and call a long rise what it is."""
        p = self.progress
        p.smooth_loss = loss if p.smooth_loss is None else _SMOOTHING * p.smooth_loss + (1 - _SMOOTHING) * loss
        p.lowest_loss = p.smooth_loss if p.lowest_loss is None else min(p.lowest_loss, p.smooth_loss)
        if p.smooth_loss > p.lowest_loss + _DIVERGED:
            raise WentWrong(f"the loss rose from {p.lowest_loss:.2f} to {p.smooth_loss:.2f}")

    def _report(self, total: float, predictions: int, rate: float) -> None:
        p = self.progress
        p.recent = [*p.recent[1 - RECORD_EVERY :], [total, predictions, p.elapsed]]
        loss = sum(one[0] for one in p.recent) / max(1.0, sum(one[1] for one in p.recent))
        span = p.elapsed - p.recent[0][2]
        speed = sum(one[1] for one in p.recent[1:]) / 2 / span if span > 0 else 0.0
        share = self._share()
        left = p.elapsed * (1 - share) / share if share > 0 else math.inf
        epoch = p.epoch + p.epoch_share
        if self.world.first:
            self.watcher.step(Step(p.update, epoch, share, self.kind, loss, rate, speed, left))
        if p.update % RECORD_EVERY == 0:
            self._record("training", objective=self.kind, loss=loss, rate=rate, tokens_per_second=speed)
            give_back()

    def _record(self, kind: str, **facts: Any) -> None:
        p = self.progress
        head = {"kind": kind, "update": p.update, "epoch": p.epoch + p.epoch_share, "tokens": p.tokens}
        record = {**head, "elapsed": p.elapsed, **facts}
        p.records.append(record)
        if self.log:
            self.log.add(record)

    def _evaluate(self) -> None:
        """Measure the held-out text, keep the model if it is the best so far, and save."""
        p = self.progress
        self.updater.check()
        begun = time.monotonic()
        result = evaluate_heldout(
            self.bilm,
            self.store,
            self.heldout,
            tokens=self.settings.heldout_tokens,
            batch_tokens=2 * self.settings.batch_tokens,
            world=self.world,
        )
        p.evaluated_update = p.update
        best = p.best is None or result.average < p.best
        if best:
            p.best, p.best_update, p.since_best = result.average, p.update, 0
        else:
            p.since_best += 1
        p.elapsed = p.evaluated_elapsed = self._clock(self._began)
        p.evaluation_seconds = self._clock(begun)
        facts = result.to_dict()
        self._record("heldout", softmax="full", heldout_tokens=facts.pop("tokens"), **facts)
        if self.world.first:
            if best:
                publish(self.model, self.output, self.store.facts, self.settings, p, self.kind)
            self.watcher.evaluated(result, update=p.update, best=best)
        pause = self._clock(begun)  # does not count against the speed of training
        p.recent = [[total, predictions, moment + pause] for total, predictions, moment in p.recent]
        self._save()

    def _save(self) -> None:
        self._saved = time.monotonic()
        self.updater.check()
        if self.world.first:
            checkpoint.save(self.folder / checkpoint.FILE, self.progress, self.updater.state())

    def _restore(self) -> None:
        self.progress, state = checkpoint.load(self.folder / checkpoint.FILE)
        self.updater.restore(state)

    def _roll_back(self, reason: str) -> None:
        """Go back to the last checkpoint with half the learning rate."""
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
