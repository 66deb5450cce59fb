"""Sparse rows give what the dense rows give, without a dense table."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import coo_array, random_array

from pubench_core.data.preprocess import Preprocessing
from pubench_core.data.sparse import SparseRows
from pubench_core.errors import RequestError
from pubench_core.training.views import features_of

MATRIX = random_array((50, 7), density=0.3, rng=np.random.default_rng(0)).tocsr()
DENSE = MATRIX.toarray().astype(np.float32)
ROWS = np.array([4, 4, 0, 49])
CPU = torch.device("cpu")


def test_rows_are_taken_as_from_an_array() -> None:
    rows = SparseRows.of(MATRIX)
    assert (len(rows), rows.shape) == (50, (50, 7))
    np.testing.assert_array_equal(rows[ROWS].dense(), DENSE[ROWS])
    twice = coo_array(([1.0, 2.0], ([0, 0], [3, 3])), shape=(2, 4))
    np.testing.assert_array_equal(SparseRows.of(twice).dense(), twice.toarray())


def test_standardizing_scales_and_does_not_center() -> None:
    pool = np.arange(30)
    fitted = Preprocessing.fit(SparseRows.of(MATRIX), pool, "standardize")
    np.testing.assert_allclose(fitted.deviation, DENSE[pool].std(axis=0), rtol=1e-6)
    assert not fitted.mean.any()
    np.testing.assert_allclose(fitted.apply(SparseRows.of(MATRIX)).dense(), DENSE / fitted.deviation, rtol=1e-6)
    np.testing.assert_allclose(fitted.apply(DENSE), DENSE / fitted.deviation, rtol=1e-6)


def test_a_method_gets_dense_batches_unless_it_takes_sparse_ones() -> None:
    dense, sparse = (features_of(SparseRows.of(MATRIX), CPU, keep_sparse=keep) for keep in (False, True))
    np.testing.assert_array_equal(dense.take(torch.from_numpy(ROWS)).numpy(), DENSE[ROWS])
    found = sparse.take(torch.from_numpy(ROWS))
    assert found.layout == torch.sparse_csr
    np.testing.assert_array_equal(found.to_dense().numpy(), DENSE[ROWS])


def test_no_dense_table_is_made_that_is_too_large() -> None:
    wide = SparseRows(np.zeros(0, np.float32), np.zeros(0, np.int32), np.zeros(20_001, np.int64), 50_000)
    with pytest.raises(RequestError, match=r"20,000 sparse rows of 50,000 features are 4 GB .* TruncatedSVD"):
        wide.dense()
