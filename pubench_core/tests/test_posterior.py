"""The auxiliary posterior is what scikit-learn gives at the published setting, and is kept by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from pubench_core.data.posterior import SOLVER, auxiliary_logit


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300).astype(np.int8)
    return (rng.normal(size=(300, 4)) + y[:, None]).astype(np.float32), y, rng.permutation(300)[:200]


def test_it_is_a_logistic_regression_of_the_pool(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, pool = problem
    rows = np.arange(300)
    expected = LogisticRegression(**SOLVER).fit(x[pool].astype(float), y[pool]).decision_function(x.astype(float))
    np.testing.assert_allclose(auxiliary_logit(x, y, pool, rows), expected, rtol=1e-12)


def test_images_stored_as_bytes_are_read_as_unit_interval(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    _, y, pool = problem
    images = np.random.default_rng(1).integers(0, 256, (300, 1, 3, 3)).astype(np.uint8)
    scaled = (images / 255).astype(np.float64)
    np.testing.assert_allclose(
        auxiliary_logit(images, y, pool, pool), auxiliary_logit(scaled, y, pool, pool), rtol=1e-12
    )


def test_a_kept_posterior_is_used_for_the_same_content_only(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, pool = problem
    first = auxiliary_logit(x, y, pool, pool, tmp_path)
    assert len(list(tmp_path.iterdir())) == 1
    with monkeypatch.context() as patch:
        patch.setattr(LogisticRegression, "fit", lambda *_: pytest.fail("it was kept"))
        np.testing.assert_array_equal(auxiliary_logit(x, y, pool, pool, tmp_path), first)
    changed = y.copy()
    changed[pool[:5]] ^= 1
    assert not np.allclose(auxiliary_logit(x, changed, pool, pool, tmp_path), first)
    assert len(list(tmp_path.iterdir())) == 2
