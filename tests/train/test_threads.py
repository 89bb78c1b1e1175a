"""The number of threads: the same weights with any, and the fastest is found."""

from collections.abc import Callable, Mapping
from itertools import pairwise
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
import torch
from chains import MINI, Chain, write
from safetensors.torch import load_file

from polyseme.errors import InputError
from polyseme.nn.backend import available
from polyseme.nn.kernels import threads as kernel_threads
from polyseme.progress import Figure, Watcher
from polyseme.train.engine.distributed import World
from polyseme.train.engine.job import Job
from polyseme.train.engine.threads import FIRST_PAUSE, LONGEST_PAUSE, ROUNDS, Threads, choices, run_threads
from polyseme.train.lm.run import train
from polyseme.train.lm.settings import settings_of


@pytest.mark.parametrize("precision", ["float32", "bfloat16"])
@pytest.mark.parametrize(
    "settings", [{"softmax": "sampled"}, {"softmax": "full"}, {"layout": "rows", "softmax": "adaptive"}], ids=str
)
def test_the_weights_are_the_same_to_the_last_bit(precision: Any, settings: dict[str, Any], tmp_path: Path) -> None:
    if not available(precision):
        pytest.skip(f"no {precision} kernel on this machine")
    # Wide enough that every product is divided into several parts.
    size = {"hidden_dim": 150, "projection_dim": 80, "filters": "1:30,2:90", "batch_tokens": 700, "dropout": 0.1}
    text = write(tmp_path / "text.txt", Chain().sentences(600, seed=1))
    found = []
    for threads in (1, 2, 3, 4):
        output = tmp_path / f"model-{threads}"
        given = {**MINI, **size, **settings, "precision": precision, "threads": threads}
        train([text], output, updates=4, **given)
        found.append(load_file(output / "model.safetensors"))
    for other in found[1:]:
        assert all(torch.equal(found[0][name], other[name]) for name in found[0])
    assert kernel_threads.threads() == torch.get_num_threads()


class Noting(Watcher):
    """Notes the threads of torch and of the kernels at each step."""

    def __init__(self) -> None:
        self.seen: list[tuple[int, int]] = []

    def step(self, share: float | None, figures: Mapping[str, Figure]) -> None:
        self.seen.append((torch.get_num_threads(), kernel_threads.threads()))


def test_a_run_leaves_the_number_of_threads_as_it_was(tmp_path: Path) -> None:
    text = write(tmp_path / "text.txt", Chain().sentences(200, seed=1))
    before, noting = torch.get_num_threads(), Noting()
    train([text], tmp_path / "model", watcher=noting, **{**MINI, "updates": 2, "precision": "float32", "threads": 3})
    assert noting.seen[-1] == ((1, 3) if available("float32") else (3, 3))
    assert torch.get_num_threads() == before == kernel_threads.threads()


def test_a_job_outside_the_kernels_leaves_the_threads_to_torch() -> None:
    job, before = cast("Job[Any]", SimpleNamespace(in_kernels=False)), torch.get_num_threads()
    with run_threads(settings_of(threads=3), job, World()):
        assert torch.get_num_threads() == kernel_threads.threads() == 3
    with run_threads(settings_of(), job, World()) as threads:
        threads.begin()
        assert torch.get_num_threads() == threads.chosen == before
    assert torch.get_num_threads() == before


@pytest.mark.parametrize("threads", [0, "many"])
def test_a_number_that_cannot_be_is_refused(threads: Any) -> None:
    with pytest.raises(InputError, match="setting threads: "):
        settings_of(threads=threads)
    assert settings_of(threads="2").threads == 2


def test_numbers_to_try() -> None:
    assert choices(1) == [1]
    assert choices(2) == [1, 2]
    assert choices(6) == [1, 2, 4, 6]


class Machine:
    """A clock that goes on by what an update takes with the number of threads of the moment."""

    def __init__(self, numbers: list[int], seconds: Callable[[int, int], float]) -> None:
        self.now, self.used, self.seconds = 0.0, list[int](), seconds
        self.threads = Threads(numbers, self.used.append, lambda: self.now)

    def run(self, updates: int) -> list[int]:
        """The number of threads of each update."""
        for _ in range(updates):
            self.threads.begin()
            self.now += self.seconds(self.used[-1], len(self.used))
            self.threads.done(100)
        return self.used[-updates:]


def test_the_fastest_number_is_taken_and_measured_more_and_more_rarely() -> None:
    machine = Machine([1, 2], lambda number, _: 1.0 if number == 1 else 1.6)
    machine.run(1 + 2 * ROUNDS)
    assert machine.threads.chosen == 1
    used = machine.run(20 * LONGEST_PAUSE)
    slow = [place for place, number in enumerate(used) if number == 2]
    pauses = [after - before for before, after in pairwise(slow) if after - before > 2 * ROUNDS]
    assert pauses[0] < 3 * FIRST_PAUSE < LONGEST_PAUSE < pauses[-1]
    assert len(slow) < 0.01 * len(used)


def test_it_follows_the_machine() -> None:
    busy = range(300, 600)  # other work begins and ends
    machine = Machine(
        [1, 2], lambda number, update: 1.0 / number if update not in busy else (1.2 if number == 1 else 3.0)
    )
    assert machine.run(290)[-50:] == [2] * 50
    assert machine.run(290)[-200:].count(1) >= 200 - 2 * ROUNDS
    assert machine.run(2 * LONGEST_PAUSE)[-1] == 2


def test_single_slow_updates_and_small_differences_change_nothing() -> None:
    machine = Machine([1, 2], lambda number, update: 9.0 if update % 7 == 0 else (1.0 if number == 2 else 0.99))
    machine.run(2000)
    assert machine.threads.chosen == 2


def test_many_cores_are_tried_once_and_then_only_the_neighbours() -> None:
    machine = Machine(choices(64), lambda number, _: abs(number - 8) + 10.0)
    first = machine.run(1 + 7 * ROUNDS)
    assert set(first) == {1, 2, 4, 8, 16, 32, 64}
    assert set(machine.run(500)) == {4, 8, 16}


def test_one_number_is_never_measured() -> None:
    machine = Machine([3], lambda *_: 1.0)
    assert set(machine.run(50)) == {3}
