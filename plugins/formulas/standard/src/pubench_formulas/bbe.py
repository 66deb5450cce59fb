"""Best bin estimation: the share of positives in U from scores of any classifier.

Garg, Wu, Smola, Balakrishnan, Lipton, NeurIPS 2021, Algorithm 1. Official code: acmi-lab/PU_learning, estimator.py.
"""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]


class BestBin(NamedTuple):
    """``share``: the estimate, 0 where no bin is admissible; not clipped, it can exceed 1.

    Of every admissible bin, largest scores first: ``position`` of its lowest unlabeled score in descending order,
    ``estimate``, and ``width`` of the confidence interval around it. ``best``: which of them was taken, or -1.
    """

    share: float
    position: npt.NDArray[np.int64]
    estimate: Array
    width: Array
    best: int


def best_bin(
    positive: npt.NDArray[Any],
    unlabeled: npt.NDArray[Any],
    *,
    delta: float = 0.1,
    gamma: float = 0.01,
    inclusive: bool = False,
) -> BestBin:
    """The share of positives in U: that of the top bin whose upper confidence bound is smallest.

    A top bin holds all scores from u_(i) upwards, u_(0) >= u_(1) >= ... being those of U. As negatives can only add to
    it, the ratio of the fractions of U and of P in it is an upper bound of the share, the closer the fewer negatives
    it holds, the noisier the fewer rows it holds.

    ``positive``, ``unlabeled``: (n_P,) and (n_U,) scores of held-out rows, higher for positives; only their order
    matters, and logits keep it where probabilities saturate. ``delta``: 1 - confidence; ``gamma``: relaxation. As in
    the official code, i counts the rows of U before position i, a bin ends where scores differ, and it needs i > 1
    and two positives. ``inclusive``: as the paper has it, all rows of U in the bin are counted, the bin of all of them
    is one, and a bin needs one positive.
    """
    u = np.sort(unlabeled)[::-1]
    position = np.flatnonzero(u[:-1] > u[1:])
    if inclusive:
        position = np.append(position, len(u) - 1)
    in_p = len(positive) - np.searchsorted(np.sort(positive), u[position], side="left")
    admissible = in_p > 0 if inclusive else (position > 1) & (in_p > 1)
    position, in_p = position[admissible], in_p[admissible]
    if not len(position):
        return BestBin(0.0, position, np.empty(0), np.empty(0), -1)
    inverse = len(positive) / in_p
    estimate = (position + inclusive) / len(u) * inverse
    noise = math.log(4 / delta) / 2
    width = (math.sqrt(noise / len(positive)) + math.sqrt(noise / len(u))) * (1 + gamma) * inverse
    best = int(np.argmin(estimate + width))
    return BestBin(float(estimate[best]), position, estimate, width, best)
