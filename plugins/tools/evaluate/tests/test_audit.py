"""Rows that a person checks, and what the answers say: coverage, the test of SCAR, and what is refused."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pubench_evaluate.audit.sheet import MOST_SHOWN, most_used
from pubench_evaluate.audit.statistics import AuditEstimate, Melded, Side, clopper_pearson, scar_test

import pubench

SIMULATIONS = 1000


def table(seed: int = 0, n: int = 600) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < 0.3
    return rng.normal(2 * truth), truth & (rng.random(n) < 0.4), truth


SCORES, LABELED, TRUTH = table()


def answered(sample: pubench.AuditSample, truth: np.ndarray) -> pubench.AuditResult:
    return pubench.audit_answers(sample, truth[sample.drawn].astype(int))


def test_more_rows_narrow_both_intervals_as_the_root_of_their_number_does() -> None:
    scores, labeled, truth = table(n=6000)
    result = answered(pubench.audit_sample(scores, labeled, n=90, threshold=1.0), truth)
    found = [float(number) for number in re.findall(r"±(\S+?)[ ,.](?!\d)", result.more)]
    assert "interval of the prior from" in result.more
    assert found[1] / found[0] == pytest.approx((90 / 120) ** 0.5, abs=0.03)
    assert found[3] / found[2] == pytest.approx((90 / 120) ** 0.5, abs=0.03)


# -------------------------------------------------------------------- which rows


def test_rows_to_check_are_unlabeled_different_and_half_of_them_above_the_threshold() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=60, threshold=1.0)
    assert len(set(sample.to_check.tolist())) == 60
    assert not LABELED[sample.drawn].any()
    assert (SCORES[sample.drawn] > 1.0).sum() == 30


def test_rows_are_spread_over_the_scores_in_proportion_on_each_side() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=60, threshold=1.0)
    for bands in (sample.bands[: sample.n_bands_above], sample.bands[sample.n_bands_above :]):
        rates = [drawn / rows for _, _, rows, drawn in bands]
        rows, drawn = sum(band[2] for band in bands), sum(band[3] for band in bands)
        assert rates == pytest.approx([drawn / rows] * len(bands), rel=0.1)  # bands hold whole rows
        assert len(bands) == 5
    for k, (low, high, _, drawn) in enumerate(sample.bands):
        values = SCORES[sample.drawn[sample.band == k]]
        assert len(values) == drawn
        assert (values >= low).all()
        assert (values <= high).all()


def test_every_row_of_a_side_is_drawn_equally_often() -> None:
    scores, labeled = np.arange(60.0), np.arange(60) % 6 == 0
    counts = np.zeros(60)
    for seed in range(400):
        counts[pubench.audit_sample(scores, labeled, n=20, threshold=29.5, seed=seed).drawn] += 1
    drawn = counts[~labeled] / 400
    assert drawn == pytest.approx(np.full(50, 0.4), abs=0.13)  # 5 standard errors


def test_a_side_with_few_rows_is_checked_as_a_whole() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=60, budget=10)
    assert (SCORES[sample.drawn] > sample.threshold).sum() == 10
    assert len(sample.drawn) == 60


def test_rows_to_check_are_drawn_by_the_seed() -> None:
    first, again, other = (pubench.audit_sample(SCORES, LABELED, seed=seed) for seed in (0, 0, 1))
    assert first.to_check.tolist() == again.to_check.tolist()
    assert first.key == again.key
    assert first.to_check.tolist() != other.to_check.tolist()


def test_a_sheet_shows_neither_scores_nor_labels_nor_their_order() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=40, threshold=1.0)
    sheet = sample.sheet({"id": np.array([f"row {k}" for k in range(len(SCORES))])})
    assert list(sheet.columns) == ["audit", "row", "id", "answer"]
    assert (sheet.answer == "").all()
    assert sheet.id.tolist() == [f"row {row}" for row in sheet.row]
    ranks = SCORES[sample.drawn].argsort().argsort()
    assert abs(np.corrcoef(ranks, np.arange(40))[0, 1]) < 0.5


def test_a_design_is_read_back_as_it_was_written(tmp_path: Path) -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=40, budget=50)
    again = pubench.AuditSample.load(sample.save(tmp_path / "audit.design.npz"))
    assert again.key == sample.key
    assert answered(again, TRUTH) == answered(sample, TRUTH)


def test_what_is_no_design_is_refused_in_one_line(tmp_path: Path) -> None:
    text = tmp_path / "design.npz"
    text.write_text("no archive")
    other = tmp_path / "other.npz"
    np.savez(other, x=np.zeros(3))
    for path in (text, other, tmp_path / "absent.npz"):
        with pytest.raises(pubench.InvalidRequest, match=r"^design=[^\n]+$"):
            pubench.AuditSample.load(path)


@pytest.mark.parametrize("change", [{"band": np.zeros(3, np.int64)}, {"band": np.full(40, 99)}, {"rows": np.arange(5)}])
def test_a_design_whose_arrays_do_not_fit_is_refused_in_one_line(tmp_path: Path, change: dict[str, Any]) -> None:
    path = pubench.audit_sample(SCORES, LABELED, n=40).save(tmp_path / "audit.design.npz")
    with np.load(path) as stored:
        arrays = {**stored, **change}
    np.savez(path, **arrays)
    with pytest.raises(pubench.InvalidRequest, match=r"^design=\S+: must be a file that pubench audit wrote[^\n]+$"):
        pubench.AuditSample.load(path)


def test_a_sheet_of_a_wide_table_shows_the_columns_that_the_scores_follow() -> None:
    """The score rises with the last column, and with the square of another one."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 60))
    scores = x[:, 59] + x[:, 57] ** 2
    x[::5, 59] = np.nan
    read = pubench.data(x, np.arange(600) < 60)._read()
    shown = most_used(read, np.arange(600), scores)
    names = [column.name for column in read.columns]
    assert len(shown) == MOST_SHOWN < len(names)
    assert {"x_57", "x_59"} <= set(shown)
    assert shown == [name for name in names if name in shown]
    narrow = pubench.data(x[:, :5], np.arange(600) < 60)._read()
    assert most_used(narrow, np.arange(600), scores) == names[:5]


