"""The auxiliary posterior is what scikit-learn gives at the published setting, and is kept by content."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from pubench_mechanisms import posterior
from pubench_mechanisms.posterior import SOLVER, auxiliary_logit
from sklearn.linear_model import LogisticRegression

from pubench_core.data.checksum_cache import keep


@pytest.fixture
def problem() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 300).astype(np.int8)
    return (rng.normal(size=(300, 4)) + y[:, None]).astype(np.float32), y, rng.permutation(300)[:200]


def test_the_posterior_is_a_logistic_regression_of_the_pool(problem: tuple[np.ndarray, np.ndarray, np.ndarray]) -> None:
    x, y, pool = problem
    rows = np.arange(300)
    expected = LogisticRegression(**SOLVER).fit(x[pool].astype(float), y[pool]).decision_function(x.astype(float))
    np.testing.assert_allclose(auxiliary_logit(x, y, pool, rows), expected, rtol=1e-12)


class TestScale:
    """PU-Bench's loaders leave gray images (MNIST, Fashion-MNIST, Alzheimer MRI) in [-1, 1], CIFAR-10 in [0, 1].

    The L2 penalty and the 100 iterations make the fit depend on it.
    """

    @pytest.mark.parametrize(
        ("shape", "low", "width"),
        [((1, 3, 3), -1, 2), ((3, 2, 2), 0, 1), ((9,), 0, 1)],
        ids=["gray", "color", "vector"],
    )
    def test_bytes_are_fitted_on_the_scale_of_pu_bench(
        self, problem: tuple[np.ndarray, np.ndarray, np.ndarray], shape: tuple[int, ...], low: int, width: int
    ) -> None:
        _, y, pool = problem
        x = np.random.default_rng(1).integers(0, 256, (300, *shape)).astype(np.uint8)
        flat = low + width * (x.reshape(300, -1) / 255)
        expected = LogisticRegression(**SOLVER).fit(flat[pool], y[pool]).decision_function(flat)
        np.testing.assert_allclose(auxiliary_logit(x, y, pool, np.arange(300)), expected, rtol=1e-9, atol=1e-12)

    def test_float_images_are_fitted_like_the_same_images_as_bytes(
        self, problem: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        _, y, pool = problem
        images = np.random.default_rng(1).integers(0, 256, (300, 1, 3, 3)).astype(np.uint8)
        stored = auxiliary_logit(images, y, pool, pool)
        np.testing.assert_allclose(auxiliary_logit(images / 255, y, pool, pool), stored, rtol=1e-9)
        other = auxiliary_logit(images.reshape(300, -1), y, pool, pool)
        assert not np.allclose(other, stored, atol=1e-3)

    def test_images_with_a_preprocessing_of_their_own_are_fitted_as_they_are(
        self, problem: tuple[np.ndarray, np.ndarray, np.ndarray]
    ) -> None:
        _, y, pool = problem
        x = np.random.default_rng(1).normal(size=(300, 1, 3, 3)).astype(np.float32)
        flat = x.reshape(300, -1).astype(np.float64)
        expected = LogisticRegression(**SOLVER).fit(flat[pool], y[pool]).decision_function(flat[pool])
        found = auxiliary_logit(x, y, pool, pool, preprocess="standardize")
        np.testing.assert_allclose(found, expected, rtol=1e-9, atol=1e-12)


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


def test_what_an_older_version_kept_is_not_read(
    problem: tuple[np.ndarray, np.ndarray, np.ndarray], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    x, y, pool = problem
    with monkeypatch.context() as patch:
        patch.setattr(posterior, "_REVISION", 1)
        auxiliary_logit(x, y, pool, pool, tmp_path)
    (old,) = tmp_path.iterdir()
    keep(old, np.zeros(x.shape[1] + 1).tobytes())
    assert auxiliary_logit(x, y, pool, pool, tmp_path).any()
