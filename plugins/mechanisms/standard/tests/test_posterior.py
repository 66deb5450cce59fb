"""The auxiliary posterior is what scikit-learn gives at the published setting, and is kept by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pubench_mechanisms import posterior
from pubench_mechanisms.posterior import SOLVER, auxiliary_logit
from sklearn.linear_model import LogisticRegression

from pubench_core.data.checksum_cache import keep

Problem = tuple[np.ndarray, np.ndarray, np.ndarray]
BYTES = np.random.default_rng(1).integers(0, 256, (300, 12)).astype(np.uint8)
ROWS = np.random.default_rng(1).normal(size=(300, 12)).astype(np.float32)


@pytest.fixture
def problem() -> Problem:
    """Rows, their classes, and the rows of the pool."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300).astype(np.int8)
    return (rng.normal(size=(300, 4)) + y[:, None]).astype(np.float32), y, rng.permutation(300)[:200]


@pytest.mark.parametrize(
    ("x", "flat", "preprocess"),
    [
        pytest.param(ROWS, ROWS, "none", id="vectors"),
        pytest.param(BYTES.reshape(-1, 1, 3, 4), 2 * (BYTES / 255) - 1, "none", id="gray"),
        pytest.param(BYTES.reshape(-1, 1, 3, 4) / 255, 2 * (BYTES / 255) - 1, "none", id="gray-floats"),
        pytest.param(BYTES.reshape(-1, 3, 2, 2), BYTES / 255, "none", id="color"),
        pytest.param(BYTES, BYTES / 255, "none", id="bytes"),
        pytest.param(ROWS.reshape(-1, 1, 3, 4), ROWS, "standardize", id="standardized"),
    ],
)
def test_the_posterior_is_a_logistic_regression_of_the_pool_on_the_scale_of_pu_bench(
    problem: Problem, x: np.ndarray, flat: np.ndarray, preprocess: str
) -> None:
    """Its loaders leave gray images (MNIST, Fashion-MNIST, Alzheimer MRI) in [-1, 1], CIFAR-10 in [0, 1].

    The L2 penalty and the 100 iterations make the fit depend on it.
    """
    _, y, pool = problem
    flat = flat.astype(np.float64)
    expected = LogisticRegression(**SOLVER).fit(flat[pool], y[pool]).decision_function(flat)
    found = auxiliary_logit(x, y, pool, np.arange(300), preprocess=preprocess)
    np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


def test_a_kept_posterior_is_used_for_the_same_content_only(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
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


def test_what_an_older_version_kept_is_not_read(
    problem: Problem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, pool = problem
    with monkeypatch.context() as patch:
        patch.setattr(posterior, "_REVISION", 1)
        auxiliary_logit(x, y, pool, pool, tmp_path)
    (old,) = tmp_path.iterdir()
    keep(old, np.zeros(x.shape[1] + 1).tobytes())
    assert auxiliary_logit(x, y, pool, pool, tmp_path).any()
