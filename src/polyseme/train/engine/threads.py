"""How many threads compute the updates of a run.

Where the kernels compute all large products, the weights are the same to the last bit whatever the number. It can then
follow the machine: beside other work, fewer threads are often faster than many.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from statistics import median

import torch

from polyseme.nn.kernels.threads import set_threads
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Batch, Job
from polyseme.train.engine.settings import RunSettings

ROUNDS = 4
"""Updates that are timed with each number before one is chosen."""
FIRST_PAUSE, LONGEST_PAUSE = 40, 1280
"""Updates between two choices: the pause doubles as long as the answer stays the same."""
CLEAR = 0.97
"""Another number is taken if its time is less than this share of the present one's."""
SLOWER = 1.3
"""It is measured again at once if updates take so many times longer than when the number was chosen."""
_RECENT = 8


class Threads:
    """Chooses the number of threads of each update.

    Args:
        numbers: To choose from, ascending; one is not measured.
        apply: Is called with a number before an update that uses it.
        clock: Seconds.
    """

    def __init__(
        self, numbers: Sequence[int], apply: Callable[[int], None], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._numbers, self._apply, self._clock = list(numbers), apply, clock
        self.chosen = self._numbers[-1]
        self._times: dict[int, list[float]] = {}  # seconds per token, of each number that is being measured
        self._recent: list[float] = []
        self._expected = 0.0
        self._wait, self._pause = 1, FIRST_PAUSE  # the very first update is not typical
        self._begun = 0.0

    def begin(self) -> None:
        """An update begins."""
        self._apply(self._next())
        self._begun = self._clock()

    def done(self, tokens: int) -> None:
        """The update is done, and has learnt from so many tokens."""
        if len(self._numbers) == 1:
            return
        taken = (self._clock() - self._begun) / max(1, tokens)
        if self._times:
            self._times[self._next()].append(taken)
            if min(map(len, self._times.values())) == ROUNDS:
                self._choose()
            return
        self._recent = [*self._recent[1 - _RECENT :], taken]
        self._wait -= 1
        slower = len(self._recent) == _RECENT and 0 < self._expected * SLOWER < median(self._recent)
        if self._wait <= 0 or slower:
            self._times = {number: [] for number in self._rivals()}

    def _next(self) -> int:
        """The number of this update: in turn, while they are measured."""
        return min(self._times, key=lambda number: len(self._times[number])) if self._times else self.chosen

    def _rivals(self) -> list[int]:
        """All numbers at first, later the chosen one and its neighbours."""
        if not self._expected:
            return self._numbers
        place = self._numbers.index(self.chosen)
        return self._numbers[max(0, place - 1) : place + 2]

    def _choose(self) -> None:
        found = {number: median(times) for number, times in self._times.items()}
        best = min(found, key=lambda number: found[number])
        changes = found[best] < CLEAR * found[self.chosen]
        self._pause = FIRST_PAUSE if changes or not self._expected else min(LONGEST_PAUSE, 2 * self._pause)
        self.chosen = best if changes else self.chosen
        self._expected, self._wait, self._times, self._recent = found[self.chosen], self._pause, {}, []


def choices(most: int) -> list[int]:
    """The numbers that are tried: 1, 2, 4... and the most."""
    return sorted({most, *(1 << power for power in range(most.bit_length()))} - {0})


@contextmanager
def run_threads(settings: RunSettings, job: Job[Batch], world: World) -> Iterator[Threads]:
    """The threads of a run; afterwards torch and the kernels use as many as before.

    If the kernels compute all large products, torch computes the rest with one thread, because its sums depend on the
    number of its threads. Otherwise, and where several processes wait for each other, ``auto`` is torch's own number.
    """
    before = torch.get_num_threads()
    auto = settings.threads == "auto"
    most = before if settings.threads == "auto" else settings.threads
    if job.in_kernels:
        numbers = choices(most) if auto and world.size == 1 else [most]
        torch.set_num_threads(1)
        apply: Callable[[int], None] = set_threads
    else:
        numbers, apply = [most], torch.set_num_threads
    try:
        apply(most)
        yield Threads(numbers, apply)
    finally:
        torch.set_num_threads(before)
        set_threads(None)
