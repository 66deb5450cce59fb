"""Labels of which a share goes to negatives, the noisy positives of Jain et al. (AAAI 2017)."""

from __future__ import annotations

from .draws import SCAR


class NoisyPositives(SCAR):
    """A share β of the labels goes to positives, the rest to negatives; both are drawn uniformly.

    The labeled rows are a draw from β f1 + (1 - β) f0. The variant is β, as a decimal.
    """

    def __init__(self, variant: str) -> None:
        super().__init__(variant)
        self.purity = float(variant)
