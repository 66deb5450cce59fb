"""Rows are scaled one by one; features are filled and standardized by the training pool, and by nothing else."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable

import numpy as np
import pytest

from pubench_core.data.preprocess import Preprocessing
from pubench_core.data.store import row_wise, row_wise_part

NAN = np.nan
#: Pool: rows 0, 2, 3. Its columns: one with a gap, one without a value, a constant one.
X = np.array(
    [[1.0, NAN, 5.0], [100.0, 7.0, -5.0], [4.0, NAN, 5.0], [NAN, NAN, 5.0], [NAN, 9.0, 1.0]],
    dtype=np.float32,
)
POOL = np.array([0, 2, 3])


def peak_of(work: Callable[[], object]) -> int:
    """Bytes that a call needed at most, besides what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


class TestFill:
    def test_gaps_and_nothing_else_become_the_median_of_the_pool(self) -> None:
        fitted = Preprocessing.fit(X, POOL, "none")
        assert fitted.fill is not None
        assert fitted.fill.tolist() == [2.5, 0.0, 5.0]
        assert (fitted.mean, fitted.deviation) == (None, None)
        filled = fitted.apply(X)
        assert filled.dtype == np.float32
        assert filled.tolist() == [[1, 0, 5], [100, 7, -5], [4, 0, 5], [2.5, 0, 5], [2.5, 9, 1]]

    @pytest.mark.parametrize("kind", ["none", "standardize"])
    def test_a_pool_without_gaps_still_says_what_stands_for_one(self, kind: str) -> None:
        """A test file and new rows may have gaps where the training file has none."""
        x = np.array([[1.0, 0.0], [2.0, 4.0], [9.0, 8.0]], dtype=np.float32)
        fitted = Preprocessing.fit(x, np.arange(3), kind)
        new = np.array([[NAN, 4.0], [2.0, NAN]], dtype=np.float32)
        assert np.array_equal(fitted.apply(new), fitted.apply(np.array([[2.0, 4.0]] * 2, dtype=np.float32)))

    @pytest.mark.parametrize(
        ("x", "kind"),
        [
            (np.ones((3, 2), np.float32), "l2"),
            (np.zeros((3, 1, 2, 2), np.float32), "none"),
            (np.zeros((3, 1, 2, 2), np.uint8), "none"),
            (np.zeros((3, 4), np.uint8), "none"),
        ],
        ids=["scaled-rows", "images", "bytes", "flat-bytes"],
    )
    def test_what_has_no_gaps_is_left_as_it_is(self, x: np.ndarray, kind: str) -> None:
        fitted = Preprocessing.fit(x, np.arange(2), kind)
        assert fitted.arrays() == {}
        assert fitted.apply(x) is x

    def test_nothing_is_copied_where_nothing_is_missing(self) -> None:
        x = np.ones((3, 2), np.float32)
        assert Preprocessing.fit(x, np.arange(2), "none").apply(x) is x


class TestStandardize:
    def test_a_constant_feature_is_centered_and_not_scaled(self) -> None:
        out = Preprocessing.fit(X, POOL, "standardize").apply(X)
        assert out[:, 2].tolist() == [0, -10, 0, 0, -4]

    def test_bytes_are_shares_of_255(self) -> None:
        x = np.array([[0], [255], [51]], dtype=np.uint8)
        out = Preprocessing.fit(x, np.arange(2), "standardize").apply(x)
        assert out[:, 0].tolist() == pytest.approx([-1, 1, -0.6])


class TestMemory:
    """A result's features are one array: neither fitting nor applying makes another of its size."""

    ROWS, COLUMNS = 40_000, 50
    FEW_MIB = 12 * 2**20

    def table(self) -> np.ndarray:
        x = np.random.default_rng(0).normal(3, 7, size=(self.ROWS, self.COLUMNS)).astype(np.float32)
        x[::7, 3] = NAN
        return x

    @pytest.mark.parametrize("kind", ["none", "standardize"])
    def test_fitting_needs_a_few_mib(self, kind: str) -> None:
        big = np.repeat(self.table(), 8, axis=1)
        assert peak_of(lambda: Preprocessing.fit(big, np.arange(0, self.ROWS, 2), kind)) < self.FEW_MIB < big.nbytes

    @pytest.mark.parametrize("kind", ["none", "standardize"])
    def test_what_is_written_over_is_the_array_that_was_given(self, kind: str) -> None:
        x = np.repeat(self.table(), 8, axis=1)
        fitted = Preprocessing.fit(x, np.arange(0, self.ROWS, 2), kind)
        expected, given = fitted.apply(x), x.copy()
        assert peak_of(lambda: fitted.apply(x)) < x.nbytes + self.FEW_MIB
        assert peak_of(lambda: fitted.apply(given, in_place=True)) < self.FEW_MIB
        assert np.array_equal(given, expected)

    def test_an_array_that_is_not_the_caller_s_own_is_left_as_it_is(self) -> None:
        x = self.table()
        before = x.copy()
        Preprocessing.fit(x, np.arange(100), "standardize").apply(x)
        assert np.array_equal(x, before, equal_nan=True)

    def test_bytes_get_an_array_of_their_own(self) -> None:
        x = np.random.default_rng(0).integers(0, 256, size=(50, 1, 4, 4)).astype(np.uint8)
        fitted, before = Preprocessing.fit(x, np.arange(50), "standardize"), x.copy()
        out = fitted.apply(x, in_place=True)
        assert (out.dtype, out.shape) == (np.float32, x.shape)
        assert np.array_equal(x, before)


