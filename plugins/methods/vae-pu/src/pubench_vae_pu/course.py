"""Order in which VAE-PU trains its parts, and the masses that its risk is weighted by."""

from __future__ import annotations

import itertools
import math
from typing import NamedTuple

from torch import Tensor

from pubench.method import PUData

#: Where stages end, as shares of the epochs: 400, 500, 600 and 700 of the official 800.
ENDS = (0.5, 0.625, 0.75, 0.875, 1.0)


class Stage(NamedTuple):
    """Epochs in which the same networks train. ``final``: the classifier trains from here to the end."""

    name: str
    epochs: int
    generator: bool
    classifier: bool
    final: bool


class Masses(NamedTuple):
    """Shares of all rows: labeled positives, unlabeled positives, and U, which has the latter in it."""

    labeled: float
    unlabeled_positive: float
    unlabeled: float

    @property
    def prior(self) -> float:
        """π, the share of positives."""
        return self.labeled + self.unlabeled_positive


def schedule(epochs: int) -> list[Stage]:
    """The stages after reconstruction, in order, of so many epochs in all. Ends are rounded down.

    The last one has an epoch, however few there are; with 7 or more, every stage has one.
    """
    ends = [math.floor(share * epochs) for share in (0.0, *ENDS)]
    lengths = [end - start for start, end in itertools.pairwise(ends)]
    return [
        Stage("generation", lengths[0], generator=True, classifier=False, final=False),
        Stage("classification", lengths[1], generator=False, classifier=True, final=False),
        Stage("consistency", lengths[2], generator=True, classifier=False, final=False),
        Stage("both", lengths[3], generator=True, classifier=True, final=True),
        Stage("classification", lengths[4], generator=False, classifier=True, final=True),
    ]


def masses_of(data: PUData, u_rows: Tensor) -> Masses:
    """n_l / N, the unlabeled positives that the prior implies / N, n_u / N; N = n_l + n_u.

    ``u_rows``: the n_u rows of U that are no copies of labeled ones. The prior speaks of U as it is given, copies
    included. A prior below the share of labeled rows leaves no unlabeled positive.
    """
    n, copies = data.n_labeled + len(u_rows), data.n_unlabeled - len(u_rows)
    positive = data.unlabeled_prior * data.n_unlabeled - copies
    return Masses(data.n_labeled / n, max(positive, 0.0) / n, len(u_rows) / n)
