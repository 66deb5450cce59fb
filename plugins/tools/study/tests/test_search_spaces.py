"""Hyper-parameters are drawn from the distributions that their fields name."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_study.grid import drawn
from scipy import stats

from pubench_core.specs.fields import Choice, LogUniform, PowerOfTwo, Uniform

N = 6000


@pytest.mark.parametrize(
    ("space", "values"),
    [
        (PowerOfTwo(5, 8), (32, 64, 128)),
        (PowerOfTwo(4, 7), (16, 32, 64)),
        (PowerOfTwo(4, 6), (16, 32)),
        (Choice((0.5, 0.7, 0.9)), (0.5, 0.7, 0.9)),
        (Choice(("linear", "cosine")), ("linear", "cosine")),
    ],
    ids=str,
)
def test_a_few_values_are_equally_likely(space: PowerOfTwo | Choice, values: tuple[object, ...]) -> None:
    """The exponent is truncated, as in the code of Wang et al.: 2 to the U(5, 8) is neither 200 nor 256."""
    rng = np.random.default_rng(0)
    found = [drawn(space, rng) for _ in range(N)]
    assert set(found) == set(values)
    assert stats.chisquare([found.count(value) for value in values]).pvalue > 0.01


def test_a_fractional_end_leaves_its_power_less_likely() -> None:
    """U(5, 6.5): 32 for two thirds, 64 for one."""
    rng = np.random.default_rng(0)
    found = [drawn(PowerOfTwo(5, 6.5), rng) for _ in range(N)]
    assert stats.chisquare([found.count(32), found.count(64)], [N * 2 / 3, N / 3]).pvalue > 0.01


def test_powers_of_two_are_whole_numbers() -> None:
    assert type(drawn(PowerOfTwo(5, 8), np.random.default_rng(0))) is int


def test_intervals_are_covered_evenly() -> None:
    rng = np.random.default_rng(0)
    plain = [drawn(Uniform(2, 5), rng) for _ in range(N)]
    logs = np.log10([drawn(LogUniform(10**-4.5, 10**-2.5), rng) for _ in range(N)])
    assert stats.kstest(plain, stats.uniform(2, 3).cdf).pvalue > 0.01
    assert stats.kstest(logs, stats.uniform(-4.5, 2).cdf).pvalue > 0.01


def test_a_space_says_what_it_draws() -> None:
    assert str(PowerOfTwo(5, 8)) == "2^int(U(5, 8))"
    assert str(LogUniform(1e-4, 1e-2)) == "log-uniform, 0.0001 to 0.01"