def test_a_column_of_the_table_replaces_none_of_the_sheet() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=40)
    sheet = sample.sheet({"row": np.arange(len(SCORES)) + 7})
    assert list(sheet.columns) == ["audit", "row", "row (of the table)", "answer"]
    assert (sheet["row (of the table)"] == sheet.row + 7).all()


def test_labeled_rows_without_a_score_count_in_the_prior_and_scar_is_not_tested(tmp_path: Path) -> None:
    """Unlabeled rows that were trained on, and the labeled rows that were held out."""
    held_out = ~LABELED | (np.random.default_rng(0).random(len(SCORES)) < 0.3)
    n_labeled = int(LABELED.sum())
    sample = pubench.audit_sample(SCORES[held_out], LABELED[held_out], n=60, n_labeled=n_labeled)
    sample = pubench.AuditSample.load(sample.save(tmp_path / "audit.design.npz"))
    found = answered(sample, TRUTH[held_out])
    assert found.share.value is not None
    n_unlabeled = int((~LABELED).sum())
    expected = (n_labeled + found.share.value * n_unlabeled) / (n_labeled + n_unlabeled)
    assert found.prior.value == pytest.approx(expected)
    assert found.scar.p_value is None
    assert "those of a run with folds do" in found.scar.undefined


# -------------------------------------------------------------------- intervals


def test_clopper_and_pearsons_intervals_are_those_of_scipy() -> None:
    from scipy.stats import binomtest

    for x, n in ((0, 10), (1, 30), (15, 30), (30, 30)):
        expected = binomtest(x, n).proportion_ci(0.95, "exact")
        assert clopper_pearson(Side(10_000, n, x)) == pytest.approx((expected.low, expected.high), abs=1e-9)


def test_where_every_row_is_checked_nothing_is_uncertain() -> None:
    scores, labeled, truth = table(n=200)
    population = ~labeled
    result = answered(pubench.audit_sample(scores, labeled, n=int(population.sum()), threshold=1.0), truth)
    above = population & (scores > 1.0)
    for found, true in (
        (result.share, truth[population].mean()),
        (result.prior, truth.mean()),
        (result.precision, truth[above].mean()),
        (result.recall, truth[above].sum() / truth[population].sum()),
    ):
        assert (found.value, found.low, found.high) == pytest.approx((true, true, true), abs=1e-9)


