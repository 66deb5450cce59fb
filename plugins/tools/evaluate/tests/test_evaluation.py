"""What ``pubench.evaluate`` and ``pubench.estimate_prior`` say of scores, from labeled positives and unlabeled rows."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from browser import WIDTHS, browser, faults, needs_browser
from pubench_evaluate.belief import Belief, EstimatedPrior, belief_in
from pubench_evaluate.prior import asked, infos_of, range_of, summary
from pubench_evaluate.scored_rows import scored_rows
from pubench_evaluate.thresholds import Cuts, recall_of, threshold_of_budget, threshold_of_recall
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score

import pubench
from pubench_core.errors import RequestError
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import registry

N, PRIOR, FREQUENCY = 1500, 0.3, 0.4


def drawn(seed: int = 0, n: int = N, separation: float = 2.0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Scores, labeled rows and truth under SCAR: negatives N(0, 1), positives N(separation, 1)."""
    rng = np.random.default_rng(seed)
    truth = rng.random(n) < PRIOR
    return rng.normal(separation * truth), truth & (rng.random(n) < FREQUENCY), truth


SCORES, LABELED, TRUTH = drawn()


def judged(scores: Any, labeled: Any, **given: Any) -> pubench.Evaluation:
    """A report card without resamples, unless they are asked for."""
    return pubench.evaluate(scores, labeled, **{"resamples": 0, **given})


@pytest.fixture(scope="module")
def card() -> pubench.Evaluation:
    given = {"prior": (0.25, 0.35), "truth": TRUTH, "budget": 200, "resamples": 200}
    return judged(SCORES, LABELED, name="a<script>.csv", **given)


# -------------------------------------------------------------------- thresholds


@pytest.mark.parametrize("budget", [1, 7, 60])
def test_above_the_threshold_of_a_budget_lie_as_many_unlabeled_rows(budget: int) -> None:
    rows = scored_rows(*drawn(n=80)[:2])
    assert (rows.of_unlabeled > threshold_of_budget(rows, budget)).sum() == min(budget, len(rows.unlabeled))


def test_equal_scores_are_never_torn_apart_by_a_threshold() -> None:
    scores = np.repeat([3.0, 2.0, 1.0], 10)
    rows = scored_rows(scores, np.arange(30) % 10 == 0)
    for budget, above in ((5, 9), (9, 9), (12, 18), (18, 18), (27, 27)):
        assert (rows.of_unlabeled > threshold_of_budget(rows, budget)).sum() == above


def test_a_budget_takes_a_random_pick_of_equal_scores() -> None:
    """90 of 100 labeled rows and 410 unlabeled ones share the highest score: 410 hold 180 positives, 100 of them 43.9.

    Then 10 rows and 5 labels score higher: of 100 rows 90 are picked.
    """
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [90, 10, 410, 490])
    labeled = np.arange(1000) < 100
    cut = judged(scores, labeled, prior=0.3, budget=100).decision
    assert (cut.all_rows, cut.tied, cut.labeled) == (100, (100, 410), pytest.approx(90 * 100 / 410))
    assert cut.expected == pytest.approx(180 * 100 / 410)
    assert cut.expected_interval is not None
    assert 28 < cut.expected_interval[0] < 36 < 52 < cut.expected_interval[1] < 62
    scores[:5] = scores[100:110] = 2.0
    cut = judged(scores, labeled, prior=0.3, budget=100).decision
    assert cut.tied == (90, 400)
    assert cut.expected == pytest.approx(200 * (5 + 85 * 90 / 400) / 100)
    untied = judged(scores, labeled, prior=0.3, budget=10)
    assert untied.decision.tied is None
    assert not any("share the lowest score" in line for line in untied.warnings)


def test_the_interval_of_a_random_pick_covers_in_19_of_20_tables() -> None:
    """Scores rounded to four values: the top 150 end within the highest or the second."""
    inside = []
    for seed in range(200):
        scores, labeled, truth = drawn(seed, n=1500)
        scores = np.clip(np.round(scores), -1, 2)
        cut = cuts_of(scores, labeled, seed).chosen(None, 150, None)
        unlabeled = np.random.default_rng(seed).permutation(np.flatnonzero(~labeled))
        top = unlabeled[np.argsort(-scores[unlabeled], kind="stable")[:150]]
        assert cut.tied is not None
        assert cut.expected_interval is not None
        inside.append(cut.expected_interval[0] <= truth[top].sum() <= cut.expected_interval[1])
    assert np.mean(inside) >= 0.91  # 0.95 less three standard errors of 200 tables


