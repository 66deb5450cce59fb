"""Estimates of prior, precision, recall and SCAR from the answers of a person."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from pubench_report.rendering import RenderedTable

from pubench.field_names import in_words
from pubench_core.errors import RequestError, shown
from pubench_core.randomness import stream
from pubench_core.specs import is_one_sample

from ..page import Part, Report, between
from ..scored_rows import IntArray
from .sample import AuditSample
from .statistics import AuditEstimate, Melded, ScarTest, Side, scar_test

#: The most that an answer may be, as texts.
_YES, _NO = (
    frozenset({"1", "1.0", "true", "yes", "y", "positive", "p"}),
    frozenset({"0", "0.0", "-1", "-1.0", "false", "no", "n", "negative"}),
)
_BLANK = frozenset({"", "?", "nan", "none"})
#: A result says what so many more rows would buy.
MORE = 30


@dataclass(frozen=True, repr=False)
class AuditResult(Report):
    """Estimates with 95 % intervals. All except ``prior`` are of the unlabeled rows."""

    name: str
    threshold: float
    checked: int
    unanswered: int
    prior: AuditEstimate
    """π of the population"""
    share: AuditEstimate
    """of positives among the unlabeled rows"""
    precision: AuditEstimate
    """at ``threshold``, as ``recall``"""
    recall: AuditEstimate
    scar: ScarTest
    warnings: tuple[str, ...]
    more: str = ""
    """how :data:`MORE` more rows would narrow the intervals, in a sentence"""

    @property
    def sentence(self) -> str:
        """Prior, precision and SCAR, in words that assume nothing."""
        said = f"{self.checked} checked rows, whatever the labeling: class prior {_ends(self.prior)}"
        if self.precision.value is not None:
            said += f"; of the rows above {self.threshold:.4g}, {_ends(self.precision)} are positive"
        return f"{said}; SCAR is {self.scar.verdict}."

    def parts(self) -> list[Part]:
        """Lines and tables for a terminal."""
        of_u = "the unlabeled rows"
        quantities = [
            ("prior", self.prior, "the population"),
            ("share of positives", self.share, of_u),
            ("precision", self.precision, f"{of_u} above the threshold"),
            ("recall", self.recall, f"the positives among {of_u}"),
        ]
        rows = [
            (name, "" if one.value is None else f"{one.value:.3f}", between(one.interval), one.undefined or of)
            for name, one, of in quantities
        ]
        head = ("quantity", "value", "95 % interval", "of")
        return [
            f"{self.name}: {self.checked} rows checked; threshold {self.threshold:.4g}",
            *(f"warning: {line}" for line in self.warnings),
            *("", RenderedTable.of(head, rows, texts=(3,), wraps=(3,))),
            *("", self.scar.sentence, self.more),
            "intervals: exact binomial on each side of the threshold (Clopper and Pearson 1934), melded where both "
            "sides count (Fay, Proschan and Brittain 2015); by design, no model is believed",
        ]


def _ends(found: AuditEstimate) -> str:
    """The interval of an estimate, or why there is none."""
    return between(found.interval) or found.undefined


def audit_answers(sample: AuditSample, answers: Any) -> AuditResult:
    """Estimates from the answers to an audit.

    ``answers``: (n,) in the order of ``sample.to_check``, or row -> answer: 1, 0, true, false, yes, no; empty where the
    person could not tell. Raises InvalidRequest (a ValueError) for other answers, or where a side has none at all.

    Intervals: exact binomial on either side of the threshold (Clopper and Pearson 1934), melded where both sides count
    (Fay, Proschan and Brittain 2015); see :mod:`pubench_evaluate.audit.statistics`.
    """
    with in_words():
        given = answered(sample, answers)
        sides = _sides(sample, given)
        rng = stream(sample.seed, "audit answers")
        melded = Melded.of(*sides, rng)
        share, precision = melded.share(), melded.precision()
        prior, scar = _prior(sample, share), _scar(sample, given, melded, rng)
        return AuditResult(
            name=sample.name,
            threshold=sample.threshold,
            checked=int((given >= 0).sum()),
            unanswered=int((given < 0).sum()),
            prior=prior,
            share=share,
            precision=precision,
            recall=melded.recall(),
            scar=scar,
            warnings=tuple(_warnings(sample, given)),
            more=_more(sample, sides, (prior, precision), rng),
        )


def _more(sample: AuditSample, sides: tuple[Side, Side], now: Sequence[AuditEstimate], rng: np.random.Generator) -> str:
    """What :data:`MORE` more rows of the same design would do to the intervals of prior and precision."""
    factor = 1 + MORE / sum(side.checked for side in sides)
    melded = Melded.of(sides[0].grown(factor), sides[1].grown(factor), rng)
    then = _prior(sample, melded.share()), melded.precision()
    said = [
        f"{name} from ±{np.ptp(before.interval) / 2:.3f} to ±{np.ptp(after.interval) / 2:.3f}"
        for name, before, after in zip(("prior", "precision"), now, then, strict=True)
        if before.interval and after.interval and np.ptp(after.interval) < np.ptp(before.interval)
    ]
    narrowed = ", and that of the ".join(said)
    return narrowed and f"{MORE} more rows, if as many are positive, narrow the interval of the {narrowed}."


def answered(sample: AuditSample, answers: Any) -> IntArray:
    """(n,) 1 positive, 0 negative, -1 not answered, in the order of ``sample.to_check``. Raises RequestError."""
    if isinstance(answers, Mapping):
        if extra := sorted(set(answers) - set(sample.to_check.tolist())):
            raise RequestError(f"answers: row {extra[0]} was not drawn for this audit", field="answers")
        given = [answers.get(row) for row in sample.to_check.tolist()]
    else:
        given = list(answers)
    if len(given) != len(sample.drawn):
        raise RequestError(
            f"answers: expected {len(sample.drawn)}, one per drawn row; given {len(given)}", field="answers"
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
        f"answers: row {row} has {shown(value)}; expected 1 or yes, 0 or no, or empty (could not tell)", field="answers"
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
            raise RequestError(
                f"answers: none of the {int(of_sample.sum())} drawn rows {name} the threshold is answered; both sides "
                "need some",
                field="answers",
            )
        found.append(Side(rows, int(answered.sum()), int((given[answered] == 1).sum())))
    return found[0], found[1]


def _prior(sample: AuditSample, share: AuditEstimate) -> AuditEstimate:
    """π of the population: labeled positives are part of it unless the unlabeled rows alone are the draw."""
    scored = sample.scored
    if not is_one_sample(scored.scheme) and scored.scheme != "case-control":
        return share
    n_labeled = scored.n_labeled if sample.n_labeled is None else sample.n_labeled
    n = n_labeled + int((~scored.labeled).sum())

    def of_population(end: float | None) -> float | None:
        return None if end is None else (scored.purity * n_labeled + end * (n - n_labeled)) / n

    return AuditEstimate(
        of_population(share.value), of_population(share.low), of_population(share.high), share.undefined
    )


def _scar(sample: AuditSample, given: IntArray, melded: Melded, rng: np.random.Generator) -> ScarTest:
    scored = sample.scored
    if scored.purity < 1:
        return ScarTest(undefined="some labeled rows are negative (purity below 1), so they cannot be compared")
    if sample.n_labeled is not None:
        return ScarTest(
            undefined="labeled rows have no score that compares with those of the unlabeled ones; those of a run with "
            "folds do, and its sheet tests it"
        )
    labeled = scored.of_labeled
    found = scored.scores[sample.drawn[given == 1]]
    split = [(values[values > sample.threshold], values[values <= sample.threshold]) for values in (labeled, found)]
    return scar_test(melded, split[0], split[1], rng)


def _warnings(sample: AuditSample, given: IntArray) -> list[str]:
    said = []
    if unanswered := int((given < 0).sum()):
        said.append(f"{unanswered} of {len(given)} rows have no answer: the others are taken to be like them")
    if (sample.bands and not sample.n_bands_above) or sample.n_bands_above == len(sample.bands):
        which = "no" if not sample.n_bands_above else "every"
        said.append(f"{which} unlabeled row is above the threshold {sample.threshold:.4g}: nothing is divided by it")
    return said
