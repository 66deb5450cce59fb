"""Step 2: how rows were labeled, and what can be known of it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np

from pubench_core.errors import PubenchError
from pubench_core.randomness import stream

from ..audit import audit_answers, audit_sample
from .evidence import Audited

#: Simulated sheets behind a power.
SHEETS = 40
#: Rows of a simulated table, at most.
MOST_ROWS = 3000


@dataclass(frozen=True)
class Scar:
    """Whether labeled positives are a random draw of all positives.

    ``status``: ``untested``, ``contradicted`` (by the prior and the scores), ``rejected`` or ``not rejected`` (by
    checked rows). ``p_value``: of the checked rows. ``power``: shift of the labeled scores in standard deviations ->
    how often a sheet of ``checked`` rows notices it, simulated for a table of this size.
    """

    status: str
    p_value: float | None
    reason: str
    power: tuple[tuple[float, float], ...]
    checked: int

    @property
    def holds(self) -> bool:
        """Whether a test with checked rows found nothing against it."""
        return self.status == "not rejected"

    @property
    def sentence(self) -> str:
        """Finding about SCAR, in words."""
        noticed = ", ".join(
            f"{100 * share:.0f} % if they score {shift:g} deviations too high" for shift, share in self.power
        )
        able = f" {self.checked} checked rows notice it in {noticed}." if noticed else ""
        match self.status:
            case "rejected":
                return f"Labeled rows are no random draw of the positives (p = {self.p_value:.2g}, checked rows).{able}"
            case "not rejected":
                return f"Checked rows do not contradict a random draw (p = {self.p_value:.2g}); no proof.{able}"
            case "contradicted":
                return f"Labeled rows are no random draw of the positives, or the prior is wrong: {self.reason}.{able}"
        return (
            f"Whether labeled rows are a random draw of the positives is not tested: {self.reason}. A table alone "
            f"cannot tell: labels that prefer some positives look like a smaller prior.{able}"
        )


def scar_of(audited: Audited | None, contradiction: str, power: tuple[tuple[float, float], ...], n: int) -> Scar:
    """Rejected by checked rows, contradicted by the scores at the narrowed prior, not rejected, or untested."""
    test = None if audited is None else audited.result.scar
    if test is not None and test.rejected:
        return Scar("rejected", test.p_value, "", power, n)
    if contradiction:
        return Scar("contradicted", None if test is None else test.p_value, contradiction, power, n)
    if test is not None and test.p_value is not None:
        return Scar("not rejected", test.p_value, "", power, n)
    reason = "no row was checked" if audited is None else audited.result.scar.undefined
    return Scar("untested", None, reason, power, n)


@cache  # the first answer and the last ask for the same
def power_of_a_sheet(
    n_labeled: int, n_unlabeled: int, share: float, pauc: float, n: int, shifts: tuple[float, ...] = (0.5, 1.0)
) -> tuple[tuple[float, float], ...]:
    """How often ``n`` checked rows reject SCAR if labeled positives score so many standard deviations too high.

    Simulated: normal scores of positives and negatives, as far apart as ``pauc`` and the ``share`` of positives in U
    say; as many rows as the table has, at most :data:`MOST_ROWS`.
    """
    from scipy.stats import norm

    auc = float(np.clip((pauc - share / 2) / max(1 - share, 0.05), 0.55, 0.995))
    apart = float(np.sqrt(2) * norm.ppf(auc))
    n_u = min(n_unlabeled, MOST_ROWS)
    n_positive = max(1, round(share * n_u))
    n_p = max(2, round(n_labeled * n_u / n_unlabeled))
    found = []
    for shift in shifts:
        rejected = 0
        for k in range(SHEETS):
            rng = stream(k, "power of a sheet")
            truth = np.r_[np.ones(n_p + n_positive, bool), np.zeros(n_u - n_positive, bool)]
            scores = rng.normal(apart * truth)
            scores[:n_p] += shift
            sample = audit_sample(scores, np.arange(len(scores)) < n_p, n=min(n, n_u), budget=n_positive, seed=k)
            try:
                rejected += audit_answers(sample, truth[sample.to_check].astype(int)).scar.rejected
            except PubenchError:  # a sheet without an answer on one side
                continue
        found.append((shift, rejected / SHEETS))
    return tuple(found)
