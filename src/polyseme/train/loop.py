"""The training loop, from the first update to the last."""

import math
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from polyseme.errors import PolysemeError
from polyseme.formats.model import Model
from polyseme.nn.sampled_softmax import Negatives
from polyseme.train import checkpoint
from polyseme.train.build import set_trained, softmax_kind
from polyseme.train.checkpoint import Progress
from polyseme.train.distributed import World
from polyseme.train.evaluate import evaluate_heldout
from polyseme.train.objective import Objective, RowGradient
from polyseme.train.optimizers import Optimizer, clip_norm, merge
from polyseme.train.publish import publish
from polyseme.train.records import Log
from polyseme.train.schedule import learning_rate, share_done
from polyseme.train.settings import Settings
from polyseme.train.stream import Place, open_stream
from polyseme.train.text_store import TextStore, pieces
from polyseme.train.watcher import Step, Watcher

RECORD_EVERY = 20
"""Updates that make one training record."""
_SMOOTHING = 0.98
_DIVERGED = 1.0  # nats above the lowest smoothed loss
_MOST_SETBACKS = 8
_EVALUATION_SHARE = 0.02  # of a time budget, for each of its ten held-out figures


class Diverged(PolysemeError):  # noqa: N818 - it says what happened
    """Training went wrong again and again, however low the learning rate."""


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
        self.objective = Objective(self.bilm, store, dropout=settings.dropout, device=world.device)
        self.optimizer = Optimizer(self.bilm, settings, by_rows=self.kind == "sampled")
        self.stream = open_stream(store.training, settings, world.size * settings.accumulate)
        self.heldout = pieces(store.heldout, settings.max_sentence)
        self.progress = Progress()
        self.interrupted = False
        """Set from outside, by a signal's handler: save and stop after this update."""

    def run(self, *, resume: bool) -> bool:
        """Train until done; gives whether the run came to its end, rather than being interrupted."""
        path = self.folder / checkpoint.FILE
        if resume and path.exists():
            self._restore(*checkpoint.load(path))
            self.watcher.note(f"going on after update {self.progress.update:,}, epoch {self.progress.epoch + 1}")
        else:
            self._save()
        self.log = Log(self.folder, self.progress.records) if self.world.first else None
        self._began = time.monotonic() - self.progress.elapsed
        self._saved = time.monotonic()
        try:
            while not self._finished():
                try:
                    if not self._epoch():
                        return False
                except _NotFinite as reason:
                    self._roll_back(str(reason))
            if self.progress.evaluated_update != self.progress.update:
                self._evaluate()
            return True
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
            self.objective.forget()
        for epoch_share, places in self.stream.groups(p.epoch, p.group):
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
        if self.settings.evaluate_every is None:
            self._evaluate()
        return True

    def _agreed(self, own: bool) -> bool:
        """Whether the first process says so: clocks and signals differ between processes."""
        return self.world.total([float(own and self.world.first)])[0] > 0

    def _due(self, before: float, after: float) -> bool:
        """Whether a held-out figure is due after this update."""
        if self.settings.evaluate_every:
            return self.progress.update % self.settings.evaluate_every == 0
        tenths = [math.floor(share * 10) for share in (before, after)]
        budget = self.settings.time_budget
        affordable = budget is not None and self.progress.evaluation_seconds < _EVALUATION_SHARE * budget
        return affordable and tenths[0] < tenths[1] < 10

    def _update(self, places: list[Place], share: float) -> None:
        """One update: the gradients of all batches of a group, summed over processes, and a step."""
        p, settings = self.progress, self.settings
        negatives = None
        if self.kind == "sampled":
            # Drawn from the number of the update alone: the same for every process, and after resuming.
            generator = np.random.default_rng([settings.seed, 1, p.update])
            negatives = Negatives.draw(settings.samples, len(self.store.vocabulary), generator)
        seed = np.random.SeedSequence([settings.seed, 2, p.update, self.world.rank])
        torch.manual_seed(int(seed.generate_state(1)[0]))
        for parameter in self.optimizer.dense:
            parameter.grad = None
        total, predictions = 0.0, 0
        gradients: list[RowGradient] = []
        for place in places[self.world.rank :: self.world.size]:
            batch = self.stream.read(place)
            with torch.autocast(self.world.device.type, dtype=torch.bfloat16, enabled=settings.precision == "bfloat16"):
                loss = self.objective(batch, negatives)
            loss.total.backward()
            if (rows := loss.row_gradient()) is not None:
                gradients.append(rows)
            total += loss.total.item()
            predictions += loss.predictions
        elapsed = (time.monotonic() - self._began) if self.world.first else 0.0
        total, all_predictions, p.elapsed = self.world.total([total, predictions, elapsed])
        if not math.isfinite(total):
            raise _NotFinite(f"the loss became {total}")
        reduced = self.world.reduce(self.optimizer.dense, merge(gradients), by_rows=self.kind == "sampled")
        scale = (settings.steps_a_row if settings.optimizer == "adagrad" else 1) / max(1.0, all_predictions)
        norm = clip_norm(self.optimizer.dense, reduced, scale=scale, limit=settings.clip)
        if not math.isfinite(norm):
            raise _NotFinite(f"the norm of the gradient became {norm}")
        rate = p.rate_scale * learning_rate(settings, update=p.update, share=share)
        self.optimizer.step(rate, reduced)
        p.update += 1
        p.tokens += int(all_predictions / 2)
        self._judge(total / max(1.0, all_predictions))
        self._report(total, int(all_predictions), rate)

    def _judge(self, loss: float) -> None:
        """Follow the smoothed loss, and call a long rise what it is."""
        p = self.progress
        p.smooth_loss = loss if p.smooth_loss is None else _SMOOTHING * p.smooth_loss + (1 - _SMOOTHING) * loss
        p.lowest_loss = p.smooth_loss if p.lowest_loss is None else min(p.lowest_loss, p.smooth_loss)
        if p.smooth_loss > p.lowest_loss + _DIVERGED:
            raise _NotFinite(f"the loss rose from {p.lowest_loss:.2f} to {p.smooth_loss:.2f}")

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
        if not self._weights_finite():
            raise _NotFinite("weights became infinite")
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
        now = time.monotonic()
        clocks = [now - self._began, now - begun] if self.world.first else [0.0, 0.0]
        p.elapsed, p.evaluation_seconds = self.world.total(clocks)
        self._record("heldout", softmax="full", **result.facts())
        if self.world.first:
            if best:
                publish(self.model, self.output, self.store.facts, self.settings, p, self.kind)
            self.watcher.evaluated(result, update=p.update, best=best)
        self._save()

    def _weights_finite(self) -> bool:
        return all(bool(torch.isfinite(parameter).all()) for parameter in self.bilm.parameters())

    def _save(self) -> None:
        self._saved = time.monotonic()
        if self.progress.update and not self._weights_finite():
            raise _NotFinite("weights became infinite")
        if not self.world.first:
            return
        state = {
            "model": self.bilm.state_dict(),
            "optimizer": self.optimizer.state(),
            "carried": self.objective.carried,
        }
        checkpoint.save(self.folder / checkpoint.FILE, self.progress, state)

    def _restore(self, progress: Progress, state: dict[str, Any]) -> None:
        self.progress = progress
        self.bilm.load_state_dict(state["model"])
        self.optimizer.restore(state["optimizer"])
        carried = state["carried"] if self.world.first else {}
        self.objective.carried = _moved(carried, self.world.device)

    def _roll_back(self, reason: str) -> None:
        """Go back to the last checkpoint with half the learning rate."""
        now = self.progress
        if now.setbacks >= _MOST_SETBACKS:
            raise Diverged(
                f"training diverged {now.setbacks + 1} times, last at update {now.update:,} ({reason}), although the "
                f"rate was lowered to {now.rate_scale:.2g} of what was set; begin with a lower --learning-rate"
            )
        self.world.wait()
        progress, state = checkpoint.load(self.folder / checkpoint.FILE)
        self._restore(progress, state)
        p = self.progress
        p.rate_scale, p.setbacks, p.elapsed = now.rate_scale / 2, now.setbacks + 1, now.elapsed
        self._record("setback", reason=reason, at_update=now.update, rate_scale=p.rate_scale)
        self.watcher.note(
            f"{reason} at update {now.update:,}; went back to update {p.update:,} with {p.rate_scale:.3g} of the rate"
        )
        self._save()


class _NotFinite(Exception):  # noqa: N818 - caught within the loop
    """The run has gone wrong and must go back."""


def _moved(value: Any, device: torch.device) -> Any:
    """Nested containers of tensors on another device."""
    if isinstance(value, torch.Tensor):
        return value.to(device)
    if isinstance(value, dict):
        return {key: _moved(one, device) for key, one in value.items()}
    if isinstance(value, list | tuple):
        return type(value)(_moved(one, device) for one in value)
    return value
