"""What a method may see of a problem: features, who is labeled, the prior it is given. Never a hidden label."""

from __future__ import annotations

import math
from functools import cached_property

import torch
from torch import Tensor

from ..data.generator import exact
from ..errors import PluginError
from ..specs import Scheme, is_one_sample, unlabeled_prior


class Features:
    """Feature rows on one device; images may be stored as uint8; a method gets float32 in [0, 1]."""

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return tuple(self.values.shape[1:])

    def take(self, rows: Tensor) -> Tensor:
        """(len(rows), *shape) float32."""
        chosen = self.values.index_select(0, rows)
        return chosen.to(torch.float32).div_(255) if chosen.dtype == torch.uint8 else chosen


class PUPart:
    """A table of labeled positives followed by unlabeled rows (LP ‖ U).

    ``labeled``: (n,) bool. A row's position in this table is its identity: in case-control a labeled positive and
    its unlabeled copy are two rows (with the same ``instance``) that may carry separate state.
    """

    def __init__(self, features: Features, instance: Tensor, labeled: Tensor, scheme: Scheme) -> None:
        self._features = features
        self.instance = instance
        self.labeled = labeled
        self.scheme: Scheme = scheme

    def __len__(self) -> int:
        return len(self.instance)

    @property
    def n_labeled(self) -> int:
        """Number of labeled positives."""
        return int(self.labeled.sum())

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabeled rows."""
        return len(self) - self.n_labeled

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one feature row."""
        return self._features.shape

    @cached_property
    def x(self) -> Tensor:
        """(n, *shape) float32: every row of the table. Batches do not need it; methods without batches do."""
        return self.take(torch.arange(len(self), device=self.instance.device))

    def take(self, rows: Tensor) -> Tensor:
        """(len(rows), *shape) float32 features of the given rows of this table."""
        return self._features.take(self.instance[rows])

    @cached_property
    def labeled_rows(self) -> Tensor:
        """Positions of the labeled positives."""
        return torch.nonzero(self.labeled).flatten()

    @cached_property
    def unlabeled_rows(self) -> Tensor:
        """Positions of the unlabeled rows."""
        return torch.nonzero(~self.labeled).flatten()

    @cached_property
    def distinct_rows(self) -> Tensor:
        """Positions that name every instance once: U where it contains the labeled positives, else all rows."""
        if torch.isin(self.instance[self.labeled_rows], self.instance[self.unlabeled_rows]).all():
            return self.unlabeled_rows
        return torch.arange(len(self), device=self.instance.device)


class PUData(PUPart):
    """The training table and everything else a method is given.

    ``validation``: a part of the same structure, labeled by the same mechanism. ``prior``: π = p(y = 1) of the
    pool as the method is given it; ``unlabeled_prior``: the share of positives that this implies for the unlabeled
    rows. Reading ``prior`` or ``truth`` without having declared it in ``Method.requires`` is a PluginError.
    """

    def __init__(
        self,
        features: Features,
        instance: Tensor,
        labeled: Tensor,
        scheme: Scheme,
        *,
        validation: PUPart,
        granted: frozenset[str],
        prior: float,
        truth: Tensor | None,
    ) -> None:
        super().__init__(features, instance, labeled, scheme)
        self.validation = validation
        self._granted, self._prior, self._truth = granted, prior, truth

    def _grant(self, what: str) -> None:
        if what not in self._granted:
            raise PluginError(f"data.{what} was read but Method.requires(config) does not name '{what}'")

    @property
    def prior(self) -> float:
        """π as given."""
        self._grant("prior")
        return self._prior

    @property
    def unlabeled_prior(self) -> float:
        """Share of positives in the unlabeled rows that the given π implies."""
        self._grant("prior")
        if not is_one_sample(self.scheme) or len(self.distinct_rows) == self.n_unlabeled:
            return self._prior
        return unlabeled_prior(self._prior, self.n_labeled, len(self))

    @property
    def truth(self) -> Tensor:
        """(n,) float32 true labels of the training table, for methods that were granted them (oracles)."""
        self._grant("truth")
        assert self._truth is not None
        return self._truth

    def hold_out(self, fraction: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """(kept rows, held-out rows): a share of the labeled and of the other *instances*, at least one of each
        on both sides (a single labeled positive is kept).

        A labeled positive and its unlabeled copy go to the same side.
        """
        labeled_instances = self.instance[self.labeled_rows]
        others = self.instance[self.unlabeled_rows]
        others = others[~torch.isin(others, labeled_instances)]
        held = []
        for group in (labeled_instances, others):
            order = torch.randperm(len(group), generator=generator).to(group.device)
            size = math.floor(exact(fraction) * len(group))
            held.append(group[order[: min(max(1, size), len(group) - 1)]])
        out = torch.isin(self.instance, torch.cat(held))
        rows = torch.arange(len(self), device=self.instance.device)
        return rows[~out], rows[out]
