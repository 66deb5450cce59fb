"""SCAR (S1 of PU-Bench): N_l positives drawn uniformly without replacement; the propensity is e(x) = c."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.mechanism import Mechanism


class SCAR(Mechanism):
    def choose(
        self,
        x_pos: npt.NDArray[Any],
        posterior_logit: npt.NDArray[np.float64] | None,
        n: int,
        rng: np.random.Generator,
    ) -> npt.NDArray[np.int64]:
        return rng.choice(len(x_pos), size=n, replace=False)
