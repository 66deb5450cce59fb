"""Figures that others have published, to compare with, and why ours are others where that is known.

The tables are data of this package; ``README.md`` next to this file says where they come from.
"""

from __future__ import annotations

import csv
import math
import tomllib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from importlib.resources import files
from typing import Any, Literal

from pubench_core.errors import unknown

#: Whether the difference of two means is less than two of its standard errors, or ours is above or below.
Verdict = Literal["matched", "above", "below"]
#: Standard errors of the difference below which two means match.
WITHIN = 2.0
#: Points below which a difference to a published figure is none, however small its standard error.
MARGIN = 0.5
#: What a comparison can find for a cell, in the order of counts.
NOT_RELEASED = "not from the released code"
STANDINGS = ("matched", "explained", NOT_RELEASED, "known difference", "unexplained", "not judged")


@dataclass(frozen=True)
class Figure:
    """Mean and sample standard deviation over ``n`` runs; the deviation is None for one run.

    ``alike``: the number of these runs that decide all test rows the same way, as far as the records tell.
    """

    mean: float
    std: float | None
    n: int
    alike: int = 0

    def __str__(self) -> str:
        spread = "" if self.std is None else f" ± {self.std:.2f}"
        alike = f", {self.alike} alike" if self.alike else ""
        return f"{self.mean:.2f}{spread} ({self.n}{alike})"


@dataclass(frozen=True)
class PublishedCell:
    """A figure in percent. ``printed``: the number after ±; ``std``: the sample standard deviation that this means.

    ``n``: runs behind the figure. ``binarization``, ``calibrate``: empty unless the publication has several.
    """

    method: str
    data: str
    printed_name: str
    table: str
    binarization: str
    calibrate: str
    criterion: str
    measure: str
    mean: float
    printed: float
    std: float
    n: int

    @property
    def figure(self) -> Figure:
        """Mean, sample standard deviation and number of runs."""
        return Figure(self.mean, self.std, self.n)


@dataclass(frozen=True)
class Reason:
    """Why a figure of ours is another one."""

    reason: str
    evidence: str
    known: str
    """run (something was executed) or read (in released code)"""
    methods: Sequence[str] = ()
    data: Sequence[str] = ()
    side: str = ""
    released: str = ""
    """the recipe of the released code, if that was executed"""
    gives: Sequence[float] = ()
    """mean, sample standard deviation and number of what was executed"""

    def fits(self, method: str, data: str, verdict: Verdict) -> bool:
        """Whether it is about this cell, on the side where ours lies."""
        return (
            (not self.methods or method in self.methods)
            and (not self.data or data in self.data)
            and self.side in ("", verdict)
        )


@dataclass(frozen=True)
class Publication:
    """A publication, as ``sources.toml`` describes it, with its tables."""

    name: str
    title: str
    venue: str
    year: int
    tables: str
    seeds: int
    """runs behind each figure"""
    deviation: float
    """times the printed ± is the sample standard deviation"""
    criteria: Sequence[str]
    """by which the figures can be read, the first is the main one; ``measures`` too"""
    measures: Sequence[str]
    protocol: Mapping[str, Any]
    """request that every run must be of, method, data set and classes apart"""
    cells: tuple[PublishedCell, ...]
    reasons: tuple[Reason, ...]
    note: str = ""
    """what else a reader of a comparison must know"""
    on: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    """data set -> what the request has there besides"""
    draws: int = 1
    """hyper-parameter draws of which each figure is the best"""

    @property
    def citation(self) -> str:
        return f"{self.name}: {self.title}. {self.venue} {self.year}. {self.tables}."

    def reason_of(self, method: str, data: str, verdict: Verdict | None, draws: int = 1) -> Reason | None:
        """The first known reason of a cell; None if there is none, and unless ours is above or below.

        ``draws``: hyper-parameter draws that ours was chosen from. Fewer than theirs is a reason to be below.
        """
        if verdict is None or verdict == "matched":
            return None
        known = next((reason for reason in self.reasons if reason.fits(method, data, verdict)), None)
        if known is not None or verdict == "above" or draws >= self.draws:
            return known
        return Reason(
            f"theirs is the best of {self.draws} hyper-parameter draws on every split, ours is not",
            f"the protocol of {self.name}",
            "read",
            side="below",
        )


def standard_error(ours: Figure, theirs: Figure) -> float | None:
    """Standard error of the difference of two means of independent runs, sqrt(s1^2 / n1 + s2^2 / n2).

    None if a side has one run, since one run has no deviation, and if neither side varies.

    >>> round(standard_error(Figure(86.78, 1.43, 10), Figure(81.66, 2.73, 10)), 2)
    0.97
    """
    if ours.std is None or theirs.std is None:
        return None
    return math.sqrt(ours.std**2 / ours.n + theirs.std**2 / theirs.n) or None


def verdict_of(ours: Figure, theirs: Figure) -> Verdict | None:
    """Whether two means differ by less than two standard errors of their difference; None without that error.

    >>> verdict_of(Figure(86.78, 1.43, 10), Figure(81.66, 2.73, 10))
    'above'
    """
    error = standard_error(ours, theirs)
    if error is None:
        return None
    difference = ours.mean - theirs.mean
    if abs(difference) < WITHIN * error:
        return "matched"
    return "above" if difference > 0 else "below"


def standing_of(ours: Figure, theirs: Figure, reason: Reason | None, margin: float = 0.0) -> str:
    """Standing of a cell: one of :data:`STANDINGS`. ``margin``: points below which a difference is none.

    ``explained``: what the reason names was executed and gives theirs, to two standard errors. ``not from the released
    code``: the released recipe gives ours and not theirs. ``known difference``: no run gives theirs.
    """
    verdict = verdict_of(ours, theirs)
    if verdict is None:
        return "not judged"
    if verdict == "matched" or abs(ours.mean - theirs.mean) < margin:
        return "matched"
    if reason is None or not reason.gives:
        return "unexplained" if reason is None else "known difference"
    mean, std, n = reason.gives
    like_theirs, like_ours = (verdict_of(Figure(mean, std, int(n)), side) == "matched" for side in (theirs, ours))
    return "explained" if like_theirs else NOT_RELEASED if reason.released and like_ours else "known difference"


def names() -> tuple[str, ...]:
    """The publications of which there are tables."""
    return tuple(_toml("sources.toml"))


@cache
def source(name: str) -> Publication:
    """A publication's tables. Raises RequestError for one that is not here.

    >>> source("pubench2026").cells[1].mean
    88.81
    """
    known = _toml("sources.toml")
    if name not in known:
        raise unknown("publication", name, known)
    facts = dict(known[name])
    text = (files(__name__) / f"{name}.csv").read_text(encoding="utf-8")

    def cell(mean: str, printed: str, **row: str) -> PublishedCell:
        std = facts["deviation"] * float(printed)
        return PublishedCell(mean=float(mean), printed=float(printed), std=std, n=facts["seeds"], **row)

    return Publication(
        cells=tuple(cell(**row) for row in csv.DictReader(text.splitlines())),
        reasons=tuple(Reason(**given) for given in _toml("reasons.toml").get(name, ())),
        **facts,
    )


def _toml(name: str) -> dict[str, Any]:
    return tomllib.loads((files(__name__) / name).read_text(encoding="utf-8"))
