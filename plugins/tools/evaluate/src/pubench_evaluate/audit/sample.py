"""Which rows a person should check: drawn by bands of the score, on a sheet that says nothing of scores or labels."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench.field_names import in_words
from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream
from pubench_core.records.files import OF_THE_TABLE

from ..belief import Belief
from ..scored_rows import IntArray, LabeledScores, scored_rows
from ..thresholds import Cuts

if TYPE_CHECKING:
    from pandas import DataFrame

#: Draws of a band of the score, as far as they can be dealt out.
_PER_BAND = 6
_VERSION = 3
#: Fields that a design holds as JSON and as arrays, next to the scores.
_ABOUT = ("threshold", "seed", "bands", "n_bands_above", "name", "n_labeled")
_ARRAYS = ("rows", "drawn", "band")
#: Columns of a sheet that are not the table's.
COLUMNS = ("audit", "row", "answer")


@dataclass(frozen=True)
class AuditSample:
    """Rows to check."""

    scored: LabeledScores
    rows: IntArray
    """(n_all,) numbers by which the reader knows the scored rows"""
    threshold: float
    seed: int
    drawn: IntArray
    """(n,) positions among the scored rows, in random order"""
    band: IntArray
    """(n,) of each"""
    bands: tuple[tuple[float, float, int, int], ...]
    """(low, high, rows, drawn) of each band of the score, the highest first"""
    n_bands_above: int
    """those above the threshold"""
    name: str = "scores"
    n_labeled: int | None = None
    """how many rows are labeled in all, if only some of them have a score"""

    @property
    def key(self) -> str:
        """Names this sample on its sheet: a hash of everything but scores of labeled rows, which may come later."""
        facts = (self.threshold, self.seed, self.scored.scheme, self.scored.purity)
        digest = hashlib.sha256(repr((*facts, self.bands, self.n_bands_above)).encode())
        for array in (self.scored.of_unlabeled, self.scored.labeled, self.rows, self.drawn, self.band):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    @property
    def to_check(self) -> IntArray:
        """(n,) numbers of the rows to check, in the order of the sheet."""
        return self.rows[self.drawn]

    def sheet(self, ids: Mapping[str, npt.NDArray[Any]] | None = None) -> DataFrame:
        """Sheet for a person to fill in: ``audit``, ``row``, columns of the table, and an empty ``answer``.

        Neither scores nor labels nor true labels are on it: an answer must not be led by them. ``ids``: columns of the
        table that name or describe the rows, (n_all,) each.
        """
        import pandas as pd

        named = {
            f"{name}{OF_THE_TABLE}" if name in COLUMNS else name: np.asarray(texts)[self.drawn]
            for name, texts in (ids or {}).items()
        }
        empty = np.full(len(self.drawn), "", dtype=object)
        audit, row, answer = COLUMNS
        return pd.DataFrame({audit: self.key, row: self.to_check, **named, answer: empty})

    def save(self, path: str | Path) -> Path:
        """Writes what the answers are to be read with: an npz. Raises OSError if it cannot be written."""
        about = {name: getattr(self, name) for name in _ABOUT} | {"version": _VERSION, "key": self.key}
        about |= {"scheme": self.scored.scheme, "purity": self.scored.purity}
        arrays: dict[str, Any] = {name: getattr(self, name) for name in _ARRAYS}
        arrays |= {"scores": self.scored.scores, "labeled": self.scored.labeled}
        path = Path(path)
        with path.open("wb") as file:
            np.savez_compressed(file, **arrays, about=np.array(json.dumps(about)))
        return path

    @classmethod
    @in_words()
    def load(cls, path: str | Path) -> AuditSample:
        """Reads what :meth:`save` wrote. Raises InvalidRequest (a ValueError) for anything else."""
        wrong = f"design={path}: must be a file that pubench audit wrote next to its sheet, unchanged"
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = dict(stored)
            about = {"n_labeled": None, **json.loads(str(arrays["about"]))}
            scored = LabeledScores.made(arrays["scores"], arrays["labeled"], None, about["scheme"], about["purity"])
            facts = {name: about[name] for name in _ABOUT} | {"bands": tuple(map(tuple, about["bands"]))}
            found = cls(scored, **{name: arrays[name] for name in _ARRAYS}, **facts)
        except OSError as error:
            raise RequestError(
                f"design={path}: it cannot be read ({error.strerror or error})", field="design"
            ) from error
        except (ValueError, KeyError, TypeError, EOFError, MemoryError, zipfile.BadZipFile, zlib.error) as error:
            raise RequestError(wrong, field="design") from error
        if about.get("version") != _VERSION or found.key != about["key"]:
            raise RequestError(wrong, field="design")
        return found


def audit_sample(
    scores: Any,
    labeled: Any,
    *,
    n: int = 60,
    threshold: float | None = None,
    budget: int | None = None,
    scheme: str = "one-sample",
    purity: float = 1.0,
    rows: Sequence[int] | npt.NDArray[np.int64] | None = None,
    n_labeled: int | None = None,
    name: str = "scores",
    groups: Any = None,
    pos_label: Any = None,
    seed: int = 0,
) -> AuditSample:
    """Which ``n`` unlabeled rows a person should check, drawn from a seed and stratified by score.

    Half of them are above the threshold and half below (all of a side that has fewer), on each side spread over bands
    of the score in proportion to their rows. Labeled rows are not drawn: they are taken as positive with share
    ``purity``. ``threshold``, ``budget``: as :func:`pubench.evaluate` has them. ``rows``: numbers of the
    rows as the reader knows them; by default 0, 1, .... ``n_labeled``: how many rows are labeled in all, if those given
    are the ones held out of training and unlabeled rows are not: the prior counts all, and SCAR is not tested.
    ``groups``: (n_all,) values such as patients, whose rows say much the same; a second row of a group is drawn only if
    a band has no row of another one.

    Raises InvalidRequest (a ValueError).

    >>> rng = np.random.default_rng(0)
    >>> sample = audit_sample(rng.normal(size=500), np.arange(500) < 50, n=20)
    >>> len(sample.to_check), bool(sample.scored.labeled[sample.drawn].any())
    (20, False)
    """
    with in_words():
        scored = scored_rows(scores, labeled, scheme=scheme, purity=purity, pos_label=pos_label)
        population = np.flatnonzero(~scored.labeled)
        if not isinstance(n, (int, np.integer)) or not 2 <= n <= len(population):
            raise RequestError(
                f"n must be from 2 to {len(population)}, the number of unlabeled rows, got {shown(n)}",
                field="n",
                value=n,
            )
        n_all = len(scored.scores)
        numbers = np.arange(n_all) if rows is None else np.asarray(rows, dtype=np.int64)
        if numbers.shape != (n_all,) or len(np.unique(numbers)) != n_all:
            raise RequestError(f"rows: expected {n_all} different numbers, one per score", field="rows")
        cut = Cuts(scored, Belief(), seed).chosen(threshold, budget, None).threshold
        rng = stream(seed, "audit")
        above = population[scored.scores[population] > cut]
        below = population[scored.scores[population] <= cut]
        n_above = max(min(len(above), round(n / 2)), n - len(below))
        of_above, of_below = _bands(scored, above, n_above, rng), _bands(scored, below, n - n_above, rng)
        bands = [(members, scored.scores[members], count) for members, count in (*of_above, *of_below)]
        taken: list[IntArray] = []
        for members, _, count in bands:
            if groups is not None:
                shuffled = rng.permutation(members)
                members = shuffled[np.argsort(_seen(np.asarray(groups), shuffled, taken), kind="stable")][:count]
            taken.append(rng.choice(members, count, replace=False))
        drawn = np.concatenate(taken)
        band = np.repeat(np.arange(len(bands)), [count for *_, count in bands])
        order = rng.permutation(n)
        return AuditSample(
            scored=scored,
            rows=numbers,
            threshold=cut,
            seed=seed,
            drawn=drawn[order],
            band=band[order],
            bands=tuple((float(x.min()), float(x.max()), len(x), count) for _, x, count in bands),
            n_bands_above=len(of_above),
            name=name,
            n_labeled=n_labeled,
        )


def _seen(groups: npt.NDArray[Any], members: IntArray, taken: Sequence[IntArray]) -> npt.NDArray[np.bool_]:
    """(n,) whether a row's group is among the rows taken, or of an earlier one of ``members``."""
    first = np.unique(groups[members], return_index=True)[1]
    found = ~np.isin(np.arange(len(members)), first)
    return found | np.isin(groups[members], groups[np.concatenate(taken)]) if taken else found


def _bands(scored: LabeledScores, side: IntArray, take: int, rng: np.random.Generator) -> list[tuple[IntArray, int]]:
    """Bands of the score, the highest first, each with as many draws as its share of the side's rows gives it."""
    if not take:
        return []
    shuffled = rng.permutation(side)  # equal scores are in no order
    ordered = shuffled[np.argsort(-scored.scores[shuffled], kind="stable")]
    n_bands = max(1, take // _PER_BAND)
    ends = [take * k // n_bands for k in range(n_bands + 1)]
    borders = [int(len(side) * end / take + 0.5) for end in ends]
    return [
        (ordered[start:stop], upto - since)
        for start, stop, since, upto in zip(borders, borders[1:], ends, ends[1:], strict=False)
    ]