@pytest.mark.parametrize(
    ("prior", "separation", "decided", "n"),
    [(0.3, 2.0, 0.3, 60), (0.1, 2.0, 0.1, 60), (0.5, 1.0, 0.5, 60), (0.05, 1.5, 0.02, 40)],
)
def test_intervals_cover_at_their_stated_rate_over_1000_simulations(
    prior: float, separation: float, decided: float, n: int
) -> None:
    """The rows of one table are drawn again and again; what is drawn of a band is hypergeometric."""
    rng = np.random.default_rng(0)
    truth = np.arange(3000) < prior * 3000
    scores = np.append(rng.normal(separation * truth), rng.normal(separation, 1, 100))
    labeled = np.append(np.zeros(3000, dtype=bool), np.ones(100, dtype=bool))
    threshold = float(np.quantile(scores[:3000], 1 - decided))
    sample = pubench.audit_sample(scores, labeled, n=n, threshold=threshold, scheme="two-sample")
    above, found = (scores > threshold)[:3000], []
    for low, high, rows, drawn in sample.bands:
        inside = (scores[:3000] >= low) & (scores[:3000] <= high)
        assert inside.sum() == rows
        found.append(rng.hypergeometric(truth[inside].sum(), rows - truth[inside].sum(), drawn, SIMULATIONS))
    sides = [sum(band[3] for band in part) for part in (sample.bands[: sample.n_bands_above], sample.bands)]
    checked = sides[0], sides[1] - sides[0]
    counts = np.sum(found[: sample.n_bands_above], axis=0), np.sum(found[sample.n_bands_above :], axis=0)

    @cache
    def said(x_above: int, x_below: int) -> tuple[AuditEstimate, ...]:
        melded = Melded.of(
            Side(int(above.sum()), checked[0], x_above),
            Side(int((~above).sum()), checked[1], x_below),
            np.random.default_rng(1),
        )
        return melded.share(), melded.precision(), melded.recall()

    true = (prior, truth[above].mean(), truth[above].sum() / truth.sum())
    covered = np.zeros(3)
    for pair in zip(counts[0].tolist(), counts[1].tolist(), strict=True):
        for k, (estimate, value) in enumerate(zip(said(*pair), true, strict=True)):
            covered[k] += estimate.low is None or estimate.low <= value <= (estimate.high or np.inf)
    assert (covered / SIMULATIONS >= 0.95).all(), covered


# -------------------------------------------------------------------- SCAR


@pytest.mark.parametrize(("shift", "low", "high"), [(0.0, 0, 7), (1.0, 45, 60)])  # P(more than 7 | rate .05) = .01
def test_scar_is_hardly_ever_rejected_where_it_holds_and_mostly_where_labeled_positives_score_higher(
    shift: float, low: int, high: int
) -> None:
    """``shift``: in standard deviations; of 60 tables."""
    rejected = 0
    for seed in range(60):
        rng = np.random.default_rng([3, seed])
        truth = rng.random(1000) < 0.3
        scores = np.append(rng.normal(2 * truth), rng.normal(2 + shift, 1, 150))
        labeled = np.arange(1150) >= 1000
        sample = pubench.audit_sample(scores, labeled, n=60, threshold=1.2, scheme="two-sample", seed=seed)
        rejected += answered(sample, np.append(truth, np.ones(150, dtype=bool))).scar.rejected
    assert low <= rejected <= high


def test_scar_is_not_tested_without_a_positive_or_with_impure_labels() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, threshold=1.0)
    assert "no positive was found" in pubench.audit_answers(sample, [0] * 60).scar.undefined
    impure = pubench.audit_sample(SCORES, LABELED, threshold=1.0, purity=0.9)
    assert "purity below 1" in answered(impure, TRUTH).scar.undefined


def test_the_parts_of_the_test_are_corrected_for_their_number() -> None:
    rng = np.random.default_rng(0)
    melded = Melded.of(Side(500, 30, 20), Side(500, 30, 10), rng)
    same = rng.normal(size=40)
    found = scar_test(melded, (same + 1, same), (same[:20] + 1, same[:10]), rng)
    assert len(found.parts) == 3  # the share above the threshold, the scores above and below it
    assert found.p_value == pytest.approx(min(1.0, 3 * min(p for _, p in found.parts)))


# -------------------------------------------------------------------- answers


def test_answers_may_be_words_and_an_empty_one_is_left_out() -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=40, threshold=1.0)
    words = {int(row): "yes" if TRUTH[row] else "No" for row in sample.to_check}
    plain = pubench.audit_answers(sample, words)
    assert plain.share == answered(sample, TRUTH).share
    words[int(sample.to_check[0])] = ""
    fewer = pubench.audit_answers(sample, words)
    assert (fewer.checked, fewer.unanswered) == (39, 1)
    assert fewer.warnings == ("1 of 40 rows have no answer: the others are taken to be like them",)