def test_a_sheet_for_a_budget_has_half_its_rows_among_those_that_may_be_picked() -> None:
    scores = np.repeat([1.0, 0.0, 1.0, 0.0], [90, 10, 410, 490])
    sample = pubench.audit_sample(scores, np.arange(1000) < 100, n=60, budget=100)
    assert (scores[sample.drawn] == 1).sum() == 30


@pytest.mark.parametrize("target", [0.1, 0.5, 0.9, 1.0])
def test_the_threshold_of_a_recall_is_the_highest_that_reaches_it(target: float) -> None:
    rows = scored_rows(*drawn()[:2])
    threshold = threshold_of_recall(rows, target, Belief())
    assert threshold is not None
    assert (rows.of_labeled > threshold).mean() >= target
    higher = rows.of_labeled[rows.of_labeled > threshold].min()
    assert (rows.of_labeled > higher).mean() < target


def test_recall_of_noisy_labels_inverts_the_mixture_identities() -> None:
    gamma, eta, alpha, beta = np.array([0.7]), np.array([0.2]), 0.3, 0.8
    gamma_pu, eta_pu = beta * gamma + (1 - beta) * eta, alpha * gamma + (1 - alpha) * eta
    assert recall_of(gamma_pu, eta_pu, alpha, beta) == pytest.approx(gamma, abs=1e-12)


def cuts_of(scores: np.ndarray, labeled: np.ndarray, seed: int, n_all: int | None = None) -> Cuts:
    rows = scored_rows(scores, labeled)
    return Cuts(rows, belief_in(PRIOR, rows), seed, n_all)


def test_as_many_positives_lie_above_a_threshold_as_a_card_expects_in_19_of_20_tables() -> None:
    inside = []
    for seed in range(200):
        scores, labeled, truth = drawn(seed)
        cut = cuts_of(scores, labeled, seed).chosen(1.5, None, None)
        found = int(truth[~labeled & (scores > 1.5)].sum())
        assert cut.expected_interval is not None
        inside.append(cut.expected_interval[0] <= found <= cut.expected_interval[1])
    assert np.mean(inside) >= 0.91  # 0.95 less three standard errors of 200 tables


@pytest.mark.parametrize("scheme", ["one-sample", "two-sample", "case-control", "single-training-set"])
def test_the_share_in_u_and_the_prior_are_two_words_for_one_thing(scheme: Any) -> None:
    rows = scored_rows(SCORES, LABELED, scheme=scheme, purity=0.9)
    assert rows.prior_of(rows.share_in_u(0.4)) == pytest.approx(0.4, abs=1e-12)


# -------------------------------------------------------------------- measures


def test_a_card_has_the_measures_that_the_closed_forms_give(card: pubench.Evaluation) -> None:
    p, u = SCORES[LABELED], SCORES[~LABELED]
    pauc = float((p[:, None] > u).mean())
    share = (PRIOR * N - LABELED.sum()) / (~LABELED).sum()
    assert card["pauc"] == pytest.approx(pauc, abs=1e-12)
    assert card["recovered-auc"] == pytest.approx((pauc - share / 2) / (1 - share), abs=1e-12)
    assert card.belief.prior == pytest.approx(PRIOR)
    assert card.belief.share == pytest.approx(share)


def test_the_recovered_auc_covers_the_true_one_and_the_raw_one_does_not(card: pubench.Evaluation) -> None:
    recovered, true = card.measures["recovered-auc"], card["auc"]
    assert recovered.interval is not None
    assert true is not None
    assert recovered.interval[0] <= true <= recovered.interval[1]
    raw = card.measures["pauc"].interval
    assert raw is not None
    assert raw[1] < true


#: What must hold for each measure to mean what it says.
ASSUMED: dict[tuple[str, ...], str] = {
    ("SCAR",): "pauc boyce lee-liu pu-auc pu-ap pu-f1 pu-correlation pu-mutual-information",
    ("SCAR", "prior"): "pa pa-published pseudo-f recovered-auc recovered-ap recovered-precision recovered-recall "
    "recovered-fpr",
    (): "pulp",
}


def test_every_measure_lists_what_it_assumes_and_whether_it_reads_the_truth(card: pubench.Evaluation) -> None:
    found = {
        key: tuple(sorted(measure.info.assumes)) for key, measure in card.measures.items() if not measure.info.oracle
    }
    assert found == {key: assumes for assumes, keys in ASSUMED.items() for key in keys.split()}
    assert {measure.info.assumes for measure in card.measures.values() if measure.info.oracle} == {frozenset()}
    assert card.measures["auc"].info.oracle


