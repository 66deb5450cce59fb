"""View of a problem for a method: features, who is labeled, the prior it is given. Never a hidden label."""

from __future__ import annotations

import math
import warnings
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor

from ..data.generator import exact
from ..data.sparse import SparseRows
from ..errors import PluginError
from ..specs import Scheme

#: What authors of methods call true labels.
_TRUE_LABELS = frozenset({"y", "Y", "y_true", "labels", "targets", "target"})
Value = TypeVar("Value")


class Features:
    """Feature rows on one device; images may be stored as uint8; a method gets float32 in [0, 1]."""

    def __init__(self, values: Tensor) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)

    @property
    def device(self) -> torch.device:
        """The device that rows are given on."""
        return self.values.device

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one row."""
        return tuple(self.values.shape[1:])

    def take(self, rows: Tensor) -> Tensor:
        """Features of these rows, (len(rows), *shape) float32; images in the memory format ``channels_last``."""
        chosen = self.values.index_select(0, rows)
        if chosen.dtype != torch.uint8:
            return channels_last(chosen)
        layout = torch.channels_last if chosen.dim() == 4 else torch.preserve_format
        return chosen.to(torch.float32, memory_format=layout).div_(255)


class SparseFeatures(Features):
    """Sparse rows on the CPU, given dense on a device; or sparse, to a method that takes them so."""

    def __init__(self, rows: SparseRows, device: torch.device, *, keep: bool) -> None:
        super().__init__(torch.empty(0, rows.width, device=device))
        self.rows, self.keep = rows, keep

    def __len__(self) -> int:
        return len(self.rows)

    def take(self, rows: Tensor) -> Tensor:
        found = self.rows[rows.cpu().numpy()]
        if not self.keep:
            return torch.from_numpy(found.dense()).to(self.device)
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", "Sparse CSR tensor support is in beta")
            starts, columns, values = map(
                torch.from_numpy, (found.starts, found.columns.astype(np.int64), found.values)
            )
            return torch.sparse_csr_tensor(starts, columns, values, found.shape, check_invariants=False)


def features_of(x: npt.NDArray[Any] | SparseRows, device: torch.device, *, keep_sparse: bool) -> Features:
    """Features of (n, *shape) rows. ``keep_sparse``: sparse ones are given as they are."""
    if isinstance(x, SparseRows):
        return SparseFeatures(x, device, keep=keep_sparse)
    return Features(torch.from_numpy(x).to(device))


class PUPart:
    """A table of labeled positives followed by unlabeled rows (LP ‖ U), and by ``n_negative`` known negatives.

    ``labeled``: (n,) bool. A row's position in this table is its identity: in case-control a labeled positive and
    its unlabeled copy are two rows (with the same ``instance``) that may carry separate state. ``instance``: (n,)
    positions in the randomly permuted pool, never rows of a file: files are sorted by class.
    """

    n_negative = 0

    def __init__(self, features: Features, instance: Tensor, labeled: Tensor, scheme: Scheme) -> None:
        self._features = features
        self.instance = instance
        self.labeled = labeled
        self.scheme: Scheme = scheme

    def __len__(self) -> int:
        return len(self.instance)

    if not TYPE_CHECKING:  # a checker of types knows what is there

        def __getattr__(self, name):
            """Raises AttributeError, which explains why true labels are not here."""
            missing = f"{type(self).__name__} has no attribute {name!r}"
            if name in _TRUE_LABELS:
                missing += (
                    ": true labels are hidden from methods. PUData.labeled says who is labeled; the page 'What a "
                    "method cannot see' (docs/pages/hidden-labels.md) says why"
                )
            raise AttributeError(missing, name=name, obj=self)

    @cached_property
    def n_labeled(self) -> int:
        """Number of labeled positives."""
        return int(self.labeled.sum())

    @property
    def n_unlabeled(self) -> int:
        """Number of unlabeled rows."""
        return len(self) - self.n_labeled - self.n_negative

    @property
    def shape(self) -> tuple[int, ...]:
        """Shape of one feature row."""
        return self._features.shape

    @cached_property
    def x(self) -> Tensor:
        """Features of every row, (n, *shape) float32. Batches do not need it; methods without batches do."""
        return self.take(torch.arange(len(self), device=self.instance.device))

    def take(self, rows: Tensor) -> Tensor:
        """Features of the given rows of this table, (len(rows), *shape) float32."""
        return self._features.take(self.instance[rows])

    @cached_property
    def labeled_rows(self) -> Tensor:
        """Positions of the labeled positives."""
        return torch.nonzero(self.labeled).flatten()

    @cached_property
    def unlabeled_rows(self) -> Tensor:
        """Positions of the unlabeled rows."""
        return torch.nonzero(~self.labeled).flatten()[: self.n_unlabeled]

    @property
    def negative_rows(self) -> Tensor:
        """Positions of the known negatives; none unless the method's info says ``learns_from_negatives``."""
        return torch.arange(len(self) - self.n_negative, len(self), device=self.instance.device)

    @cached_property
    def distinct_rows(self) -> Tensor:
        """Positions that name every instance once: U where it contains the labeled positives, else all rows."""
        if torch.isin(self.instance[self.labeled_rows], self.instance[self.unlabeled_rows]).all():
            return self.unlabeled_rows
        return torch.arange(len(self), device=self.instance.device)


