"""The class prior: what estimators say of a table, what a user or checked rows say, and what counts.

``pubench.estimate_prior`` asks the installed estimators side by side. Checked rows outweigh a given prior, and both
outweigh estimators, which assume SCAR.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from textwrap import fill
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.frames import frame_of, refuse_other_rows
from pubench_report.rendering import RenderedTable

from pubench.field_names import in_words
from pubench_core.errors import PubenchError, RequestError, Undefined, said_by, unknown
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load_class, registry
from pubench_core.prior import PriorEstimator, Samples
from pubench_core.randomness import stream
from pubench_core.results import plain_data

from .belief import Belief, EstimatedPrior, Interval, ends_of, in_short, wanted_estimator
from .page import Part, Report, between
from .scored_rows import FloatArray, LabeledScores, scored_rows

if TYPE_CHECKING:
    from .audit import AuditResult

#: Estimators are said to disagree if their priors lie further apart than this; one that errs more is left out.
APART = 0.1
#: Which estimates are part of the range of priors.
RULE = (
    f"In the range: estimators that are off by at most {APART:g} on average on known shares and warn of nothing. "
    "Labels that prefer some positives (not SCAR) bias all of them; sixty checked rows need no SCAR (pubench audit)."
)
#: Columns of printed sentences, where the console is wider: piped text is for people, too.
PAGE = 120


# -------------------------------------------------------------------- one estimator


def infos_of(inputs: str, keys: Sequence[str] | None, word: str = "estimators=") -> list[PriorInfo]:
    """The fast estimators that read ``inputs`` (scores, features or ``any``), or those that are named.

    ``word``: what was written before a key.

    Raises RequestError for a key that is not installed, or that reads something else.
    """
    known, field = {info.key: info for info in registry().infos(PriorInfo)}, word.partition("=")[0]
    fitting = [info for info in known.values() if inputs in ("any", info.inputs)]
    if keys is None:
        return [info for info in fitting if not info.slow]
    for key in keys:
        if key not in known:
            raise unknown("prior estimator", key, known, field=field)
        if known[key] not in fitting:
            names = ", ".join(info.key for info in fitting) or "none is installed"
            raise RequestError(
                f"{word}{key}: it reads {known[key].inputs}, not {inputs}; those that read {inputs}: {names}",
                field=field,
                value=key,
            )
    return [known[key] for key in keys]


def asked(
    info: PriorInfo, positive: npt.NDArray[Any], unlabeled: npt.NDArray[Any], rows: LabeledScores, seed: int
) -> EstimatedPrior:
    """One estimator's answer, or why it has none: an estimator that fails loses its own row only."""
    started = time.perf_counter()
    try:
        found = load_class(info, PriorEstimator)().estimate(positive, unlabeled, stream(seed, "prior"))
        if not math.isfinite(found.share):
            raise Undefined(f"it returned {found.share}")
    except (PubenchError, Undefined, ValueError, ArithmeticError) as error:
        reason = str(error) if isinstance(error, (PubenchError, Undefined)) else said_by(error)
        reason = reason.removeprefix(f"prior estimated:{info.key}: ").removesuffix("; give a number (prior=0.4)")
        seconds = round(time.perf_counter() - started, 4)
        return EstimatedPrior(info.key, info.name, undefined=reason, left_out="no estimate", seconds=seconds)
    interval = None if found.interval is None else (float(found.interval[0]), float(found.interval[1]))
    said = found.diagnostics.get("warnings", ())
    warnings = tuple(map(str, said)) if isinstance(said, (list, tuple)) else ()
    return EstimatedPrior(
        info.key,
        info.name,
        share=float(found.share),
        prior=rows.prior_of(float(found.share)),
        interval=interval,
        prior_interval=None if interval is None else (rows.prior_of(interval[0]), rows.prior_of(interval[1])),
        left_out=_why_left_out(info, warnings),
        warnings=warnings,
        seconds=round(time.perf_counter() - started, 4),
        diagnostics=plain_data(found.diagnostics),
    )


def _why_left_out(info: PriorInfo, warnings: Sequence[str]) -> str:
    """Why an estimate is not part of the range: a measured error above :data:`APART`, no measured one, or a warning."""
    if info.error is None:
        return "its error on known shares is not measured"
    if info.error > APART:
        return f"off by {info.error:.2f} on average on known shares"
    return "it warns" if warnings else ""


# -------------------------------------------------------------------- several of them


def in_range(estimates: Sequence[EstimatedPrior]) -> list[EstimatedPrior]:
    """Those that are part of the range of priors."""
    return [found for found in estimates if not found.left_out]


def range_of(estimates: Sequence[EstimatedPrior]) -> Interval | None:
    """π from the lowest to the highest end of the intervals of the counted estimators; None if there is none."""
    ends = [end for one in in_range(estimates) for end in (one.prior, *(one.prior_interval or ())) if end is not None]
    return (min(ends), max(ends)) if ends else None


