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

from ..audit import audit_sample
from ..audit.sheet import DESIGN, columns_of_table, most_used
from ..audit.statistics import ScarTest, Side, clopper_pearson
from ..belief import Belief, Interval, belief_in, ends_of, in_short
from ..evaluation import BEYOND_CHANCE, Evaluation, evaluate
from ..prior import APART, PriorEstimates, estimate_prior, infos_of, prior_of
from ..scored_rows import BoolArray, FloatArray, IntArray, scored_rows
from .choice import (
    DEFAULT,
    OTHERS,
    TAUGHT,
    Audited,
    Candidate,
    Fit,
    budget_of,
    checked_difference,
    chosen_by_checked_rows,
    read_answers,
)
from .fits import Say, fitted, folds_for, never_silent, run_of, with_answers
from .look import looked_at
from .page import SHEET, Advice, Promise

if TYPE_CHECKING:
    from pubench_core.data.labeled import LabeledData

#: Rows that were checked, and whether each is positive.
Answers = tuple[IntArray, BoolArray]
#: The budget that is shown if the goal says none.
BUDGET = 200
#: Of the time, for fits; the rest is for the page.
FOR_FITS = 0.9
#: Estimators of the prior read at most so many rows, a random part of the table.
MOST_ROWS = 10_000


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
    ``review:200`` for a review of so many rows. ``audited``: the sheet of an earlier call, filled in: the answer trains
    on it, then other methods are fitted, cheapest first, and compared by it. ``time``: limit for everything, seconds
    or ``10m``; nine tenths are for fits, half of them for the comparison. ``out``: folder of the answer, by default
    ``advice-NAME``; it keeps every finished fit, and the same call goes on. ``scheme`` and ``about``: as
    :func:`pubench.data` has them. ``progress``: called with a line about what runs now, at least every ten seconds.

    The answer is bagged trees unless checked rows speak for another method: see ``docs/pages/advice.md``.

    Raises InvalidRequest (a ValueError) for what contradicts itself, or too few labeled rows.
    """
    with in_words(), never_silent(progress or (lambda text: None)) as say:
        began, budget, limit = perf_counter(), budget_of(goal), FOR_FITS * seconds_of(time, "time", least=1e-9)
        given = None if prior is None else ends_of(prior)
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
    """seconds for all fits, from the beginning"""
    given: Interval | None
    audited: Audited | None
    threads: int | None
    seed: int
    say: Say

    def __post_init__(self) -> None:
        self.look = look = looked_at(self.table, self.read)
        if self.wanted is not None and self.wanted >= look.unlabeled:
            raise RequestError(
                f"goal={self.goal}: expected fewer rows than the {look.unlabeled:,} unlabeled ones",
                field="goal",
                value=self.goal,
            )
        assert isinstance(self.read.x, np.ndarray)
        self.x, self.labeled, self.scheme = self.read.x, self.read.labeled, self.table.scheme or "one-sample"
        self.folds = folds_for(self.labeled, self.read.groups)
        self.kept = np.flatnonzero(~self.read.negative)
        self.unlabeled = np.setdiff1d(self.kept, np.flatnonzero(self.labeled))
        belief_in(self.given, scored_rows(np.zeros(len(self.kept)), self.labeled[self.kept], scheme=self.scheme))
        before = self.folder / "answer.json"
        self.estimated = json.loads(before.read_text("utf-8")).get("estimated") if before.exists() else None

    @property
    def spent(self) -> float:
        """Seconds so far."""
        return perf_counter() - self.began

    def answer(self) -> Advice:
        """Bagged trees with ranking, model and sheet; then the prior, and with checked rows the other methods."""
        look, checked = self.look, None if self.audited is None else self.audited.result
        self.prior, self.contradicted = prior_of(self.given, checked, None)
        self.say(f"{look.name}: {look.rows:,} rows, {look.labeled:,} labeled, {look.features:,} features")
        self.budget = self.wanted or min(BUDGET, look.unlabeled // 2)
        first, estimated = self._fitted(DEFAULT, quick=True), None
        early = self.audited is None and not first.reason
        if early:
            self._answered([first])
            self.say(f"ranked rows, model, page and rows to check after {duration(self.spent)}: {self.folder}")
        trees = self._fitted(DEFAULT) if self.audited is None else first
        if trees.reason and (not early or trees.reason.startswith("failed")):
            raise RequestError(f"{look.name}: {DEFAULT.name}: {trees.reason}")
        if self.audited is None:
            if trees.reason:
                self.contradicted = [f"no range of positives: labeled rows are not scored ({trees.reason})"]
                trees = first
            if self.given is None and self.spent > self.limit:
                self.prior = Belief(source="the time was up before an estimate")
            elif self.given is None:
                estimated = estimates(self.x, self.labeled, self.scheme, self.seed, self.say)
                self.estimated = estimated and estimated.interval
                self.prior, _ = prior_of(None, None, estimated)
            if self.prior.estimated and self._contradiction(trees):  # it is wrong, whatever the labels are
                self.prior = Belief(source=f"the estimate {in_short(self.prior.interval)} contradicts the scores")
            return self._answered([trees], estimated)
        self.reference = trees.scores
        self._answered([trees])
        taught = self._taught(trees, quick=True)  # gains most: docs/pages/checked-rows.md
        self._answered([trees], taught=taught)
        others = [self._fitted(one, compare=True) for one in OTHERS]
        chosen = chosen_by_checked_rows(others) or trees
        final = self._taught(chosen)
        return self._answered([trees, *others], taught=taught if final.reason and chosen is trees else final)

    def _fitted(
        self, one: Candidate, *, compare: bool = False, known: Answers | None = None, quick: bool = False
    ) -> Fit:
        """A fit; with ``compare`` within the time, next to bagged trees by checked rows. ``known``: answers that it
        trains on. ``quick``: as :func:`fitted` has it.
        """
        until = self.limit / (2 if compare else 1)  # half of the time is left for training what was chosen
        kept, table, labeled = self.folder / "fits", self.table, self.labeled
        if known is not None:
            table, labeled = with_answers(table, self.read, *known), labeled.copy()
            labeled[known[0][known[1]]] = True
        plan = run_of(one, table, self.folds, kept, self._told(known), threads=self.threads, seed=self.seed)
        alone = self.read.groups is None and not self.look.copies  # of twins, one may be in every bag
        fit = fitted(one, plan, labeled, self.say, lambda: until - self.spent, alone, quick)
        if not compare or fit.reason or self.audited is None:
            return fit
        return replace(fit, checked=checked_difference(fit.scores, self.reference, self.audited.checked, self.seed))

    def _taught(self, one: Fit, quick: bool = False) -> Fit:
        """The method trained on the checked rows too, each of which is scored by a model that does not know its answer.

        Its place is that among the rows that nobody checked. Without the time for such models, what training changed is
        not known. ``quick``: as :func:`fitted` has it.
        """
        assert self.audited is not None
        checked, named = self.audited.checked, replace(one.candidate, name=f"{one.candidate.name}{TAUGHT}")
        known, part = (checked.rows, checked.positive), checked.parts(self.seed)
        fit = self._fitted(named, known=known, quick=quick)
        if fit.reason:
            return fit
        rest = np.setdiff1d(self.unlabeled, checked.rows)
        for k in np.unique(part):
            others = checked.rows[part != k], checked.positive[part != k]
            some = self._fitted(named, known=others, quick=True)
            if some.reason:  # places by the model that knows no answer
                fit.scores[checked.rows] = self.reference[checked.rows]
                return fit
            rows, of_rest = checked.rows[part == k], np.sort(some.scores[rest])
            below, upto = (np.searchsorted(of_rest, some.scores[rows], side) for side in ("left", "right"))
            fit.scores[rows] = (below + upto) / 2 / len(rest)
        return replace(fit, checked=checked_difference(fit.scores, self.reference, checked, self.seed))

    def _told(self, known: Answers | None) -> float | None:
        """The prior that models decide by: the middle of the given one, so that fits without checked rows still count.

        With answers, it is what they leave among the rows that are no known negatives. An estimate does not count.
        """
        ends, n_u = self.given if known is None else self.prior.interval, self.look.unlabeled
        if ends is None:
            return None
        told, n, n_p = sum(ends) / 2, self.look.rows, self.look.labeled
        if known is not None:
            checked, found, positives = len(known[1]), int(known[1].sum()), self._positives(told)
            n = n - checked + found
            told = (positives - found) / (n_u - checked) if self.scheme == "two-sample" else (n_p + positives) / n
            n_p += found
        if self.scheme == "one-sample":  # in every fold more rows are positive than are labeled
            told = max(told, 1.1 * n_p / n)
        return round(min(max(told, 1e-3), 0.999), 4)

    def _answered(
        self, fits: Sequence[Fit], estimates: PriorEstimates | None = None, taught: Fit | None = None
    ) -> Advice:
        """The answer, written to the folder with its ranking and model; ``taught``: what it is unless it failed."""
        chosen = chosen_by_checked_rows(fits) or fits[0]
        if taught is not None:
            chosen, fits = chosen if taught.reason else taught, [*fits, taught]
        self._keep(chosen)
        self.sheet = self._sheet(chosen.scores) if self.audited is None else None
        card = self._card(chosen, self.prior.interval)
        unknown = ScarTest(undefined="no row was checked, and a table alone cannot tell")
        test = unknown if self.audited is None else self.audited.result.scar
        advice = Advice(
            folder=self.folder,
            goal=self.goal,
            look=self.look,
            scheme=self.scheme,
            scar=replace(test, contradiction=self._contradiction(chosen)),
            prior=self.prior,
            estimates=estimates,
            estimated=self.estimated,
            given=self.given,
            answer=chosen.candidate.name,
            fits=tuple(fits),
            promise=self._promise(chosen, card),
            card=card,
            audited=self.audited,
            warnings=(*self.look.warnings, *self.contradicted),
            seconds=self.spent,
            model=str(self.folder / "model"),
            sheet=self.sheet,
        )
        replace_text(self.folder / "answer.json", json.dumps(advice.to_dict(), indent=1) + "\n")
        replace_text(self.folder / "advice.html", advice.html())
        return advice

    # ---------------------------------------------------------------- what it is worth

    def _positives(self, prior: float) -> int:
        """Positives among the unlabeled rows."""
        look = self.look
        n = prior * look.unlabeled if self.scheme == "two-sample" else prior * look.rows - look.labeled
        return int(np.clip(round(n), 0, look.unlabeled))

    def _top(self, scores: FloatArray, n: int | None = None) -> IntArray:
        """The ``n`` highest unlabeled rows (all of them), the highest first; of equal ones, the first."""
        return self.unlabeled[np.argsort(-scores[self.unlabeled], kind="stable")[:n]]

    def _card(self, chosen: Fit, prior: Interval | None) -> Evaluation | None:
        if np.isnan(chosen.scores[self.labeled]).any():
            return None
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return evaluate(
                chosen.scores[self.kept],
                self.labeled[self.kept],
                prior=prior,
                scheme=self.scheme,
                budget=self.budget,
                resamples=0,
                thorough=False,  # the answer shows no measure
                seed=self.seed,
            )

    def _contradiction(self, chosen: Fit) -> str:
        """What chance does not explain if labels are SCAR and the prior is the lowest that it may be; empty if nothing.

        A card also counts what is impossible at its middle prior, whether or not chance explains it.
        """
        low = 0.0 if self.prior.interval is None else self.prior.interval[0]
        card = self._card(chosen, (low, low)) if low else None
        found = [line for line in card.contradictions if line.endswith(BEYOND_CHANCE)] if card else []
        return "" if not found else f"with a prior of {low:.3g}, {found[0][0].lower()}{found[0][1:]}"

    def _promise(self, chosen: Fit, card: Evaluation | None) -> Promise:
        """Positives among the highest rows: by checked rows if there are any, else by the prior if labels are SCAR."""
        by_design = self._by_design(chosen, self.budget)
        if by_design is not None:
            return Promise(self.budget, *by_design, "checked rows")
        found = None if card is None else card.decision.expected_interval
        if found is None:
            return Promise(self.budget, 0, self.budget, "nothing that is known")
        return Promise(self.budget, int(np.floor(found[0])), int(np.ceil(found[1])), "the prior, if labels are SCAR")

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

    # ---------------------------------------------------------------- use

    def _keep(self, chosen: Fit) -> None:
        """Writes model and ranking: all unlabeled rows, the highest first, with decisions at both ends of the prior and
        its middle. A checked row is decided as it was answered.
        """
        import pandas as pd

        model = self.folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(chosen.folder, model)  # the record that predict, evaluate and audit read
        order = self._top(chosen.scores)
        frame = pd.DataFrame({"rank": np.arange(1, len(order) + 1), "row": order})
        for name, texts in self.read.ids.items():
            frame[name] = texts[order]
        frame["score"] = np.round(chosen.scores[order], 6)
        known = np.full(len(self.x), -1)
        if self.audited is not None:
            known[self.audited.checked.rows] = self.audited.checked.positive
        answers, place = known[order], (known[order] < 0).cumsum()
        if self.prior.interval is not None:
            low, high = self.prior.interval
            for name, end in (("decision_low", low), ("decision", (low + high) / 2), ("decision_high", high)):
                left = self._positives(end) - int((answers == 1).sum())
                frame[name] = np.where(answers < 0, place <= left, answers == 1).astype(int)
        if self.audited is not None:
            frame["checked"] = np.where(answers < 0, "", answers.astype(str))
        replace_text(self.folder / "ranked.csv", frame.to_csv(index=False))

    def _sheet(self, scores: FloatArray) -> str | None:
        """Writes rows to check and their design; its name. The same sheet stays, as it may have answers."""
        if self.look.unlabeled < 2 * SHEET:
            return None
        unscored = bool(np.isnan(scores[self.labeled]).any())
        sample = audit_sample(
            np.nan_to_num(scores[self.kept]),
            self.labeled[self.kept],
            n=SHEET,
            n_labeled=self.look.labeled if unscored else None,
            budget=self.budget,
            scheme=self.scheme,
            rows=self.kept,
            name=self.look.name,
            groups=None if self.read.groups is None else self.read.groups[self.kept],
            seed=self.seed,
        )
        path = self.folder / "audit.csv"
        if path.exists() and sample.key not in path.read_text("utf-8", errors="replace"):
            path = self.folder / f"audit-{sample.key[:6]}.csv"
        if not path.exists():
            names = most_used(self.read, self.unlabeled, scores[self.unlabeled])
            of_table = columns_of_table(table_reader(registry()).spec(self.table.own), names, lambda text: None)
            columns = {**self.read.ids, **of_table}
            sample.sheet({name: values[self.kept] for name, values in columns.items()}).to_csv(path, index=False)
            sample.save(path.with_suffix(DESIGN))
        elif not unscored:
            sample.save(path.with_suffix(DESIGN))
        return str(path)