class PUData(PUPart):
    """The training table and everything else a method is given.

    ``validation``: a part of the same structure, labeled by the same mechanism. ``prior``: π = p(y = 1) of the
    pool as the method is given it; ``unlabeled_prior``: the share of positives in the unlabeled rows that it is to
    believe. What ``Method.requires`` does not declare is not here: reading it is a PluginError.
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
        prior: float | None,
        unlabeled_prior: float | None = None,
        truth: Tensor | None,
        categories: tuple[tuple[int, int], ...] = (),
        weight: Tensor | None = None,
        group: Tensor | None = None,
        n_negative: int = 0,
    ) -> None:
        """``granted``: what of {"prior", "truth"} is kept here at all. ``unlabeled_prior``: by default ``prior``."""
        super().__init__(features, instance, labeled, scheme)
        self.n_negative = n_negative
        #: (n,) codes; rows of one are not parted, in folds or in what is held out: a table's groups, else instances
        self.group = instance if group is None else group
        #: (first, stop) of each run of features that are the one-hot values of one category: above 0 is the row's.
        self.categories = categories
        #: (n,) weights of the rows, above 0; None if all weigh the same
        self.weight = weight
        self.validation = validation
        believed = prior if unlabeled_prior is None else unlabeled_prior
        self._prior = prior if "prior" in granted else None
        self._unlabeled_prior = believed if "prior" in granted else None
        self._truth = truth if "truth" in granted else None

    @property
    def knows_prior(self) -> bool:
        """Whether ``prior`` and ``unlabeled_prior`` can be read."""
        return self._prior is not None

    @property
    def prior(self) -> float:
        """π as given."""
        return float(_granted("prior", self._prior))

    @property
    def unlabeled_prior(self) -> float:
        """Share of positives in the unlabeled rows as given: what π implies, or π itself where U stands for the pool.

        U stands for the pool in case-control, under calibration, and where a method of the two-sample setting is run
        without calibration on purpose (``method.calibrate=off``).
        """
        return float(_granted("prior", self._unlabeled_prior))

    @property
    def truth(self) -> Tensor:
        """True labels, (n,) float32, of the training table, for methods that were granted them (oracles)."""
        return _granted("truth", self._truth)

    def held_out_labeled(self, fraction: float) -> int:
        """How many labeled positives, or groups of them, :meth:`hold_out` holds out."""
        return _held_out(len(_each_once(self.group[self.labeled_rows])), fraction)

    def hold_out(self, fraction: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
        """Splits rows into (kept, held out): a share of the groups with labels and of the others, at least one of each
        on both sides (a single labeled one is kept).

        A labeled positive and its unlabeled copy go to the same side.
        """
        with_labels = _each_once(self.group[self.labeled_rows])
        others = _each_once(self.group[self.unlabeled_rows])
        held = []
        for groups in (with_labels, others[~torch.isin(others, with_labels)]):
            order = torch.randperm(len(groups), generator=generator).to(groups.device)
            held.append(groups[order[: _held_out(len(groups), fraction)]])
        out = torch.isin(self.group, torch.cat(held))
        rows = torch.arange(len(self), device=self.instance.device)
        return rows[~out], rows[out]


def _each_once(codes: Tensor) -> Tensor:
    """The different codes, in the order of their first places."""
    first = np.sort(np.unique(codes.cpu().numpy(), return_index=True)[1])
    return codes[torch.from_numpy(first).to(codes.device)]


def _held_out(n: int, fraction: float) -> int:
    """The share of n that is held out, rounded down; one at least on both sides, the kept one first."""
    return min(max(1, math.floor(exact(fraction) * n)), n - 1)


def channels_last(x: Tensor) -> Tensor:
    """Images (B, C, H, W) in the memory format that networks train faster on; anything else as it is."""
    return x.contiguous(memory_format=torch.channels_last) if x.dim() == 4 else x


def _granted(what: str, value: Value | None) -> Value:
    if value is None:
        raise PluginError(f"data.{what} was read but Method.requires(config) does not name '{what}'")
    return value