def test_a_card_lists_what_all_of_it_assumes(card: pubench.Evaluation) -> None:
    assert [line.split(":")[0] for line in card.notes] == [
        "the scores are of a model that was not trained on these rows",
        "labeled and unlabeled rows together are a random draw from the population (one-sample)",
        "labeled rows are a random draw of all positives (SCAR)",
        "every labeled row is truly positive (purity 1)",
    ]


def test_without_a_prior_what_needs_one_is_left_out_and_the_rest_is_there() -> None:
    found = judged(SCORES, LABELED)
    assert "pauc" in found.measures
    assert not {"pa", "recovered-auc", "auc"} & set(found.measures)
    assert found.decision.expected_interval is None
    assert found.decision.recall_interval is not None


def test_an_estimated_prior_is_what_the_estimator_says() -> None:
    found = judged(SCORES, LABELED, prior="estimated:bbe")
    said = pubench.estimate_prior(SCORES, LABELED, estimators=["bbe"])["bbe"]
    assert (found.belief.prior, found.belief.interval) == (said.prior, said.prior_interval)


def test_a_card_is_the_same_twice_and_draws_from_no_global_stream() -> None:
    scores, labeled, _ = drawn(n=300)
    cards = []
    for seed in (0, 1):
        np.random.seed(seed)
        cards.append(judged(scores, labeled, prior=0.3, resamples=20).to_dict())
    assert cards[0] == cards[1]


def test_the_threshold_decides_and_shifts_nothing_else() -> None:
    scores, labeled, _ = drawn(n=400)
    at_two = judged(scores, labeled, prior=0.3, threshold=2.0)
    moved = judged(scores - 2.0, labeled, prior=0.3)
    for key in ("pa", "pauc", "recovered-precision", "lee-liu"):
        assert at_two[key] == pytest.approx(moved[key], abs=1e-9)


# -------------------------------------------------------------------- what is refused, and what is warned of


@pytest.mark.parametrize(
    ("more", "field", "says"),
    [
        ({"prior": 0.05}, "prior", "labeled positives, so the prior of a one-sample table is above"),
        ({"prior": (0.4, 0.2)}, "prior", "an interval (0.2..0.4)"),
        ({"prior": (0.4, 1.2)}, "prior", "a number between 0 and 1"),
        ({"prior": "nine"}, "prior", "a number between 0 and 1"),
        ({"prior": "estimated:nobody"}, "prior", "unknown prior estimator 'nobody'"),
        ({"prior": "estimated:km2"}, "prior", "it reads features, not scores"),
        ({"purity": 1.2}, "purity", "must be in (0, 1]"),
        ({"scheme": "both"}, "scheme", "one of case-control"),
        ({"budget": 0}, "budget", "must be from 1 to"),
        ({"recall": 1.5}, "recall", "must be in (0, 1]"),
        ({"budget": 3, "recall": 0.5}, "recall", "one of the two"),
        ({"recall": 0.5, "purity": 0.9}, "recall", "needs a prior"),
        ({"threshold": np.inf}, "threshold", "finite"),
        ({"truth": np.zeros(3)}, "truth", "one per score"),
        ({"n_unlabeled": 5}, "n_unlabeled", "must be at least"),
    ],
)
def test_a_wrong_argument_is_one_line_that_names_it(more: dict[str, Any], field: str, says: str) -> None:
    scores, labeled, _ = drawn(n=200)
    with pytest.raises(pubench.InvalidRequest, match=r"^[^\n]+$") as error:
        pubench.evaluate(scores, labeled, **more)
    assert error.value.field == field
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("scores", "labeled", "says"),
    [
        ([0.1, np.nan, 0.3], [1, 0, 0], "row 1 (counted from 0) is nan"),
        ([[0.1], [0.2]], [1, 0], "shape (2, 1)"),
        (["a", "b"], [1, 0], "expected numbers"),
        ([0.1, 0.2], [0, 0], "labeled: has 1 class (0)"),
        ([0.1, 0.2], [1, 1], "labeled: has 1 class (1)"),
        ([0.1, 0.2], [1, 2], "labeled: has the values 1, 2; expected 1 and 0"),
        ([0.1, 0.2], [1], "expected 2 values"),
    ],
)
def test_wrong_rows_are_one_line(scores: Any, labeled: Any, says: str) -> None:
    with pytest.raises(pubench.InvalidRequest) as error:
        judged(scores, labeled)
    assert says in str(error.value)