def summary(estimates: Sequence[EstimatedPrior]) -> str:
    """The range of priors, by which estimators, and what it assumes; empty if none was asked."""
    taken, ends = in_range(estimates), range_of(estimates)
    if not estimates:
        return ""
    if ends is None:
        return "no range of class priors: every estimator is left out; sixty checked rows give one (pubench audit)"
    points = sorted(found.prior for found in taken if found.prior is not None)
    names, several = ", ".join(found.key for found in taken), points[0] != points[-1]
    apart = "; they disagree, and sixty checked rows settle it" if points[-1] - points[0] > APART else ""
    estimated = f"{points[0]:.3f}{f' to {points[-1]:.3f}' if several else ''}{apart}"
    return f"class prior {ends[0]:.3f} to {ends[1]:.3f}, if labels are SCAR (95 % by {names}; estimated {estimated})"


@dataclass(frozen=True, repr=False)
class PriorEstimates(Report):
    """Estimates of the class prior of one table."""

    name: str
    rows: int
    labeled: int
    scheme: str
    purity: float
    read: str
    """what the estimators were given, in words"""
    estimates: tuple[EstimatedPrior, ...]
    """an estimator is counted if its mean absolute error on known shares is at most .1 and it warns of nothing;
    ``left_out`` says why one is not"""
    interval: Interval | None = None
    """π from the lowest to the highest end of the 95 % intervals of the counted estimators; None if none is counted"""
    true: float | None = None
    """π, if it is known"""

    def __getitem__(self, key: str) -> EstimatedPrior:
        """Estimate of one estimator. Raises KeyError for one that was not used."""
        return {found.key: found for found in self.estimates}[key]

    @property
    def summary(self) -> str:
        """The range of priors, by which estimators, and what it assumes, in a sentence."""
        return summary(self.estimates)

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return {"summary": self.summary, **plain_data(asdict(self))}

    def table(self, *, notes: bool = True) -> RenderedTable:
        """Each estimator's prior in the population, and why some are left out; ``notes``: and their notes."""
        rows = [
            [
                found.key,
                "" if found.prior is None else f"{found.prior:.3f}",
                between(found.prior_interval),
                f"{found.seconds:.1f}",
                f"no: {found.left_out}" if found.left_out else "yes",
                *([found.note] if notes else []),
            ]
            for found in self.estimates
        ]
        head = ("estimator", "prior", "95 % interval", "seconds", "in the range", *(["note"] if notes else []))
        return RenderedTable.of(head, rows, texts=(4, 5), wraps=(4, 5), ranks={3: 1})

    def parts(self) -> list[Part]:
        """Lines and tables for a terminal."""
        said: list[Part] = [f"{self.name}: {self.rows} rows, {self.labeled} labeled; {self.scheme}; read: {self.read}"]
        if not self.estimates:
            said.append("no estimator of the class prior is installed (pubench list priors)")
        else:
            notes = [f"{found.key}: {found.note}" for found in self.estimates if found.note]
            rule = f"prior: share of positives in the population. {RULE}"
            said += ["", fill(summary(self.estimates), PAGE), self.table(notes=False)]
            said += [fill(text, PAGE) for text in (rule, *notes)]
        return said if self.true is None else [*said, "", f"by the true labels the prior is {self.true:.3f}"]


