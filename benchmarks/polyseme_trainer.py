"""polyseme's training as `polyseme.train` runs it; a watcher pauses the run until the next command."""

import os
import tempfile
import threading
import time
import traceback
from collections.abc import Mapping
from queue import Queue
from typing import Any

import torch

from benchmarks.process import serve
from polyseme.progress import Figure, Watcher
from polyseme.train.lm.run import train


class Holder(Watcher):
    """Lets the run make as many updates as a command asks for, and no more."""

    def __init__(self) -> None:
        self.orders: Queue[int] = Queue()
        self.ended: Queue[float] = Queue()
        self._left = 0
        self._epoch_tokens = 0.0
        self.tokens = 0.0
        """Words trained on so far, markers not counted."""

    def result(self, what: str, figures: Mapping[str, Figure]) -> None:
        """The text is read; wait for the first command."""
        if what == "text":
            self._epoch_tokens = float(figures["training tokens"])
            self.ended.put(time.perf_counter())
            self._left = self.orders.get()

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        """Count an update, and wait after the last one of a command."""
        if "update" not in figures:  # the text is being counted
            return
        self.tokens = float(figures["epoch"]) * self._epoch_tokens
        self._left -= 1
        if not self._left:
            self.ended.put(time.perf_counter())
            self._left = self.orders.get()


class PolysemeTrainer:
    """One run in one precision and the commands it answers."""

    def __init__(self) -> None:
        self.holder = Holder()
        self.folder = tempfile.TemporaryDirectory()

    def load(self, path: str, rows: int, steps: int, **settings: Any) -> dict[str, int]:
        """Read a text and set up the model."""
        # As a user gets it: whole sentences, as many tokens a batch as the other side has.
        given = {"batch_tokens": rows * steps, "min_count": 1, "preset": "small", **settings}
        # Nothing but updates: no held-out figures and no checkpoints on the way.
        given |= {"updates": 1_000_000, "evaluate_every": 1_000_000, "epochs": 1000, "checkpoint_every": "30d"}
        threading.Thread(target=self._train, args=(path, given), daemon=True).start()
        self.holder.ended.get()
        return {"threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make this many updates."""
        start, tokens = time.perf_counter(), self.holder.tokens
        self.holder.orders.put(updates)
        return {"seconds": self.holder.ended.get() - start, "tokens": self.holder.tokens - tokens}

    def _train(self, path: str, settings: dict[str, Any]) -> None:
        try:
            train([path], f"{self.folder.name}/model", tokenize="none", watcher=self.holder, **settings)
        except BaseException:
            traceback.print_exc()
            self.folder.cleanup()
            os._exit(1)  # else the other thread waits for ever


if __name__ == "__main__":
    worker = PolysemeTrainer()
    serve({"load": worker.load, "run": worker.run})
    worker.folder.cleanup()
    os._exit(0)  # the run is still held