def test_odd_rows_are_warned_of() -> None:
    labeled = np.arange(100) < 10
    same = judged(np.full(100, 0.5), labeled, prior=0.3)
    assert "every row has the same score: nothing is ranked" in same.warnings
    likely = judged(np.linspace(0.1, 0.9, 100), labeled, prior=0.3)
    assert any("0.5 is the usual threshold" in line for line in likely.warnings)
    assert any(line.startswith("only 10 labeled rows") for line in likely.warnings)


def test_a_share_that_reaches_the_purity_leaves_measures_undefined_and_says_why() -> None:
    scores, labeled, _ = drawn(n=300)
    found = judged(scores, labeled, prior=0.6, purity=0.5, scheme="two-sample")
    assert found["recovered-auc"] is None
    assert "nothing can be recovered" in found.measures["recovered-auc"].measure.undefined
    assert any("nothing can be recovered" in line for line in found.warnings)


def test_a_prior_that_the_scores_contradict_leaves_no_number_to_expect() -> None:
    scores, labeled, truth = drawn(n=1000, separation=4.0)
    found = judged(scores, labeled, prior=0.8, threshold=2.0)
    assert found.decision.contradicted
    assert "more than chance explains" in found.contradictions[0]
    assert "or it is chance" not in found.headline
    _gives_no_number(found)
    right = judged(scores, labeled, prior=float(truth.mean()), threshold=1.0)
    assert right.contradictions == ()
    assert right.headline.endswith("if labels are SCAR and the prior is right; SCAR is not tested here.")


def test_labels_that_prefer_high_scores_leave_no_number_to_expect() -> None:
    """The trial's case: the prior is right, half of the positives score high and are labeled far more often."""
    rng = np.random.default_rng(0)
    truth = rng.random(3000) < 0.25
    scores = rng.normal(0.8 * truth)
    labeled = truth & (rng.random(3000) < np.where(scores > 1.0, 0.6, 0.05))
    prior = float(truth.mean())
    at_200, at_600 = (judged(scores, labeled, prior=(0.8 * prior, 1.2 * prior), budget=n) for n in (200, 600))
    assert at_200.decision.infeasible
    assert at_200.measures["recovered-precision"].infeasible
    assert re.search(r"^recovered-precision +infeasible ", repr(at_200), re.MULTILINE)  # no number of what cannot be
    _gives_no_number(at_200)
    assert not at_600.decision.infeasible
    assert any(cut.contradicted for cut in at_600.budgets)
    _gives_no_number(at_600)


def _gives_no_number(found: pubench.Evaluation) -> None:
    """Headline, JSON and page: why there is none, and what helps; no cut expects a number."""
    page, plain = said_on(found.html()), found.to_dict()
    assert ": no number of positives can be given. " in found.headline
    assert "labels are not SCAR" in found.headline
    assert found.headline.endswith("pubench audit.")
    assert found.headline in page
    assert plain["headline"] == found.headline
    assert plain["contradictions"] == list(found.contradictions) != []
    assert "expect " not in page + repr(found).splitlines()[0]
    for cut in (found.decision, *found.budgets, *found.recalls):
        assert (cut.expected, cut.expected_interval) == (None, None)


def test_chance_contradicts_a_right_prior_under_scar_in_one_table_of_ten_at_most() -> None:
    found = []
    for seed in range(200):
        scores, labeled, _ = drawn(seed)
        found.append(any(cut.contradicted for cut in cuts_of(scores, labeled, seed).budgets(None)))
    assert 0 < np.mean(found) <= 0.1


def test_labeled_rows_that_are_negative_by_the_truth_contradict_a_purity_of_1() -> None:
    scores, labeled, truth = drawn(n=300)
    wrong = truth.copy()
    wrong[np.flatnonzero(labeled)[:3]] = False
    said = judged(scores, labeled, truth=wrong).warnings
    n = int(labeled.sum())
    assert any(line.startswith(f"3 of {n} labeled rows are negative by the true labels") for line in said)
    for more in ({"truth": truth}, {"truth": wrong, "purity": 0.9, "prior": 0.4}):
        clean = judged(scores, labeled, **more).warnings
        assert not any("negative by the true labels" in line for line in clean)


# -------------------------------------------------------------------- scores of a part of the rows