@pytest.mark.parametrize(
    ("answers", "says"),
    [
        (["maybe"] * 40, "1 or yes, 0 or no"),
        ([1] * 39, "expected 40, one per drawn row"),
        ({10**6: 1}, "was not drawn"),
        ([""] * 40, "none of the 20 drawn rows above the threshold is answered"),
    ],
)
def test_wrong_answers_are_one_line(answers: Any, says: str) -> None:
    sample = pubench.audit_sample(SCORES, LABELED, n=40, threshold=1.0)
    with pytest.raises(pubench.InvalidRequest, match=r"^answers: [^\n]+$") as error:
        pubench.audit_answers(sample, answers)
    assert says in str(error.value)


@pytest.mark.parametrize("more", [{"n": 1}, {"n": 10**6}, {"n": 40, "rows": [1, 2]}])
def test_a_draw_that_cannot_be_is_refused(more: dict[str, Any]) -> None:
    with pytest.raises(pubench.InvalidRequest, match=r"different numbers|unlabeled|at least"):
        pubench.audit_sample(SCORES, LABELED, **more)


def test_a_threshold_that_divides_nothing_is_said() -> None:
    result = answered(pubench.audit_sample(SCORES, LABELED, threshold=99.0), TRUTH)
    assert result.precision.undefined == "no unlabeled row is above the threshold"
    assert "nothing is divided by it" in result.warnings[0]
    assert result.share.value is not None


class TestCheckedRowsInCardAndPrior:
    """What 60 checked rows change in ``evaluate`` and ``prior``."""

    @staticmethod
    def result(biased: bool) -> tuple[np.ndarray, np.ndarray, np.ndarray, pubench.AuditResult]:
        """Scores, labels, truth and 60 answers; of a biased table, the highest positives are labeled."""
        rng = np.random.default_rng(1)
        truth = np.arange(3000) < 600
        scores = rng.normal(1.5 * truth)
        rank = scores[:600].argsort().argsort() / 600
        known = rng.random(600) < (0.9 * (rank > 0.7) if biased else 0.3)
        labeled = np.r_[known, np.zeros(2400, bool)]
        return scores, labeled, truth, answered(pubench.audit_sample(scores, labeled, n=60, budget=300), truth)

    def test_checked_rows_narrow_a_prior_and_replace_one_that_they_contradict(self) -> None:
        scores, labeled, truth, audited = self.result(biased=False)
        ask = {"budget": 300, "resamples": 0, "audited": audited}
        for prior in (None, (0.1, 0.9), (0.6, 0.8)):
            low, high = pubench.evaluate(scores, labeled, prior=prior, **ask).belief.interval
            assert low == pytest.approx(audited.prior.low)
            assert low <= truth.mean() <= high

    def test_a_number_is_expected_only_after_scar_was_tested(self) -> None:
        scores, labeled, _, audited = self.result(biased=False)
        ask = {"prior": (0.15, 0.25), "budget": 300, "resamples": 0}
        untested = pubench.evaluate(scores, labeled, **ask).headline
        assert "about" not in untested
        assert "SCAR is not tested here" in untested
        tested = pubench.evaluate(scores, labeled, **ask, audited=audited).headline
        assert "(about " in tested
        assert "60 checked rows, whatever the labeling: class prior" in tested

    def test_rejected_labels_leave_no_number(self) -> None:
        scores, labeled, _, audited = self.result(biased=True)
        assert audited.scar.rejected
        card = pubench.evaluate(scores, labeled, prior=0.2, budget=300, resamples=0, audited=audited)
        assert card.decision.expected_interval is None
        assert card.contradictions[0].startswith("Checked rows reject SCAR")
        assert card.to_dict()["checked"] == audited.sentence


def test_a_sheet_has_no_second_row_of_a_group_while_another_group_has_one() -> None:
    rng = np.random.default_rng(0)
    scores, labeled, patients = rng.normal(size=600), np.arange(600) % 10 == 0, np.arange(600) // 6
    plain = pubench.audit_sample(scores, labeled, n=60)
    spread = pubench.audit_sample(scores, labeled, n=60, groups=[f"p{k}" for k in patients])
    assert len(np.unique(patients[plain.drawn])) < 60
    assert len(np.unique(patients[spread.drawn])) == 60
    assert [band[2:] for band in spread.bands] == [band[2:] for band in plain.bands]
    few = pubench.audit_sample(scores, labeled, n=60, groups=patients // 5)
    assert len(np.unique((patients // 5)[few.drawn])) == 20
