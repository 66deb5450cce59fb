"""``pubench.advise``: from a table without negatives to an answer, which checked rows can change."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from time import perf_counter
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
from pubench_datasets_tables.frames import TableFields, data
from pubench_study.durations import duration, seconds_of

from pubench import PUTable
from pubench.field_names import in_arguments, in_words
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import PubenchError, RequestError
from pubench_core.plugins.registry import registry
from pubench_core.randomness import stream
from pubench_core.records.files import replace_text
from pubench_core.specs.fields import short_hash

from ..audit import AuditSample, audit_sample
from ..audit.sheet import DESIGN, columns_of_table, most_used
from ..audit.statistics import ScarTest, Side, clopper_pearson
from ..belief import Belief, Interval, ends_of, in_short
from ..evaluation import BEYOND_CHANCE, Evaluation, evaluate
from ..prior import APART, PriorEstimates, estimate_prior, infos_of, prior_of
from ..scored_rows import BoolArray, FloatArray, IntArray
from .choice import (
    DEFAULT,
    OTHERS,
    SURE,
    Audited,
    Candidate,
    Fit,
    budget_of,
    checked_difference,
    chosen_by_checked_rows,
    read_answers,
)
from .fits import Say, fitted, folds_for, run_of
from .look import FEW_TO_CHOOSE, looked_at
from .page import SHEET, Advice, Promise

if TYPE_CHECKING:
    from pubench_core.data.labeled import LabeledData

#: The budget that is shown if neither a goal nor a prior says one.
BUDGET = 200
#: Estimators of the prior read at most so many rows, a random part of the table.
MOST_ROWS = 10_000
NOT_CHECKED = (
    "no row was checked. A table alone cannot tell: labels that prefer some positives look like a smaller prior"
)


def advise(
    table: Any,
    label: str | None = None,
    *,
    prior: float | tuple[float, float] | str | None = None,
    goal: str = "rank",
    audited: str | Path | None = None,
    time: str | float = "10m",
    out: str | Path | None = None,
    scheme: str | None = None,
    threads: int | None = None,
    seed: int = 0,
    progress: Say | None = None,
    **about: Unpack[TableFields],
) -> Advice:
    """Which method for this table, what its ranking is worth, and what to check next.

    ``table``: a file, a frame, or what :func:`pubench.data` makes; ``label``: the column that says who is labeled.
    ``prior``: π of the population as a number, two ends, or ``"0.2..0.4"``. ``goal``: ``rank``, ``classify``, or
    ``review:200`` for a review of so many rows. ``audited``: the sheet of an earlier call, filled in: prior, range and
    choice are made again with it, and the other methods are fitted, cheapest first, and compared by it. ``time``:
    budget for that, ``10m``; what is not fitted by then is left out. ``out``: folder of the answer, by default
    ``advice-NAME``; every finished fit is kept there, and the same call goes on. ``scheme`` and ``about``, all else
    about the table: as :func:`pubench.data` has them. ``progress``: called with a line about what runs now.

    The answer is bagged trees unless checked rows speak for another method: see ``docs/pages/advice.md``. The folder
    holds ranking, model and sheet before anything is compared.

    Raises InvalidRequest (a ValueError) for what contradicts itself, or too few labeled rows.
    """
    with in_words():
        began, budget, limit = perf_counter(), budget_of(goal), seconds_of(time, "time", least=1e-9)
        given, say = None if prior is None else ends_of(prior), progress or (lambda text: None)
        own = table if isinstance(table, PUTable) else data(table, label, scheme=scheme, **about)
        folder = Path(out) if out is not None else Path(f"advice-{Path(own.name).stem}")
        say(f"reading {own.name}")
        read = own._read()
        _claim(folder, own, read)
        checked = None if audited is None else read_answers(Path(audited), folder)
        return _Steps(own, read, folder, goal, budget, began, limit, given, checked, threads, seed, say).answer()


def _claim(folder: Path, table: PUTable, read: LabeledData) -> None:
    """Makes the folder, or finds that it is of the same table. Raises RequestError if it is of another one."""
    files = ("path", "test", "positives", "unlabeled")
    facts = {name: str(value) for name, value in sorted(table.own.items()) if name not in files}
    mine = short_hash([*map(in_arguments, read.notes), facts, table.scheme])
    about = folder / "about.json"
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if about.exists() and json.loads(about.read_text("utf-8")).get("table") != mine:
            raise RequestError(f"out={folder}: holds advice on another table or other columns; name another folder")
        if not about.exists():
            if next(folder.iterdir(), None) is not None:
                raise RequestError(f"out={folder}: is a folder with other files; name another one")
            replace_text(about, json.dumps({"table": mine, "name": table.name}))
    except OSError as error:
        raise RequestError(f"out={folder}: cannot be written ({error.strerror or error})") from error
    except ValueError as error:
        raise RequestError(f"out={folder}: about.json is damaged; name another folder") from error


def estimates(x: FloatArray, labeled: BoolArray, scheme: str, seed: int, say: Say) -> PriorEstimates | None:
    """Estimators whose answer can count, on at most :data:`MOST_ROWS` rows; None if they cannot be asked."""
    keys = [info.key for info in infos_of("any", None) if info.error is not None and info.error <= APART]
    part = stream(seed, "rows for priors").permutation(len(x))[:MOST_ROWS]
    try:
        return estimate_prior(x[part], labeled[part], estimators=keys, scheme=scheme, seed=seed, progress=say)
    except PubenchError as error:
        say(f"no prior is estimated: {error}")
        return None


@dataclass
class _Steps:
    """The way to an answer; each step keeps what the later ones read."""

    table: PUTable
    read: LabeledData
    folder: Path
    goal: str
    wanted: int | None
    """how many rows are to be reviewed"""
    began: float
    limit: float
    """seconds for a comparison, from the beginning"""
    given: Interval | None
    audited: Audited | None
    threads: int | None
    seed: int
    say: Say

    def __post_init__(self) -> None:
        self.look = looked_at(self.table, self.read)
        assert isinstance(self.read.x, np.ndarray)
        self.x, self.labeled, self.scheme = self.read.x, self.read.labeled, self.table.scheme or "one-sample"
        self.folds = folds_for(self.labeled, self.read.groups)
        self.unlabeled = np.flatnonzero(~self.labeled)
        self.cards: dict[tuple[str, Interval | None], Evaluation] = {}
        self.checks = None if self.audited is None else self.audited.result
        self.before = self._before()

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return perf_counter() - self.began

    def answer(self) -> Advice:
        """Bagged trees with ranking, model and sheet; then the prior, and with checked rows the other methods."""
        self._refuse()
        look, (prior, self.contradicted) = self.look, prior_of(self.given, self.checks, None)
        self.say(f"{look.name}: {look.rows:,} rows, {look.labeled:,} labeled, {look.features:,} features")
        self.told, self.budget = self._told(prior), self._budget(prior)
        trees = self._fitted(DEFAULT)
        if trees.reason:
            raise RequestError(f"{look.name}: {DEFAULT.name} {trees.reason}")
        self.reference = trees.scores
        self.sheet = self._sheet() if self.audited is None else None
        self._answered(prior, [trees])
        self.say(f"ranked rows, model and rows to check after {duration(self.spent)}: {self.folder}")
        if self.audited is None:
            found = estimates(self.x, self.labeled, self.scheme, self.seed, self.say)
            prior, self.contradicted = prior_of(self.given, None, found)
            if prior.estimated and self._contradiction(trees, prior):  # it is wrong, whatever the labels are
                prior = Belief(source=f"the estimate {in_short(prior.interval)} contradicts the scores")
            return self._answered(prior, [trees], found)
        few = f"needs {FEW_TO_CHOOSE} labeled rows" if look.labeled < FEW_TO_CHOOSE else ""
        others = (Fit(one, reason=few) if few else self._fitted(one, compare=True) for one in OTHERS)
        return self._answered(prior, [trees, *others])

    def _refuse(self) -> None:
        """Raises RequestError for a goal or a prior that the table cannot have."""
        look, given = self.look, self.given
        if self.wanted is not None and self.wanted >= look.unlabeled:
            raise RequestError(
                f"goal={self.goal}: expected fewer rows than the {look.unlabeled:,} unlabeled ones",
                field="goal",
                value=self.goal,
            )
        least = look.labeled / look.rows
        if given is not None and self.table.scheme != "two-sample" and given[1] <= least:
            raise RequestError(
                f"prior={given[1]:g}: {look.labeled:,} of {look.rows:,} rows are labeled positives, so it must be "
                f"above {least:.4g}; scheme=two-sample if the labeled rows come from elsewhere",
                field="prior",
                value=given,
            )

    def _fitted(self, one: Candidate, *, compare: bool = False) -> Fit:
        """A fit; with ``compare`` within the time, next to bagged trees by checked rows."""
        kept, left = self.folder / "fits", (lambda: self.limit - self.spent) if compare else None
        plan = run_of(one, self.table, self.folds, kept, self.told, threads=self.threads, seed=self.seed)
        alone = self.read.groups is None and not self.look.copies  # of twins, one may be in every bag
        fit = fitted(one, plan, self.labeled, self.say, left, alone)
        if not compare or fit.reason or self.audited is None:
            return fit
        return replace(fit, checked=checked_difference(fit.scores, self.reference, self.audited.checked, self.seed))

    def _told(self, prior: Belief) -> float | None:
        """What models are given to decide by: the middle of a given prior, if checked rows allow it; else of theirs.

        Nothing that was only estimated. A given prior stays, so that fits without checked rows still count.
        """
        if prior.interval is None:
            return None
        low, high = prior.interval
        middle = sum(self.given or prior.interval) / 2
        told = round(middle if low <= middle <= high else (low + high) / 2, 4)
        if self.scheme == "one-sample":  # in every fold more rows are positive than are labeled
            told = max(told, round(1.1 * self.look.labeled / self.look.rows, 4))
        return told

    def _answered(self, prior: Belief, fits: Sequence[Fit], estimates: PriorEstimates | None = None) -> Advice:
        """The answer, written to the folder with its ranking and model."""
        chosen, more = chosen_by_checked_rows(fits) or fits[0], []
        known = [(fit.checked, fit.candidate) for fit in fits if fit.checked is not None]
        over, first = max(known, key=lambda one: one[0].difference, default=(None, DEFAULT))
        if over is not None and first.is_baseline and over.better >= SURE:
            more.append(
                f"{first.name} is better than every PU method on the checked rows: PU learning does not help here"
            )
        model = self.folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(chosen.folder, model)  # the record that predict, evaluate and audit read
        test = ScarTest(undefined=NOT_CHECKED) if self.checks is None else self.checks.scar
        advice = Advice(
            folder=self.folder,
            goal=self.goal,
            look=self.look,
            scheme=self.scheme,
            scar=replace(test, contradiction=self._contradiction(chosen, prior)),
            prior=prior,
            estimates=estimates,
            given=self.given,
            answer=chosen.candidate.name,
            fits=tuple(fits),
            promise=self._promise(chosen, prior),
            card=self._card(chosen, prior.interval),
            audited=self.audited,
            warnings=(*self.look.warnings, *self.contradicted, *more),
            seconds=self.spent,
            model=str(model),
            sheet=self.sheet,
            before=self.before,
        )
        self._rank(chosen, prior)
        replace_text(self.folder / "answer.json", json.dumps(advice.to_dict(), indent=1) + "\n")
        replace_text(self.folder / "advice.html", advice.html())
        return advice

    # ---------------------------------------------------------------- what it is worth

    def _budget(self, prior: Belief) -> int:
        """How many of the highest rows are spoken of: the goal's, or as many as there are positives by the prior."""
        look = self.look
        if self.wanted is not None:
            return self.wanted
        if prior.prior is None:
            return min(BUDGET, look.unlabeled // 2)
        return int(np.clip(self._positives(prior.prior), 10, look.unlabeled - 10))

    def _positives(self, prior: float) -> int:
        """Positives among the unlabeled rows."""
        look = self.look
        n = prior * look.unlabeled if self.scheme == "two-sample" else prior * look.rows - look.labeled
        return int(np.clip(round(n), 0, look.unlabeled))

    def _top(self, scores: FloatArray, n: int | None = None) -> IntArray:
        """The ``n`` highest unlabeled rows (all of them), the highest first; of equal ones, the first."""
        return self.unlabeled[np.argsort(-scores[self.unlabeled], kind="stable")[:n]]

    def _card(self, chosen: Fit, prior: Interval | None) -> Evaluation:
        key = (chosen.candidate.name, prior)
        if key not in self.cards:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.cards[key] = evaluate(
                    chosen.scores,
                    self.labeled,
                    prior=prior,
                    scheme=self.scheme,
                    budget=self.budget,
                    resamples=0,
                    thorough=False,  # the answer shows no measure
                    seed=self.seed,
                )
        return self.cards[key]

    def _contradiction(self, chosen: Fit, prior: Belief) -> str:
        """What chance does not explain if labels are SCAR and the prior is the lowest that it may be; empty if nothing.

        A card also counts what is impossible at its middle prior, whether or not chance explains it.
        """
        if prior.interval is None:
            return ""
        low = prior.interval[0]
        found = [line for line in self._card(chosen, (low, low)).contradictions if line.endswith(BEYOND_CHANCE)]
        return "" if not found else f"with a prior of {low:.3g}, {found[0][0].lower()}{found[0][1:]}"

    def _promise(self, chosen: Fit, prior: Belief) -> Promise:
        """Positives among the highest rows: by checked rows if there are any, else what the prior alone allows."""
        budget, card = self.budget, self._card(chosen, prior.interval)
        found = card.decision.expected_interval
        if_scar = None if found is None else (int(np.floor(found[0])), int(np.ceil(found[1])))
        by_design = self._by_design(chosen, budget)
        if by_design is not None:
            return Promise(budget, *by_design, "checked rows", if_scar)
        if prior.interval is None:
            return Promise(budget, 0, budget, "nothing is known of the prior", if_scar)
        from scipy.stats import binom

        shares = card.belief.share_interval or (card.belief.share, card.belief.share)
        low, high = (float(np.clip(share or 0.0, 0.0, 1.0)) for share in shares)
        least = int(binom.ppf(0.025, budget, low))
        most = min(budget, int(np.ceil(high * self.look.unlabeled)))
        return Promise(budget, min(least, most), most, "the prior, and a ranking no worse than a random order", if_scar)

    def _by_design(self, chosen: Fit, budget: int) -> tuple[int, int] | None:
        """95 % interval by the checked rows among the highest, weighted by their design; None if there is none."""
        if self.audited is None:
            return None
        checked = self.audited.checked
        inside = np.isin(checked.rows, self._top(chosen.scores, budget))
        if not inside.any():
            return None
        weights, positive = checked.weight[inside], checked.positive[inside]
        effective = int(np.floor(weights.sum() ** 2 / (weights**2).sum() + 1e-9))  # Kish 1965: unequal weights
        share = float((weights * positive).sum() / weights.sum())
        low, high = clopper_pearson(Side(budget, effective, round(share * effective)))
        known, most = int(positive.sum()), budget - int((~positive).sum())
        return max(known, int(np.floor(low * budget))), min(most, int(np.ceil(high * budget)))

    def _before(self) -> dict[str, Any] | None:
        """Prior, promise and choice of the answer without checked rows, if there was one."""
        path = self.folder / "answer.json"
        if self.audited is None or not path.exists():
            return None
        was = json.loads(path.read_text("utf-8"))
        if was.get("audited") is not None:
            return None if was["before"] is None else dict(was["before"])
        return {"answer": was["answer"], "promise": was["promise"], "prior": was["prior"]["interval"]}

    # ---------------------------------------------------------------- use

    def _rank(self, chosen: Fit, prior: Belief) -> None:
        """Writes all unlabeled rows, the highest first, with decisions at both ends of the prior and its middle."""
        import pandas as pd

        order = self._top(chosen.scores)
        frame = pd.DataFrame({"rank": np.arange(1, len(order) + 1), "row": order})
        for name, texts in self.read.ids.items():
            frame[name] = texts[order]
        frame["score"] = np.round(chosen.scores[order], 6)
        if prior.interval is not None:
            low, high = prior.interval
            for name, end in (("decision_low", low), ("decision", (low + high) / 2), ("decision_high", high)):
                frame[name] = (frame["rank"] <= self._positives(end)).astype(int)
        if self.audited is not None:
            answers = dict(zip(self.audited.checked.rows.tolist(), self.audited.checked.positive.tolist(), strict=True))
            frame["checked"] = [str(int(answers[row])) if row in answers else "" for row in order.tolist()]
        replace_text(self.folder / "ranked.csv", frame.to_csv(index=False))

    def _sheet(self) -> str | None:
        """Writes rows to check, unless the same sheet is there, perhaps with answers; its name."""
        if self.look.unlabeled < 2 * SHEET:
            return None
        sample = audit_sample(
            self.reference,
            self.labeled,
            n=SHEET,
            budget=self.budget,
            scheme=self.scheme,
            name=self.look.name,
            groups=self.read.groups,
            seed=self.seed,
        )
        path = self.folder / "audit.csv"
        if path.exists():
            design = path.with_suffix(DESIGN)
            if design.exists() and sample.key == AuditSample.load(design).key:
                return str(path)
            path = self.folder / f"audit-{sample.key[:6]}.csv"
            if path.exists():
                return str(path)
        own = table_reader(registry()).spec(self.table.own)
        names = most_used(self.read, np.arange(len(self.reference)), self.reference)
        columns = {**self.read.ids, **columns_of_table(own, names, lambda text: None)}
        sample.save(path.with_suffix(DESIGN))
        sample.sheet(columns).to_csv(path, index=False)
        return str(path)
