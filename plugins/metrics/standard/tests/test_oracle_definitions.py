"""What oracle measures share: exact counts, one sort, arrays that nobody writes to or reads undeclared."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pubench_metrics import pubench_metrics

from pubench_core.metric import Measurer, MetricPlugin, Scored, measure
from pubench_core.plugins.registry import load

INFOS = {info.key: info for info in pubench_metrics() if info.family == "oracle"}


def test_large_parts_are_counted_in_exact_integers() -> None:
    """Half of 200,000 rows positive and every score the same: a half, though the pairs are ten thousand million."""
    truth = np.arange(200_000) % 2
    scored = Scored.of(np.zeros(len(truth)), truth=truth.astype(np.int8))
    assert measure(load(INFOS["auc"]), INFOS["auc"], scored).value == 0.5


def test_all_measures_together_sort_the_scores_once(monkeypatch: pytest.MonkeyPatch) -> None:
    rng, sorts = np.random.default_rng(0), []

    def noting(name: str, real: Any) -> Any:
        def call(*args: Any, **more: Any) -> Any:
            sorts.append(name)
            return real(*args, **more)

        return call

    for name in ("sort", "argsort", "lexsort", "unique"):
        monkeypatch.setattr(np, name, noting(name, getattr(np, name)))
    scored = Scored.of(rng.normal(size=500), truth=rng.integers(0, 2, 500).astype(np.int8))
    measurer = Measurer({key: MetricPlugin(info, load(info), "") for key, info in INFOS.items()})
    found = measurer.measure_all(INFOS, scored)
    assert all(one.value is not None for one in found.values())
    assert sorts == ["argsort"]
