"""How alike runs rank rows, from scores whose answer can be counted by hand."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_report.cli.seeds import agreement_of

#: Ten unlabeled rows, four of them above 0.
UNLABELED = np.array([5.0, 4.0, 3.0, 2.0, -1.0, -2.0, -3.0, -4.0, -5.0, -6.0])


class TestAgreement:
    def test_the_same_order_agrees_wholly(self) -> None:
        found = agreement_of([UNLABELED, 10 * UNLABELED + 3, np.exp(UNLABELED)], 4)
        assert (found.rank_correlation, found.overlap, found.top) == (pytest.approx(1), 1, 4)

    def test_agreement_is_spearman_s_and_the_share_of_the_highest_in_common(self) -> None:
        """Ranks 1 2 3 4 and 2 1 3 4: 1 - 6 * 2 / (4 * 15) = .8; of the two highest, both are the same."""
        one, other = np.array([1.0, 2.0, 3.0, 4.0]), np.array([2.0, 1.0, 3.0, 4.0])
        assert agreement_of([one, other], 2).rank_correlation == pytest.approx(0.8)
        assert agreement_of([one, other], 2).overlap == 1
        assert agreement_of([one, other], 3).overlap == pytest.approx(2 / 3)
        assert agreement_of([one, -one], 1).overlap == 0

    def test_agreement_is_the_mean_over_pairs(self) -> None:
        one = np.array([1.0, 2.0, 3.0])
        assert agreement_of([one, one, -one], 1).rank_correlation == pytest.approx((1 - 1 - 1) / 3)
        assert agreement_of([one, one, -one], 1).overlap == pytest.approx(1 / 3)

    def test_one_score_for_all_has_no_order(self) -> None:
        found = agreement_of([UNLABELED, np.zeros(10)], 3)
        assert found.rank_correlation is None
        assert found.overlap == pytest.approx(0.3)  # all ten rows tie for the first three places

    def test_where_the_prior_takes_no_row_there_is_no_overlap(self) -> None:
        assert agreement_of([UNLABELED, UNLABELED], 0).overlap is None
