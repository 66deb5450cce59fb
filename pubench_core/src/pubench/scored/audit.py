"""Audit sets: which rows a person should check, and what the answers say of prior, precision, recall and SCAR."""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream
from pubench_core.results import plain_data
from pubench_core.specs import is_one_sample

from ..words import in_words
from .audit_statistics import Estimate, Melded, ScarTest, Side, clopper_pearson, scar_test
from .cutting import Cuts, Shares
from .rows import BoolArray, IntArray, ScoredRows, scored_rows

if TYPE_CHECKING:
    from pandas import DataFrame

#: Draws of a band of the score, as far as they can be dealt out.
_PER_BAND = 6
#: The most that an answer may be, as texts.
_YES, _NO = (
    frozenset({"1", "1.0", "true", "yes", "y", "positive", "p"}),
    frozenset({"0", "0.0", "-1", "-1.0", "false", "no", "n", "negative"}),
)
_BLANK = frozenset({"", "?", "nan", "none"})
_VERSION = 1


@dataclass(frozen=True)
class AuditSample:
    """Rows to check. ``drawn``: (n,) positions among the scored rows, in random order; ``band``: (n,) of each.

    ``rows``: (n_all,) numbers by which the reader knows the scored rows. ``bands``: (low, high, rows, drawn) of each
    band of the score, the highest first; ``n_bands_above``: those above the threshold.
    """

    scored: ScoredRows
    rows: IntArray
    threshold: float
    seed: int
    drawn: IntArray
    band: IntArray
    bands: tuple[tuple[float, float, int, int], ...]
    n_bands_above: int
    name: str = "scores"

    @property
    def key(self) -> str:
        """Names this sample on its sheet: a hash of everything in it."""
        digest = hashlib.sha256(f"{self.threshold!r} {self.seed} {self.scored.scheme} {self.scored.purity!r}".encode())
        for array in (self.scored.scores, self.scored.labeled, self.rows, self.drawn):
            digest.update(np.ascontiguousarray(array).data)
        return digest.hexdigest()[:16]

    @property
    def to_check(self) -> IntArray:
        """(n,) numbers of the rows to check, in the order of the sheet."""
        return self.rows[self.drawn]

    def sheet(self, ids: Mapping[str, npt.NDArray[Any]] | None = None) -> DataFrame:
        """What a person fills in: ``audit``, ``row``, columns that name the rows, and an empty ``answer``.

        Neither scores nor labels nor true labels are on it: an answer must not be led by them. ``ids``: (n_all,) each.
        """
        import pandas as pd

        named = {name: np.asarray(texts)[self.drawn] for name, texts in (ids or {}).items()}
        empty = np.full(len(self.drawn), "", dtype=object)
        return pd.DataFrame({"audit": self.key, "row": self.to_check, **named, "answer": empty})

    def save(self, path: str | Path) -> Path:
        """Writes what the answers are to be read with: an npz. Raises OSError if it cannot be written."""
        about = {
            "version": _VERSION,
            "key": self.key,
            "threshold": self.threshold,
            "seed": self.seed,
            "scheme": self.scored.scheme,
            "purity": self.scored.purity,
            "bands": self.bands,
            "n_bands_above": self.n_bands_above,
            "name": self.name,
        }
        path = Path(path)
        with path.open("wb") as file:
            np.savez_compressed(
                file,
                scores=self.scored.scores,
                labeled=self.scored.labeled,
                rows=self.rows,
                drawn=self.drawn,
                band=self.band,
                about=np.array(json.dumps(about)),
            )
        return path

    @classmethod
    def load(cls, path: str | Path) -> AuditSample:
        """Reads what :meth:`save` wrote. Raises InvalidRequest (a ValueError) for anything else."""
        with in_words():
            return cls._read(path)

    @classmethod
    def _read(cls, path: str | Path) -> AuditSample:
        wrong = f"design={path}: a file that pubench audit wrote beside its sheet is right"
        try:
            with np.load(path, allow_pickle=False) as stored:
                arrays = dict(stored)
            about = json.loads(str(arrays["about"]))
            scored = ScoredRows(arrays["scores"], arrays["labeled"], None, about["scheme"], about["purity"])
            found = cls(
                scored=scored,
                rows=arrays["rows"],
                threshold=about["threshold"],
                seed=about["seed"],
                drawn=arrays["drawn"],
                band=arrays["band"],
                bands=tuple((low, high, rows, drawn) for low, high, rows, drawn in about["bands"]),
                n_bands_above=about["n_bands_above"],
                name=about["name"],
            )
        except OSError as error:
            raise RequestError(
                f"design={path}: it cannot be read ({error.strerror or error})", field="design"
            ) from error
        except (ValueError, KeyError, TypeError, EOFError, zipfile.BadZipFile, zlib.error) as error:
            raise RequestError(wrong, field="design") from error
        if about.get("version") != _VERSION or found.key != about["key"]:
            raise RequestError(wrong, field="design")
        return found

    def __repr__(self) -> str:
        above = sum(drawn for *_, drawn in self.bands[: self.n_bands_above])
        return f"<audit {self.key} of {self.name}: {len(self.drawn)} rows to check, {above} above {self.threshold:.4g}>"