def estimate_prior(
    x: Any,
    labeled: Any,
    *,
    estimators: Sequence[str] | None = None,
    scheme: str = "one-sample",
    purity: float = 1.0,
    truth: Any = None,
    name: str = "data",
    pos_label: Any = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> PriorEstimates:
    """The class prior of a table of labeled positives and unlabeled rows, by the installed estimators.

    ``x``: (n, d) features, as an array or a frame of numbers, or (n,) scores of a model that was not trained on these
    rows. Estimators that read scores are given, of features, the held-out probabilities of a logistic regression of
    labeled against unlabeled rows, in five folds that keep equal rows together. ``labeled``, ``scheme``, ``purity``,
    ``truth``: as :func:`pubench.evaluate` has them. ``estimators``: their keys; by default all that can read ``x``
    except slow ones (km1, km2, pulsnar). ``progress``: called with a line before each.

    Raises InvalidRequest (a ValueError).

    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(600) < 0.4
    >>> found = estimate_prior(rng.normal(3 * y), y & (rng.random(600) < 0.5), estimators=["bbe"])
    >>> 0.25 < found["bbe"].prior < 0.55
    True
    """
    say = progress or (lambda text: None)
    with in_words():
        refuse_other_rows(x, labeled, ("x", "labeled"))
        refuse_other_rows(x, truth, ("x", "truth"))
        values = np.asarray(x) if np.ndim(x) == 1 else frame_of(x, "x").to_numpy()
        is_scores = values.ndim == 1
        given = values if is_scores else np.zeros(len(values))
        rows = scored_rows(given, labeled, truth=truth, scheme=scheme, purity=purity, pos_label=pos_label)
        infos = infos_of("scores" if is_scores else "any", estimators)
        read = {"scores": rows.scores} if is_scores else {"features": _features(values)}
        found = []
        for number, info in enumerate(infos, 1):
            if info.inputs not in read:
                say("scoring the rows by logistic regression in folds")
                read["scores"] = held_out_scores(info, read["features"], rows, seed)
            say(f"estimating by {info.key} ({number} of {len(infos)})")
            of_rows = read[info.inputs]
            found.append(asked(info, of_rows[rows.labeled], of_rows[rows.unlabeled], rows, seed))
        return PriorEstimates(
            name=name,
            rows=len(rows.scores),
            labeled=rows.n_labeled,
            scheme=rows.scheme,
            purity=rows.purity,
            read="the scores as they are" if is_scores else "features, and a logistic regression's held-out scores",
            estimates=tuple(found),
            interval=range_of(found),
            true=None if rows.truth is None else float(rows.truth[rows.population].mean()),
        )


def _features(values: npt.NDArray[Any]) -> FloatArray:
    """(n, d) standardized, gaps filled with the median of their column. Raises RequestError for what is no number."""
    from sklearn.impute import SimpleImputer
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    model = make_pipeline(SimpleImputer(strategy="median", keep_empty_features=True), StandardScaler())
    try:
        return np.asarray(model.fit_transform(values.astype(np.float64)))
    except (ValueError, TypeError) as error:
        raise RequestError(f"x: expected numbers, (n, d) features or (n,) scores ({error})", field="x") from error


def held_out_scores(info: PriorInfo, features: FloatArray, rows: LabeledScores, seed: int) -> FloatArray:
    """(n,) held-out probabilities of being labeled, as an estimator has them; equal rows are in one fold.

    Raises RequestError where there are fewer different labeled rows, or others, than two folds.
    """
    _, instance = np.unique(features, axis=0, return_inverse=True)
    of, labeled = instance.ravel(), rows.labeled
    others = {"unlabeled rows that equal no labeled one": np.setdiff1d(of, of[labeled])}
    for name, different in ({"labeled rows": np.unique(of[labeled])} | others).items():
        if len(different) < 2:
            raise RequestError(
                f"the class prior needs at least 2 different {name}, to score each by a model of others; "
                f"got {len(different)}"
            )
    samples = Samples(features[labeled], features[~labeled], of[labeled], of[~labeled])
    found = np.empty(len(features))
    found[labeled], found[~labeled] = load_class(info, PriorEstimator)().held_out_scores(
        samples, stream(seed, "scores for priors")
    )
    return found


# -------------------------------------------------------------------- all that speaks of it


def narrowed(prior: Any, audited: AuditResult | None) -> Any:
    """Belief after rows were checked: both where they agree, the checked rows where they do not.

    An estimator's prior is replaced, because estimators assume SCAR and checked rows do not.
    """
    if audited is None or audited.prior.interval is None:
        return prior
    low, high = _inside(audited.prior.interval, 1e-6)
    if prior is None or wanted_estimator(prior):
        return low, high
    given_low, given_high = ends_of(prior, "estimated:KEY")
    both = max(low, given_low), min(high, given_high)
    return both if both[0] <= both[1] else (low, high)


def _inside(interval: Interval, margin: float) -> Interval:
    """The interval without 0 and 1, which an estimate can reach and no prior can be."""
    low, high = (min(max(end, margin), 1 - margin) for end in interval)
    return low, high


def prior_of(
    given: Interval | None, audited: AuditResult | None, estimated: PriorEstimates | None
) -> tuple[Belief, list[str]]:
    """Where π of the population lies by all that speaks of it, and what contradicts it.

    Checked rows outweigh a given prior, and both outweigh estimators, which assume SCAR.
    """
    if audited is not None and audited.prior.interval is not None:
        interval = narrowed(given, audited)
        if given is None or (given[0] <= interval[1] and interval[0] <= given[1]):
            return Belief.between(interval, "checked rows" if given is None else "given, narrowed by checked rows"), []
        line = f"checked rows say {in_short(interval)}, the given prior is {in_short(given)}: the checked rows count"
        return Belief.between(interval, "checked rows"), [line]
    if given is not None:
        return Belief.between(given, "given"), []
    if estimated is not None and estimated.interval is not None:
        return Belief.between(_inside(estimated.interval, 0.001), "estimated", estimated=True), []
    return Belief(source="none was given, and no estimator counts here"), []
