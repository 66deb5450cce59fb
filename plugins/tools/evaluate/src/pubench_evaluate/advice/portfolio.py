"""The methods that advice chooses among, cheap ones first, and what a fit of each costs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any


@dataclass(frozen=True)
class Candidate:
    """A method with its settings. ``name``: as pages show it; ``prior``: whether it cannot do without a class prior.

    ``classic``: no network, trained in seconds. ``seconds``: of one fit of 1,000 rows with 20 columns on one core.
    """

    name: str
    method: str
    config: Mapping[str, Any] = field(default_factory=dict)
    prior: bool = False
    classic: bool = True
    seconds: float = 0.1

    @property
    def is_baseline(self) -> bool:
        """Whether it is no PU method: a classifier of labeled against unlabeled rows."""
        return self.method == "naive"

    def expected(self, rows: int, columns: int) -> float:
        """Seconds of one fit, roughly. Networks grow with the rows; classics, which draw few of U, more slowly."""
        thousands = rows / 1000
        size = thousands**0.7 * max(columns / 20, 0.5) if self.classic else thousands
        return 0.1 + self.seconds * size


#: The answer unless evidence of another kind than PAUC speaks against it: it loses least of all constant choices.
DEFAULT = Candidate("bagged trees", "pu-bagging", {"n_estimators": 100}, seconds=0.1)
#: In the order in which they are fitted. Seconds: of processor time, on 3,000 to 100,000 rows. PUSB is left out:
#: on users' tables nnPU has its loss, so both rank alike, and only thresholds differ.
PORTFOLIO = (
    DEFAULT,
    Candidate("logistic regression, P against U", "naive", {"base": "logistic"}, seconds=0.01),
    Candidate("Elkan-Noto, logistic", "elkan-noto", {"base": "logistic"}, seconds=0.01),
    Candidate("two-step, logistic", "two-step", {"base": "logistic"}, seconds=0.02),
    Candidate("boosting, P against U", "naive", {"base": "boosting"}, seconds=0.08),
    Candidate("PUET", "puet", prior=True, seconds=0.06),
    Candidate("bagged forest", "pu-bagging", {"base": "forest", "n_estimators": 100}, seconds=0.14),
    Candidate("nnPU", "nnpu", prior=True, classic=False, seconds=1.5),
    Candidate("VPU", "vpu", classic=False, seconds=4.0),
    Candidate("Dist-PU", "dist-pu", prior=True, classic=False, seconds=5.0),
)