@pytest.mark.parametrize(
    "shape", [(700_001, 1), (300_001, 3), (9_001, 129), (5_003, 1, 12, 11)], ids=["1", "3", "129", "image"]
)
@pytest.mark.parametrize("kind", ["none", "standardize"])
def test_a_little_at_a_time_gives_the_bits_of_all_at_once(shape: tuple[int, ...], kind: str) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(3, 7, size=shape).astype(np.float32)
    if x.ndim == 2:
        x[rng.random(shape) < 0.03] = NAN
    pool = rng.permutation(len(x))[: 2 * len(x) // 3]
    reference, expected = x[pool], x
    if x.ndim == 2:
        fill = np.nanmedian(reference.astype(np.float64), axis=0)
        reference, expected = (np.where(np.isnan(part), fill, part).astype(np.float32) for part in (reference, x))
    if kind == "standardize":
        values = reference.astype(np.float64)
        expected = ((expected - values.mean(axis=0)) / values.std(axis=0)).astype(np.float32)
    assert np.array_equal(Preprocessing.fit(x, pool, kind).apply(x), expected)


def test_its_numbers_are_kept_by_name_and_give_the_same_bits() -> None:
    for kind, names in (("none", {"fill"}), ("standardize", {"fill", "mean", "deviation"}), ("l2", set())):
        fitted = Preprocessing.fit(X, POOL, kind)
        assert set(fitted.arrays()) == names
        again = Preprocessing(kind, **fitted.arrays())
        assert (again.kind, set(again.arrays())) == (kind, names)
        assert again.apply(X).tobytes() == fitted.apply(X).tobytes()


class TestRowWise:
    def test_an_image_is_one_row_whose_bytes_are_shares_of_255(self) -> None:
        images = np.array([[[[255, 0], [0, 255]]], [[[51, 51], [51, 51]]]], dtype=np.uint8)
        out = row_wise(images, "l2")
        assert (out.shape, out.dtype) == (images.shape, np.float32)
        assert np.allclose(out.reshape(2, 4), [[2**-0.5, 0, 0, 2**-0.5], [0.5] * 4])

    @pytest.mark.parametrize("kind", ["none", "standardize"])
    def test_what_is_fitted_on_the_pool_leaves_rows_as_they_are(self, kind: str) -> None:
        assert row_wise_part(kind) == "none"
        assert row_wise(X, kind) is X


class TestWildValues:
    """One value among many, far from all others."""

    @pytest.mark.parametrize("value", [1e10, -1e30, 1e5])
    def test_one_value_does_not_flatten_the_others(self, value: float) -> None:
        usual = np.random.default_rng(0).normal(size=400)
        x = np.r_[usual, value].astype(np.float32)[:, None]
        out = Preprocessing.fit(x, np.arange(401), "standardize").apply(x)[:, 0]
        assert np.argsort(out).tolist() == np.argsort(x[:, 0]).tolist()
        assert len(np.unique(out)) == 401
        assert 0.9 < out[:400].std() < 1.2
        assert 10 < abs(out[400]) < 100

    def test_beyond_the_bound_a_value_grows_as_its_logarithm(self) -> None:
        x = np.r_[np.linspace(-1, 1, 399), 1e6, 1e7].astype(np.float32)[:, None]
        fitted = Preprocessing.fit(x, np.arange(400), "standardize")
        assert fitted.mean is not None
        assert fitted.deviation is not None
        z = (x[-1, 0] - fitted.mean[0]) / fitted.deviation[0]
        assert fitted.apply(x)[-1, 0] == pytest.approx(10 + np.log1p(z - 10))

    def test_usual_columns_have_mean_and_deviation(self) -> None:
        """Heavy tails, rare categories and a share of sentinels are no wild values."""
        rng = np.random.default_rng(0)
        x = np.stack(
            [rng.exponential(size=1000) ** 2, rng.random(1000) < 0.003, np.where(rng.random(1000) < 0.05, -9999, 0)]
        )
        x = x.T.astype(np.float32)
        fitted = Preprocessing.fit(x, np.arange(1000), "standardize")
        assert fitted.bound is None
        assert np.allclose(fitted.mean, x.astype(np.float64).mean(axis=0))

    @pytest.mark.parametrize(("offset", "step"), [(1.7e9, 1.0), (1e6, 1e-3)])
    def test_features_in_64_bits_are_standardized_in_64_bits(self, offset: float, step: float) -> None:
        x = (offset + step * np.arange(50.0))[:, None]
        for values in (x, np.where(np.arange(50)[:, None] == 3, NAN, x)):
            out = Preprocessing.fit(values, np.arange(50), "standardize").apply(values)
            assert out.dtype == np.float32
            assert len(np.unique(out)) >= 49
        assert Preprocessing.fit(x, np.arange(50), "none").apply(x).dtype == np.float32
