"""S2 and S3 of PU-Bench with another power k than 10: variant ``k=5`` has the weights p^5 and (1 - p)^5."""

from __future__ import annotations

import scipy

from .draws import AtypicalFirst, FloatArray, TypicalFirst, Weighted

#: Powers besides the published one. Every power of p orders positives alike, so S4 needs none.
VARIANTS = ("k=2", "k=5", "k=20")


class _Powered(Weighted):
    sign = 1

    def log_weight(self, logit: FloatArray) -> FloatArray:
        if self.variant not in VARIANTS:
            return super().log_weight(logit)  # type: ignore[safe-super]
        weight: FloatArray = float(self.variant.removeprefix("k=")) * scipy.special.log_expit(self.sign * logit)
        return weight


class TypicalByPower(_Powered, TypicalFirst):
    """S2: weight p^k."""


class AtypicalByPower(_Powered, AtypicalFirst):
    """S3: weight (1 - p)^k."""

    sign = -1
