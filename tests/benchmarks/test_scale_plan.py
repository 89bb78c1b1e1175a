"""The plan for large texts and its simulation, beside closed forms."""

from dataclasses import replace

import pytest

from benchmarks.scale_plan import HOUR, Figures, Setting, plan, table
from benchmarks.scale_simulation import SLOW_FACTOR, Cluster, simulate
from polyseme.scale import pool

FIGURES = Figures(tokens_per_second=1000, text_bytes=5, vector_bytes=1000, index_seconds=1e-4, index_bytes=600)
ALIKE = Cluster(machines=3, workers=2, spread=0, stragglers=0, hours_between_failures=1e9)


def test_the_slowest_decides() -> None:
    setting = Setting(processors=10, network=1e9, store=50e9, part_bytes=1e6)
    few = plan(5e12, 10, FIGURES, setting)  # 1e12 tokens, 100 processors, 1e15 bytes out
    assert few.hours == pytest.approx(1e12 / (1000 * 100) / HOUR)
    assert few.bottleneck == "processors"
    assert few.machine_network == pytest.approx((5e12 + 1e15) / 10 / (1e7))
    assert few.money == pytest.approx((few.hours + few.index_hours) * 100 * 0.04 + 2 * 5e6 / 1000 * 0.005)
    many = plan(5e12, 1000, FIGURES, setting)  # processors would need 1e5 s, the store 1.005e15 / 50e9 = 2e4 s
    assert (many.bottleneck, plan(5e12, 10_000, FIGURES, setting).bottleneck) == ("processors", "object store")
    assert plan(5e12, 10_000, FIGURES, setting).hours == pytest.approx(1.005e15 / 50e9 / HOUR)
    slow = plan(5e12, 10, FIGURES, Setting(processors=1000, network=1e8))
    assert slow.bottleneck == "network"
    assert slow.hours == pytest.approx(1.005e15 / 1e9 / HOUR)
    assert plan(5e12, 1000, FIGURES, Setting(part_bytes=1e3)).bottleneck == "requests"


def test_measured_figures_are_read() -> None:
    small = Figures.read("english-small", "float32", 4)
    assert small.vector_bytes == pytest.approx(4 * 256, abs=8)
    assert len(table(1e9, small, Setting(), [1, 2])) == 4


def test_without_failures_the_simulation_is_the_closed_form() -> None:
    assert simulate(600, 10.0, ALIKE) == pytest.approx(600 / 6 * 10)
    assert simulate(601, 10.0, ALIKE) == pytest.approx(101 * 10)
    assert simulate(1, 10.0, ALIKE) == pytest.approx(10)


def test_a_slow_machine_holds_up_the_end_only_without_second_copies() -> None:
    slow = Cluster(machines=20, workers=1, spread=0, stragglers=0.05, slowness=20, hours_between_failures=1e9)
    alone = replace(slow, second_copies=False)
    seed = next(seed for seed in range(100) if simulate(20, 10.0, alone, seed) > 10)  # one in which a machine is slow
    assert simulate(20, 10.0, alone, seed) == pytest.approx(200)
    assert simulate(20, 10.0, slow, seed) == pytest.approx(30)  # noticed after 20 s, done again in 10 s
    assert pool.SLOW == SLOW_FACTOR


def test_failures_cost_what_they_should() -> None:
    """Each machine is away for a known share of the time, and the parts it was at are done again."""
    failing = Cluster(
        machines=50, workers=4, spread=0, stragglers=0, hours_between_failures=2.0, minutes_to_return=20.0
    )
    seconds = simulate(200_000, 30.0, failing)
    ideal = 200_000 * 30 / 200
    away = (20 / 60) / (2 + 20 / 60)
    again = 15 / (2 * HOUR)  # half a part of each worker, at each failure
    assert seconds == pytest.approx(ideal / (1 - away) * (1 + again), rel=0.03)
