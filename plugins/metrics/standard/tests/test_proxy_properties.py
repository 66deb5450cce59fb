"""How the published form of PA differs from PA, and when a proxy is undefined."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from pubench_metrics import pubench_metrics

from pubench_core.errors import Undefined
from pubench_core.metric import Scored, measure
from pubench_core.plugins.registry import load

INFOS = {info.key: info for info in pubench_metrics()}


def value(key: str, scored: Scored) -> float:
    return measure(load(INFOS[key]), INFOS[key], scored).value


def part(f: np.ndarray, y: np.ndarray, labeled: np.ndarray, scheme: Any, prior: float | None = None) -> Scored:
    """A validation part as the engine builds it: in case-control the labeled positives stay in U'."""
    everything = np.arange(len(f))
    unlabeled = everything if scheme == "case-control" else np.setdiff1d(everything, labeled)
    prior = float(y.mean()) if prior is None else prior
    return Scored.of(f, truth=y.astype(np.int8), labeled=labeled, unlabeled=unlabeled, prior=prior, scheme=scheme)


@pytest.mark.parametrize("scheme", ["case-control", "two-sample"])
def test_where_u_is_a_draw_the_published_form_is_pa(scheme: Any) -> None:
    rng = np.random.default_rng(3)
    f, y = rng.normal(size=60), np.repeat([1, 0], 30)
    scored = part(f, y, np.arange(8), scheme)
    assert value("pa-published", scored) == value("pa", scored)


def test_the_published_form_counts_labeled_rows_called_positive() -> None:
    """Two of three labeled rows found, one of two unlabeled ones rejected, π = .3."""
    f = np.array([1.0, 2.0, -1.0, 3.0, -2.0])
    scored = Scored.of(f, labeled=np.arange(3), unlabeled=np.array([3, 4]), prior=0.3, scheme="one-sample")
    assert value("pa-published", scored) == pytest.approx(2 * 0.3 * 2 / 3 + (2 + 1) / 5)
    assert value("pa", scored) == pytest.approx(2 * 0.3 * 2 / 3 + (1 + 1) / 5)


def test_a_score_of_zero_is_a_negative_decision_and_half_a_pair() -> None:
    f, y = np.zeros(4), np.array([1, 1, 0, 0])
    for scheme in ("case-control", "single-training-set"):
        assert value("pa", part(f, y, np.array([0]), scheme)) == 1.0
        assert value("pauc", part(f, y, np.array([0]), scheme)) == 0.5


def test_proxies_without_a_row_that_they_need_are_undefined() -> None:
    f, y, nobody = np.array([1.0, -1.0]), np.array([1, 0]), np.array([], dtype=np.int64)
    for key in ("pa", "pauc"):
        with pytest.raises(Undefined, match="no labeled validation positive"):
            value(key, part(f, y, nobody, "case-control"))
        with pytest.raises(Undefined, match="no unlabeled validation row"):
            value(key, part(f[:1], y[:1], np.array([0]), "single-training-set", prior=0.5))
