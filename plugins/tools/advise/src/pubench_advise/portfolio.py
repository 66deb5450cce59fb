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
    seconds: float = 0.3

    @property
    def is_baseline(self) -> bool:
        """Whether it is no PU method: a classifier of labeled against unlabeled rows."""
        return self.method == "naive"

    def expected(self, rows: int, columns: int) -> float:
        """Seconds of one fit, roughly: trees grow with rows and columns, networks with rows alone."""
        wide = max(columns / 20, 0.5) if self.classic else 1.0
        return 0.2 + self.seconds * rows / 1000 * wide


#: The answer unless evidence of another kind than PAUC speaks against it: it loses least of all constant choices.
DEFAULT = Candidate("bagged trees", "pu-bagging", {"n_estimators": 100}, seconds=0.3)
#: In the order in which they are fitted. Seconds: measured on 3,000 rows of the bank table, one shared core.
PORTFOLIO = (
    DEFAULT,
    Candidate("logistic regression, P against U", "naive", {"base": "logistic"}, seconds=0.05),
    Candidate("Elkan-Noto, logistic", "elkan-noto", {"base": "logistic"}, seconds=0.1),
    Candidate("two-step, logistic", "two-step", {"base": "logistic"}, seconds=0.1),
    Candidate("boosting, P against U", "naive", {"base": "boosting"}, seconds=0.15),
    Candidate("PUET", "puet", prior=True, seconds=0.2),
    Candidate("bagged forest", "pu-bagging", {"base": "forest", "n_estimators": 100}, seconds=0.3),
    Candidate("nnPU", "nnpu", prior=True, classic=False, seconds=4.0),
    Candidate("PUSB", "pusb", prior=True, classic=False, seconds=4.0),
    Candidate("VPU", "vpu", classic=False, seconds=10.0),
    Candidate("Dist-PU", "dist-pu", prior=True, classic=False, seconds=12.0),
)
