"""Training steps of polyseme's translator, as the engine makes them."""

from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter, process_time

import torch

from benchmarks.process import serve
from polyseme.progress import Watcher
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Group
from polyseme.train.engine.update import Updater
from polyseme.train.translate.batches import Numbers
from polyseme.train.translate.plan import PairSource, TranslatePlan
from polyseme.train.translate.settings import TranslateSettings


class PolysemeTrainer:
    """One network in one precision and the commands it answers."""

    def load(self, folder: str, precision: str, softmax: str) -> dict[str, int]:
        """Open prepared pairs (the folder ``pairs`` of a work folder) and set up the network."""
        self.settings = TranslateSettings.model_validate({"precision": precision, "softmax": softmax})
        self.output = TemporaryDirectory()
        source = PairSource(parallel=[], vectors="")
        plan = TranslatePlan(source, self.settings, Path(self.output.name, "model"))
        world = World()
        self.job = plan.open(Path(folder).parent, self.settings, world, Watcher())
        self.updater = Updater(self.job, self.settings, world)
        self.groups, self.update = self._groups(), 0
        return {"threads": torch.get_num_threads()}

    def run(self, updates: int) -> dict[str, float]:
        """Make this many updates; gives seconds, processor seconds and target words."""
        clock, processor, tokens = perf_counter(), process_time(), 0
        for _ in range(updates):
            gradient = self.updater.gradient(next(self.groups).batches, update=self.update)
            self.updater.step(gradient, update=self.update, rate=self.settings.learning_rate)
            self.update += 1
            tokens += gradient.tokens
        return {"seconds": perf_counter() - clock, "processor": process_time() - processor, "tokens": tokens}

    def _groups(self) -> Iterator[Group[Numbers]]:
        return (group for epoch in range(1000) for group in self.job.groups(epoch, 0))


if __name__ == "__main__":
    worker = PolysemeTrainer()
    serve({"load": worker.load, "run": worker.run})
