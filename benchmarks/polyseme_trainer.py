"""polyseme's training as `polyseme.train` runs it; a watcher holds the run until the next order."""

import os
import tempfile
import threading
import time
import traceback
from queue import Queue
from typing import Any

import torch

from benchmarks.process import serve
from polyseme.train.run import train
from polyseme.train.watcher import Step, Watcher


class Holder(Watcher):
    """Lets the run make as many updates as are ordered, and no more."""

    def __init__(self) -> None:
        self.orders: Queue[int] = Queue()
        self.ended: Queue[float] = Queue()
        self._left = 0

    def counted(self, facts: dict[str, int | float]) -> None:
        """The text is read; wait for the first order."""
        self.ended.put(time.perf_counter())
        self._left = self.orders.get()

    def step(self, step: Step) -> None:
        """Count an update, and wait after the last one that was ordered."""
        self._left -= 1
        if not self._left:
            self.ended.put(time.perf_counter())
            self._left = self.orders.get()


class PolysemeTrainer:
    """One run in one precision and the orders it answers."""

    def __init__(self) -> None:
        self.holder = Holder()
        self.folder = tempfile.TemporaryDirectory()

    def load(self, path: str, rows: int, steps: int, **settings: Any) -> dict[str, int]:
        """Read a text and set up the model."""
        self.tokens = rows * steps
        given = {"layout": "rows", "rows": rows, "steps_a_row": steps, "min_count": 1, "preset": "small", **settings}
        # Nothing but updates: no held-out figures and no checkpoints on the way.
        given |= {"updates": 1_000_000, "evaluate_every": 1_000_000, "epochs": 1000, "checkpoint_every": "30d"}
        threading.Thread(target=self._train, args=(path, given), daemon=True).start()
        self.holder.ended.get()
        return {"threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make so many updates."""
        start = time.perf_counter()
        self.holder.orders.put(updates)
        return {"seconds": self.holder.ended.get() - start, "tokens": updates * self.tokens}

    def _train(self, path: str, settings: dict[str, Any]) -> None:
        try:
            train([path], f"{self.folder.name}/model", watcher=self.holder, **settings)
        except BaseException:
            traceback.print_exc()
            self.folder.cleanup()
            os._exit(1)  # else the other thread waits for ever


if __name__ == "__main__":
    worker = PolysemeTrainer()
    serve({"load": worker.load, "run": worker.run})
    worker.folder.cleanup()
    os._exit(0)  # the run is still held
