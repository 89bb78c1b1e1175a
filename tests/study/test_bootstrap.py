"""Intervals by drawing again, beside a plain loop and the normal approximation."""

import numpy as np
import pytest

from polyseme.study.bootstrap import interval


def test_it_is_what_a_plain_loop_draws() -> None:
    values = np.random.default_rng(1).random((30, 2))
    low, high = interval(values, draws=150, seed=3)
    random, means = np.random.default_rng(3), []
    for times in random.multinomial(30, np.full(30, 1 / 30), 150):
        drawn = [row for row, count in zip(values, times, strict=True) for _ in range(count)]
        means.append(np.mean(drawn, axis=0))
    assert low == pytest.approx(np.quantile(means, 0.025, axis=0))
    assert high == pytest.approx(np.quantile(means, 0.975, axis=0))


def test_the_seed_decides() -> None:
    values = np.random.default_rng(1).random((30, 1))
    assert interval(values, seed=1) == interval(values, seed=1)
    assert interval(values, seed=1) != interval(values, seed=2)


def test_shares_of_many_items_have_the_normal_interval() -> None:
    right = (np.arange(2_000) < 1_300).astype(np.float64)
    both = np.stack([right, right - right[::-1]], axis=1)
    low, high = interval(both)
    for column, mean in enumerate((0.65, 0.0)):
        half = 1.96 * both[:, column].std() / np.sqrt(2_000)
        assert (low[column], high[column]) == pytest.approx((mean - half, mean + half), abs=0.002)


def test_a_column_without_spread_has_no_width() -> None:
    low, high = interval(np.ones((5, 1)))
    assert (low.item(), high.item()) == pytest.approx((1, 1))
