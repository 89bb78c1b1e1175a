"""A simulation of `polyseme.scale.pool` on machines of different speed that fail now and then.

Time is simulated, so that a thousand machines take seconds. The rules are those of the pool: a worker has one part at a
time; the part of a lost worker is done again first; when no part is waiting, one that takes twice as long as half of
the others is given to a second worker, and the first that finishes counts.
"""

import heapq
import random
import statistics
from collections import deque
from dataclasses import dataclass

SLOW_FACTOR = 2.0
"""As in `polyseme.scale.pool`."""


@dataclass(frozen=True)
class Cluster:
    """Machines as they are.

    Attributes:
        machines: How many.
        workers: On each.
        spread: Standard deviation of the logarithm of a machine's speed, whose mean is 1.
        stragglers: Share of machines that are much slower.
        slowness: How many times slower those are.
        hours_between_failures: Of one machine, on average; it takes all its workers with it.
        minutes_to_return: Until a failed machine works again.
        second_copies: Whether slow parts are given to a second worker.
    """

    machines: int
    workers: int = 16
    spread: float = 0.1
    stragglers: float = 0.01
    slowness: float = 3.0
    hours_between_failures: float = 500.0
    minutes_to_return: float = 10.0
    second_copies: bool = True


class _Run:
    """One simulated run."""

    def __init__(self, parts: int, seconds: float, cluster: Cluster, seed: int) -> None:
        drawn = random.Random(seed)
        self._cluster, self._seconds, self._random = cluster, seconds, drawn
        self._waiting = deque(range(parts))
        self._open = set(range(parts))
        self._speed = [drawn.lognormvariate(-(cluster.spread**2) / 2, cluster.spread) for _ in range(cluster.machines)]
        for machine in range(cluster.machines):
            if drawn.random() < cluster.stragglers:
                self._speed[machine] /= cluster.slowness
        self._running: dict[int, tuple[int, float]] = {}  # worker: part, begun
        self._copies: dict[int, int] = {}
        self._generation = [0] * cluster.machines
        self._events: list[tuple[float, int, str, int, int]] = []
        self._number = 0
        self._took: list[float] = []
        self._idle: list[int] = []
        self._next_look = 0.0  # before then no part becomes slow

    def run(self) -> float:
        """The seconds until the last part is done."""
        cluster, now = self._cluster, 0.0
        for machine in range(cluster.machines):
            self._push(self._random.expovariate(1 / (cluster.hours_between_failures * 3600)), "fails", machine)
            for worker in range(machine * cluster.workers, (machine + 1) * cluster.workers):
                self._give(worker, now)
        while self._open:
            now, _, what, subject, generation = heapq.heappop(self._events)
            machine = subject // cluster.workers if what == "done" else subject
            if what == "done":
                if generation == self._generation[machine] and subject in self._running:
                    self._finish(subject, now)
            elif what == "fails":
                self._fail(machine, now)
            elif what == "returns":
                self._push(
                    now + self._random.expovariate(1 / (cluster.hours_between_failures * 3600)), "fails", machine
                )
                for worker in range(machine * cluster.workers, (machine + 1) * cluster.workers):
                    self._give(worker, now)
            else:
                self._copy_slow(now)
        return now

    def _push(self, time: float, what: str, subject: int, generation: int = 0) -> None:
        self._number += 1
        heapq.heappush(self._events, (time, self._number, what, subject, generation))

    def _give(self, worker: int, now: float) -> None:
        while self._waiting:
            part = self._waiting.popleft()
            if part in self._open:
                self._start(worker, part, now)
                return
        self._idle.append(worker)
        self._copy_slow(now)

    def _start(self, worker: int, part: int, now: float) -> None:
        machine = worker // self._cluster.workers
        self._running[worker] = part, now
        self._copies[part] = self._copies.get(part, 0) + 1
        self._push(now + self._seconds / self._speed[machine], "done", worker, self._generation[machine])

    def _finish(self, worker: int, now: float) -> None:
        part, begun = self._running.pop(worker)
        self._copies[part] -= 1
        if part in self._open:
            self._open.remove(part)
            if len(self._took) < 10_000:  # enough for a median
                self._took.append(now - begun)
        self._give(worker, now)

    def _fail(self, machine: int, now: float) -> None:
        workers = range(machine * self._cluster.workers, (machine + 1) * self._cluster.workers)
        self._generation[machine] += 1
        self._idle = [worker for worker in self._idle if worker not in workers]
        for worker in workers:
            if worker in self._running:
                part, _ = self._running.pop(worker)
                self._copies[part] -= 1
                if part in self._open and not self._copies[part]:
                    self._waiting.appendleft(part)
        self._push(now + 60 * self._cluster.minutes_to_return, "returns", machine)
        while self._idle and self._waiting:
            self._give(self._idle.pop(), now)

    def _copy_slow(self, now: float) -> None:
        """Give the slowest part to an idle worker, or look again when the next one has become slow."""
        if not self._cluster.second_copies or not self._took or now < self._next_look:
            return
        usual = SLOW_FACTOR * statistics.median(self._took)
        alone = sorted((begun, part) for part, begun in self._running.values() if self._copies[part] == 1)
        for begun, part in alone:
            if part not in self._open or not self._idle:
                continue
            if now < begun + usual:
                self._next_look = begun + usual
                self._push(self._next_look, "look", 0)
                return
            self._start(self._idle.pop(), part, now)


def simulate(parts: int, seconds: float, cluster: Cluster, seed: int = 0) -> float:
    """Seconds that a run takes.

    Args:
        parts: How many.
        seconds: That a worker of a machine of speed 1 takes for one.
        cluster: The machines.
        seed: Of what is random.
    """
    return _Run(parts, seconds, cluster, seed).run()