def test_a_budget_of_all_rows_covers_in_19_of_20_tables_of_which_a_fifth_has_scores() -> None:
    inside = []
    for seed in range(200):
        scores, labeled, truth = drawn(seed, n=3000)
        part = np.random.default_rng(seed + 1000).random(3000) < 0.2
        cut = cuts_of(scores[part], labeled[part], seed, int((~labeled).sum())).chosen(None, 300, None)
        unlabeled = np.flatnonzero(~labeled)
        top = unlabeled[np.argsort(-scores[unlabeled])[:300]]
        assert cut.expected_interval is not None
        inside.append(cut.expected_interval[0] <= truth[top].sum() <= cut.expected_interval[1])
    assert np.mean(inside) >= 0.91  # 0.95 less three standard errors of 200 tables


def test_a_budget_is_a_share_of_all_rows_and_the_headline_says_what_it_is_estimated_from() -> None:
    n = int((~LABELED).sum())
    found = judged(SCORES, LABELED, prior=PRIOR, budget=500, n_unlabeled=5 * n)
    assert (found.decision.rows, found.decision.all_rows) == (100, 500)
    assert found.rows["all_unlabeled"] == 5 * n
    says = (
        f"Review the top 500 of {5 * n:,} unlabeled rows (estimated from 100 of {n:,} that were held out of training)"
    )
    assert found.headline.startswith(says)
    assert any(f"a random part of all {5 * n:,}" in line for line in found.notes)
    alone = judged(SCORES, LABELED, prior=PRIOR, budget=100)
    assert found.decision.implied == pytest.approx(5 * (alone.decision.implied or 0))


# -------------------------------------------------------------------- reports


def said_on(page: str) -> str:
    """The text of a page, without its tags."""
    return unescape(re.sub(r"<[^>]*>", "", page))


def test_the_page_is_one_file_that_loads_nothing_and_says_what_the_card_says(card: pubench.Evaluation) -> None:
    said = said_on(card.html())
    assert len(re.findall("<script", card.html())) == 2  # what is drawn, and what draws it
    assert re.findall(r'\b(?:src|href|srcset|action)=["\']?([^"\' >]*)', card.html()) == ["data:,"]
    assert "url(" not in card.html()
    assert "prefers-color-scheme: dark" in card.html()
    assert "a<script>.csv" in said
    drawn = json.loads(card.html().partition('id="card">')[2].partition("</script>")[0])
    assert [200, *card.decision.expected_interval] in drawn["review"]["cuts"]
    assert f"Review the top 200 of {card.rows['unlabeled']:,} unlabeled rows: expect " in said
    assert card.headline in said
    for measured in card.measures.values():
        assert measured.info.name in said


def test_a_card_is_plain_json(card: pubench.Evaluation) -> None:
    again = json.loads(json.dumps(card.to_dict(), allow_nan=False))
    assert again["rows"]["rows"] == N
    assert again["measures"]["pauc"]["value"] == card["pauc"]
    assert len(again["curves"]["recovered-roc"]["x"]) <= 200


@needs_browser
def test_the_slider_says_how_many_positives_a_review_finds(card: pubench.Evaluation, tmp_path: Path) -> None:
    (tmp_path / "card.html").write_text(card.html(), encoding="utf-8")
    with browser() as page:
        for width in WIDTHS:
            assert faults(page, tmp_path / "card.html", width=width) == []
        assert page.inner_text("#budget-text").startswith("200 rows: ")
        page.focus("#budget")
        page.keyboard.press("Home")
        assert page.inner_text("#budget-text") == "0 rows: 0 to 0 positives"
        page.keyboard.press("End")
        assert int(page.inner_text("#budget-text").split()[0].replace(",", "")) > 200


# -------------------------------------------------------------------- priors, scorers


def test_every_estimator_that_can_read_a_table_stands_beside_the_others() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(500) < 0.4
    x = rng.normal(size=(500, 3)) + 3 * truth[:, None]
    x[::50, 0] = np.nan
    labeled = truth & (rng.random(500) < 0.5)
    keys = ["bbe", "tice", "elkan-noto"]
    found = pubench.estimate_prior(x, labeled, estimators=keys, truth=truth)
    assert [one.key for one in found.estimates] == keys
    for one in found.estimates:
        assert one.prior == pytest.approx(truth.mean(), abs=0.12)
    assert found.true == pytest.approx(truth.mean())


