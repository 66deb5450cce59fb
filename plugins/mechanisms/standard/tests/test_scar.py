"""SCAR labels positives uniformly, whatever they look like."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from pubench_core.mechanism import Mechanism
from pubench_core.plugins.info import MechanismInfo
from pubench_core.plugins.registry import load, registry

INFO = registry().find(MechanismInfo, "scar")


def choose(m: int, n: int, seed: int, x: np.ndarray | None = None) -> np.ndarray:
    mechanism: Mechanism = load(INFO)(INFO.variants[0])
    return mechanism.choose(np.zeros((m, 1)) if x is None else x, None, n, np.random.default_rng(seed))


@settings(deadline=None)
@given(m=st.integers(1, 200), share=st.floats(0, 1), seed=st.integers(0, 2**32))
def test_the_labeled_are_that_many_distinct_positives(m: int, share: float, seed: int) -> None:
    n = round(share * m)
    chosen = choose(m, n, seed)
    assert len(chosen) == len(set(chosen.tolist())) == n
    assert set(chosen.tolist()) <= set(range(m))


def test_every_choice_is_equally_likely() -> None:
    repeats, subsets = 4_000, list(combinations(range(5), 2))
    rng, mechanism, x = np.random.default_rng(0), load(INFO)("paper"), np.zeros((5, 1))
    drawn = [tuple(sorted(mechanism.choose(x, None, 2, rng).tolist())) for _ in range(repeats)]
    expected = repeats / len(subsets)
    sigma = np.sqrt(expected * (1 - 1 / len(subsets)))
    assert all(abs(drawn.count(subset) - expected) < 5 * sigma for subset in subsets)


def test_scar_needs_no_posterior_and_is_s1_of_pu_bench() -> None:
    assert (INFO.assumption, INFO.needs_posterior) == ("SCAR", False)
    assert registry().find(MechanismInfo, "s1").key == INFO.key