def audit_sample(
    scores: Any,
    labeled: Any,
    *,
    n: int = 60,
    threshold: float | None = None,
    budget: int | None = None,
    recall: float | None = None,
    scheme: str = "one-sample",
    purity: float = 1.0,
    rows: Sequence[int] | npt.NDArray[np.int64] | None = None,
    name: str = "scores",
    pos_label: Any = None,
    seed: int = 0,
) -> AuditSample:
    """Which ``n`` unlabeled rows a person should check, drawn from a seed and stratified by score.

    Half of them are above the threshold and half below (all of a side that has fewer), on each side spread over bands
    of the score in proportion to their rows. Labeled rows are not drawn: they are taken as positive with share
    ``purity``. ``threshold``, ``budget``, ``recall``: as :func:`pubench.evaluate` has them. ``rows``: numbers of the
    rows as the reader knows them; by default 0, 1, ....

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
                f"n={shown(n)}: between 2 and {len(population)} rows, which are all unlabeled ones", field="n", value=n
            )
        cut = Cuts(scored, Shares(None, None, scored.purity), seed).chosen(threshold, budget, recall).threshold
        return _drawn(scored, population, int(n), cut, _numbers_of(rows, len(scored.scores)), name, seed)


def _numbers_of(rows: Any, n: int) -> IntArray:
    numbers = np.arange(n) if rows is None else np.asarray(rows, dtype=np.int64)
    if numbers.shape != (n,) or len(np.unique(numbers)) != n:
        raise RequestError(f"rows: {n} different numbers are right, one per score", field="rows")
    return numbers


def _drawn(
    scored: ScoredRows, population: IntArray, n: int, cut: float, rows: IntArray, name: str, seed: int
) -> AuditSample:
    rng = stream(seed, "audit")
    above = population[scored.scores[population] > cut]
    below = population[scored.scores[population] <= cut]
    n_above = max(min(len(above), round(n / 2)), n - len(below))
    of_above, of_below = _bands(scored, above, n_above, rng), _bands(scored, below, n - n_above, rng)
    bands = [*of_above, *of_below]
    drawn = np.concatenate([rng.choice(members, count, replace=False) for members, count in bands])
    band = np.repeat(np.arange(len(bands)), [count for _, count in bands])
    order = rng.permutation(n)
    return AuditSample(
        scored=scored,
        rows=rows,
        threshold=cut,
        seed=seed,
        drawn=drawn[order],
        band=band[order],
        bands=tuple(_range_of(scored.scores[members], count) for members, count in bands),
        n_bands_above=len(of_above),
        name=name,
    )


def _range_of(scores: npt.NDArray[np.float64], count: int) -> tuple[float, float, int, int]:
    return float(scores.min()), float(scores.max()), len(scores), count


def _bands(scored: ScoredRows, side: IntArray, take: int, rng: np.random.Generator) -> list[tuple[IntArray, int]]:
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


# -------------------------------------------------------------------- answers


@dataclass(frozen=True)
class Band:
    """A band of the score: its lowest and highest score, rows, answers, positives and their share with its interval.

    ``mean_score``: of all its rows, to be held against the share where scores are probabilities.
    """

    low: float
    high: float
    rows: int
    checked: int
    positive: int
    share: Estimate
    mean_score: float


@dataclass(frozen=True)
class AuditResult:
    """What the answers say, with 95 % intervals. All but ``prior`` are of the unlabeled rows.

    ``prior``: π of the population; ``share``: of positives among the unlabeled rows; ``precision``, ``recall``: at
    ``threshold``; ``decided_per_positive``: rows above it for each positive (1 is calibrated). ``mean_score_error``:
    mean score minus share, where all scores are in [0, 1]. ``bands``: calibration by score. ``scar``: the test.
    """

    name: str
    threshold: float
    checked: int
    unanswered: int
    prior: Estimate
    share: Estimate
    precision: Estimate
    recall: Estimate
    decided_per_positive: Estimate
    mean_score_error: Estimate
    bands: tuple[Band, ...]
    scar: ScarTest
    level: float
    warnings: tuple[str, ...]

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return dict(plain_data(asdict(self)))

    def __repr__(self) -> str:
        scar = "not tested" if self.scar.p_value is None else "rejected" if self.scar.rejected else "not rejected"
        return f"<audit of {self.name}: {self.checked} rows checked, prior {_said(self.prior)}; SCAR {scar}>"


def _said(found: Estimate) -> str:
    return found.undefined if found.value is None else f"{found.value:.3f} ({found.low:.3f} to {found.high:.3f})"


def audit_answers(sample: AuditSample, answers: Any, *, level: float = 0.95) -> AuditResult:
    """What the answers to an audit say.

    ``answers``: (n,) in the order of ``sample.to_check``, or row -> answer: 1, 0, true, false, yes, no; empty where the
    person could not tell. Raises InvalidRequest (a ValueError) for other answers, or where a side has none at all.

    Intervals: exact binomial on either side of the threshold (Clopper and Pearson 1934), melded where both sides count
    (Fay, Proschan and Brittain 2015); see :mod:`pubench.scored.audit_statistics`.
    """
    with in_words():
        given = _answers(sample, answers)
        sides = _sides(sample, given)
        rng = stream(sample.seed, "audit answers")
        melded = Melded.of(*sides, rng, level)
        share = melded.share()
        return AuditResult(
            name=sample.name,
            threshold=sample.threshold,
            checked=int((given >= 0).sum()),
            unanswered=int((given < 0).sum()),
            prior=_prior(sample, share),
            share=share,
            precision=melded.precision(),
            recall=melded.recall(),
            decided_per_positive=melded.decided_per_positive(),
            mean_score_error=_mean_score_error(sample, share),
            bands=tuple(_band(sample, given, k, level) for k in range(len(sample.bands))),
            scar=_scar(sample, given, melded, rng),
            level=level,
            warnings=tuple(_warnings(sample, given)),
        )


def _answers(sample: AuditSample, answers: Any) -> IntArray:
    """(n,) 1 positive, 0 negative, -1 not answered."""
    if isinstance(answers, Mapping):
        if extra := sorted(set(answers) - set(sample.to_check.tolist())):
            raise RequestError(f"answers: row {extra[0]} was not drawn for this audit", field="answers")
        given = [answers.get(row) for row in sample.to_check.tolist()]
    else:
        given = list(answers)
    if len(given) != len(sample.drawn):
        raise RequestError(
            f"answers: {len(sample.drawn)} are right, one per drawn row; given {len(given)}", field="answers"
        )
    return np.array([_answer(value, row) for value, row in zip(given, sample.to_check.tolist(), strict=True)])


def _answer(value: Any, row: int) -> int:
    text = "" if value is None else str(value).strip().lower()
    if text in _YES:
        return 1
    if text in _NO:
        return 0
    if text in _BLANK:
        return -1
    raise RequestError(
        f"answers: row {row} has {shown(value)}; 1 or yes, 0 or no, or empty (could not tell) is right", field="answers"
    )


def _sides(sample: AuditSample, given: IntArray) -> tuple[Side, Side]:
    is_above = sample.band < sample.n_bands_above
    found = []
    for name, of_sample, bands in (
        ("above", is_above, sample.bands[: sample.n_bands_above]),
        ("below", ~is_above, sample.bands[sample.n_bands_above :]),
    ):
        rows = sum(n for _, _, n, _ in bands)
        answered = of_sample & (given >= 0)
        if rows and not answered.any():
            raise RequestError(f"answers: no row {name} the threshold has one; both sides need some", field="answers")
        found.append(Side(rows, int(answered.sum()), int((given[answered] == 1).sum())))
    return found[0], found[1]


def _prior(sample: AuditSample, share: Estimate) -> Estimate:
    """π of the population: labeled positives are part of it unless the unlabeled rows alone are the draw."""
    scored = sample.scored
    if not is_one_sample(scored.scheme) and scored.scheme != "case-control":
        return share
    n, n_labeled = len(scored.scores), scored.n_labeled

    def of_population(end: float | None) -> float | None:
        return None if end is None else (scored.purity * n_labeled + end * (n - n_labeled)) / n

    return Estimate(of_population(share.value), of_population(share.low), of_population(share.high), share.undefined)


def _mean_score_error(sample: AuditSample, share: Estimate) -> Estimate:
    scores = sample.scored.scores[~sample.scored.labeled]
    if scores.min() < 0 or scores.max() > 1:
        return Estimate(undefined="scores are not probabilities")
    assert share.value is not None
    assert share.low is not None
    assert share.high is not None
    mean = float(scores.mean())
    return Estimate(mean - share.value, mean - share.high, mean - share.low)


def _band(sample: AuditSample, given: IntArray, k: int, level: float) -> Band:
    low, high, rows, _ = sample.bands[k]
    answers = given[(sample.band == k) & (given >= 0)]
    side = Side(rows, len(answers), int((answers == 1).sum()))
    share = Estimate(side.share, *clopper_pearson(side, level)) if side.checked else Estimate(undefined="no answer")
    scores = sample.scored.scores[~sample.scored.labeled]
    inside = (scores >= low) & (scores <= high)
    return Band(low, high, rows, side.checked, side.positive, share, float(scores[inside].mean()))


def _scar(sample: AuditSample, given: IntArray, melded: Melded, rng: np.random.Generator) -> ScarTest:
    scored = sample.scored
    if scored.purity < 1:
        return ScarTest(undefined="some labeled rows are negative (purity below 1), so they cannot be compared")
    labeled = scored.of_labeled
    found = scored.scores[sample.drawn[given == 1]]
    split = [(values[values > sample.threshold], values[values <= sample.threshold]) for values in (labeled, found)]
    return scar_test(melded, split[0], split[1], rng)


def _warnings(sample: AuditSample, given: BoolArray | IntArray) -> list[str]:
    said = []
    if unanswered := int((given < 0).sum()):
        said.append(f"{unanswered} of {len(given)} rows have no answer: the others are taken to be like them")
    if (sample.bands and not sample.n_bands_above) or sample.n_bands_above == len(sample.bands):
        which = "no" if not sample.n_bands_above else "every"
        said.append(f"{which} unlabeled row is above the threshold {sample.threshold:.4g}: nothing is divided by it")
    return said