def test_an_estimator_without_an_answer_says_why_and_the_others_stand() -> None:
    found = pubench.estimate_prior(SCORES, LABELED, estimators=["elkan-noto", "bbe"])
    assert found["elkan-noto"].prior is None
    assert "reads probabilities" in found["elkan-noto"].undefined
    assert found["bbe"].prior is not None


def test_counted_estimators_that_are_far_apart_disagree() -> None:
    near, far = EstimatedPrior("a", "A", prior=0.2), EstimatedPrior("b", "B", prior=0.5)
    assert "disagree" not in summary([near, EstimatedPrior("c", "C", prior=0.25)])
    assert "estimated 0.200 to 0.500; they disagree" in summary([near, far, EstimatedPrior("d", "D", left_out="no")])
    assert "disagree" not in summary([near, replace(far, left_out="it warns")])


def test_priors_of_repeated_rows_count_those_that_equal_no_labeled_one() -> None:
    x, labeled = np.tile([[0.0], [1.0], [2.0], [3.0]], (50, 1)), np.arange(200) % 4 == 1
    labeled[:40] = False
    with pytest.raises(pubench.InvalidRequest, match=r"at least 2 different labeled rows, .*; got 1"):
        pubench.estimate_prior(x, labeled, estimators=["bbe"])
    labeled |= np.arange(200) % 4 == 2
    assert pubench.estimate_prior(x, labeled, estimators=["bbe"]).estimates
    labeled |= np.arange(200) % 8 == 3
    with pytest.raises(pubench.InvalidRequest, match=r"unlabeled rows that equal no labeled one, .*; got 1"):
        pubench.estimate_prior(x, labeled, estimators=["bbe"])


def test_the_range_of_priors_is_that_of_the_intervals_of_the_counted_estimators() -> None:
    one = EstimatedPrior("a", "A", prior=0.2, prior_interval=(0.15, 0.3))
    other = EstimatedPrior("b", "B", prior=0.25)
    out = EstimatedPrior("c", "C", prior=0.9, left_out="it warns")
    assert range_of([one, other, out]) == (0.15, 0.3)
    assert summary([one, other, out]) == (
        "class prior 0.150 to 0.300, if labels are SCAR (95 % by a, b; estimated 0.200 to 0.250)"
    )
    assert range_of([out]) is None
    assert "every estimator is left out" in summary([out])


@pytest.mark.parametrize(
    ("error", "warns", "why"),
    [
        (0.05, False, ""),
        (0.05, True, "it warns"),
        (0.15, False, "off by 0.15 on average on known shares"),
        (None, False, "its error on known shares is not measured"),
    ],
)
def test_an_estimate_counts_if_its_estimator_errs_little_and_it_warns_of_nothing(
    error: float | None, warns: bool, why: str
) -> None:
    info = replace(registry().find(PriorInfo, "bbe"), error=error)
    rows = scored_rows(np.random.default_rng(0).normal(size=N) if warns else SCORES, LABELED)
    found = asked(info, rows.of_labeled, rows.of_unlabeled, rows, 0)
    assert bool(found.warnings) is warns
    assert found.left_out == why


def test_slow_estimators_are_asked_only_on_request() -> None:
    fast = {info.key for info in infos_of("any", None)}
    assert {info.key for info in registry().infos(PriorInfo)} - fast == {"km1", "km2", "pulsnar"}
    assert [info.key for info in infos_of("any", ["km2"])] == ["km2"]
    with pytest.raises(RequestError, match="unknown prior estimator 'nobody'"):
        infos_of("any", ["nobody"])


def test_scorers_choose_models_of_scikit_learn_by_pulp_and_by_the_recovered_auc() -> None:
    rng = np.random.default_rng(0)
    truth = rng.random(400) < 0.4
    x = rng.normal(size=(400, 2)) + 2 * truth[:, None]
    labeled = (truth & (rng.random(400) < 0.5)).astype(int)
    model, folds = LogisticRegression(), pubench.PUKFold(3)
    pauc = cross_val_score(model, x, labeled, cv=folds, scoring=pubench.pauc_scorer())
    recovered = cross_val_score(model, x, labeled, cv=folds, scoring=pubench.recovered_auc_scorer(0.4))
    pulp = cross_val_score(model, x, labeled, cv=folds, scoring=pubench.pulp_scorer())
    assert (recovered > pauc).all()
    assert (pulp > 0.85).all()
    with pytest.raises(ValueError, match=r"purity must be in .*, got 2"):
        pubench.recovered_auc_scorer(0.4, purity=2)
