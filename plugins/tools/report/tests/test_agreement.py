"""How alike runs rank rows, from scores whose answer can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_report.cli.seeds import agreement_of

#: Ten unlabeled rows, four of them above 0.
UNLABELED = np.array([5.0, 4.0, 3.0, 2.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0])
ONE, OTHER = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 4.0])


@pytest.mark.parametrize(
    ("scores", "top", "correlation", "overlap"),
    [
        ([UNLABELED, 10 * UNLABELED + 3, np.exp(UNLABELED)], 4, 1, 1),  # one order
        ([ONE, OTHER], 2, 0.8, 1),  # 1 - 6 * 2 / (4 * 15) of Spearman; of the two highest, both are the same
        ([ONE, OTHER], 3, 0.8, 2 / 3),
        ([ONE, ONE, -ONE], 1, -1 / 3, 1 / 3),  # the mean over pairs
        (
            [UNLABELED, np.zeros(10)],
            3,
            None,
            0.3,
        ),  # one score has no order: all ten rows tie for the first places
        ([UNLABELED, UNLABELED], 0, 1, None),  # the prior takes no row
    ],
)
def test_agreement_is_spearman_s_and_the_share_of_the_highest_in_common(
    scores: list[np.ndarray], top: int, correlation: float | None, overlap: float | None
) -> None:
    found = agreement_of(scores, top)
    assert found.top == top
    assert found.rank_correlation == pytest.approx(correlation)
    assert found.overlap == pytest.approx(overlap)
