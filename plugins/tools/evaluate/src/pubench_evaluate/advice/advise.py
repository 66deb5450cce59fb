"""``pubench.advise``: the seven steps from a table without negatives to an answer."""

from __future__ import annotations

import json
import shutil
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

import numpy as np
import numpy.typing as npt
from pubench_datasets_tables.frames import TableFields, data
from pubench_study.durations import duration, seconds_of

from pubench import PUTable
from pubench.field_names import in_words as in_words_of_python
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import PubenchError, RequestError
from pubench_core.plugins.registry import registry
from pubench_core.records.files import replace_text
from pubench_core.specs.fields import short_hash

from ..audit import AuditSample, audit_sample
from ..audit.sheet import DESIGN
from ..audit.statistics import Side, clopper_pearson
from ..evaluation import Evaluation, evaluate
from ..prior_input import ends_of
from .choose import SURE, AdviceGoal, choose, goal_of
from .evidence import (
    Audited,
    agreement,
    checked_difference,
    found_at,
    highest,
    pauc_difference,
    read_answers,
)
from .facts import Compared, Promise
from .fits import FitRows, OutOfFoldScores, run_of
from .fitting import Clock, NotFitted, expected, fitted, suited
from .labeling import power_of_a_sheet, scar_of
from .look import Look, looked_at
from .page import Advice
from .portfolio import DEFAULT, Candidate
from .prior import Prior, estimates, prior_of

if TYPE_CHECKING:
    from pubench_core.data.labeled import LabeledData

FloatArray = npt.NDArray[np.float64]
#: Rows of a sheet, and the budget that is shown if neither a goal nor a prior says one.
SHEET, BUDGET = 60, 200
#: More columns than a person reads of a row.
MOST_SHOWN = 40


def advise(
    table: Any,
    label: str | None = None,
    *,
    prior: float | tuple[float, float] | str | None = None,
    goal: str = "rank",
    time: str | float = "10m",
    audited: str | Path | None = None,
    out: str | Path | None = None,
    scheme: str | None = None,
    thorough: bool = False,
    threads: int | None = None,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
    first: Callable[[Advice], None] | None = None,
    **said: Unpack[TableFields],
) -> Advice:
    """Which method for this table, what its ranking is worth, and what to check next.

    ``table``: a file, a frame, or what :func:`pubench.data` makes; ``label``: the column that says who is labeled.
    ``prior``: π of the population as a number, two ends, or ``"0.2..0.4"``. ``goal``: ``rank``, ``classify``, or
    ``review:200`` for a review of so many rows. ``time``: budget, ``10m``; what is not fitted by then is left out.
    ``audited``: the sheet of an earlier call, filled in: prior, promise and choice are made again with it. ``out``:
    folder of the answer, by default ``advice-NAME``; every finished fit is kept there, and the same call goes on.
    ``scheme`` and ``said``, all else about the table: as :func:`pubench.data` has them. ``thorough``: ask slow prior
    estimators too. ``progress``: called with a line about what runs now. ``first``: called with the first answer,
    the ranking of bagged trees before anything is compared with it; the folder holds it, too, unless it has a complete
    one.

    Bagged trees are the answer unless checked rows speak for another method: see ``docs/pages/advice.md``.

    Raises InvalidRequest (a ValueError) for what contradicts itself, or too few labeled rows.
    """
    with in_words_of_python():
        wanted, clock, say = goal_of(goal), Clock(seconds_of(time, "time", least=1e-9)), progress or (lambda text: None)
        given = None if prior is None else ends_of(prior)
        own = table if isinstance(table, PUTable) else data(table, label, scheme=scheme, **said)
        folder = Path(out) if out is not None else Path(f"advice-{Path(own.name).stem}")
        say(f"reading {own.name}")
        _claim(folder, own)
        checked = None if audited is None else read_answers(Path(audited), folder)
        return _Steps(own, folder, wanted, clock, given, checked, thorough, threads, seed, say).answer(first)


def _claim(folder: Path, table: PUTable) -> None:
    """Makes the folder, or finds that it is of the same table. Raises RequestError if it is of another one."""
    facts = {
        name: str(value)
        for name, value in sorted(table.own.items())
        if name not in ("path", "test", "positives", "unlabeled")
    }
    mine = short_hash([*table.notes, facts, table.scheme])
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


@dataclass
class _Steps:
    """The seven steps; each keeps what the later ones read."""

    table: PUTable
    folder: Path
    goal: AdviceGoal
    clock: Clock
    given: tuple[float, float] | None
    audited: Audited | None
    thorough: bool
    threads: int | None
    seed: int
    say: Callable[[str], None]

    def __post_init__(self) -> None:
        self.kept = self.folder / "fits"
        self.read: LabeledData = self.table._read()
        self.cards: dict[tuple[str, tuple[float, float] | None], Evaluation] = {}

    def answer(self, first: Callable[[Advice], None] | None = None) -> Advice:
        """All steps; the folder holds an answer as soon as bagged trees are fitted and the prior is estimated."""
        look = looked_at(self.table, self.read)
        _refuse_budget(self.goal, look)
        _refuse_prior(self.given, look, self.table.scheme)
        assert isinstance(self.read.x, np.ndarray)
        rows = self.rows = FitRows(self.read.x, self.read.labeled, self.table, self.seed, self.read.groups)
        self._announce(look)
        trees = fitted(DEFAULT, rows, self.kept, None, self.clock, threads=self.threads, say=self.say, must=True)
        if isinstance(trees, NotFitted):
            raise RequestError(f"{self.table.name}: {DEFAULT.name} {trees.reason}")
        new = not self._is_complete()
        if new:
            self._ranked(look, trees, Prior(self.given, "given", False))
            self.say(f"a first ranking after {duration(self.clock.spent)}: {self.folder / 'ranked.csv'}")
        estimated = estimates(rows, self.kept, thorough=self.thorough, progress=self.say)
        prior = prior_of(self.given, self.audited, estimated)
        told = self._told(prior)
        others = [one for one in suited(look.labeled, told) if one is not DEFAULT]
        fits = [expected([one], self.rows, self.clock.slower) for one in others if isinstance(one, Candidate)]
        if new and fits and min(fits) <= self.clock.left:  # else the answer that follows at once says the same
            waiting = [one if isinstance(one, NotFitted) else NotFitted(one, "not compared yet") for one in others]
            answer = self._answered(look, prior, [trees], waiting, complete=False)
            if first is not None:
                first(answer)
        scored: list[OutOfFoldScores] = [trees]
        missing: list[NotFitted] = []
        for one in others:
            found = (
                one
                if isinstance(one, NotFitted)
                else fitted(one, rows, self.kept, told, self.clock, threads=self.threads, say=self.say)
            )
            if isinstance(found, NotFitted):
                missing.append(found)
            else:
                scored.append(found)
        return self._answered(look, prior, scored, missing)

    def _is_complete(self) -> bool:
        """Whether the folder holds an answer that compared methods."""
        try:
            return bool(json.loads((self.folder / "answer.json").read_text("utf-8"))["complete"])
        except (OSError, ValueError, KeyError):
            return False

    def _announce(self, look: Look) -> None:
        """How long it will take, before it starts."""
        here = [one for one in suited(look.labeled, 0.5) if isinstance(one, Candidate)]
        whole = expected(here, self.rows)
        least = expected([DEFAULT], self.rows) + 5
        budget = duration(self.clock.budget)
        limit = f"at most {budget}" if least < self.clock.budget else f"and no other within {budget}"
        self.say(
            f"{look.name}: {look.rows:,} rows, {look.labeled:,} labeled, {look.features:,} features; a first "
            f"ranking in about {duration(least)}, all {len(here)} methods in about {duration(whole)}, {limit}"
        )

    def _told(self, prior: Prior) -> float | None:
        """What methods are given: as before, if that lies in the interval, so that their fits still count."""
        path = self.kept / "told.json"
        if prior.interval is None:
            return None
        low, high = prior.interval
        try:
            before = float(json.loads(path.read_text("utf-8")))
        except (OSError, ValueError, TypeError):
            before = -1.0
        if low <= before <= high:
            return before
        n, labeled = len(self.rows.x), int(self.rows.labeled.sum())
        told = round(sum(prior.interval) / 2, 4)
        if self.rows.scheme == "one-sample":  # in every fold more rows are positive than are labeled
            told = max(told, round(1.1 * labeled / n, 4))
        self.kept.mkdir(parents=True, exist_ok=True)
        replace_text(path, json.dumps(told))
        return told

    def _answered(
        self,
        look: Look,
        prior: Prior,
        scored: list[OutOfFoldScores],
        missing: list[NotFitted],
        *,
        complete: bool = True,
    ) -> Advice:
        """The answer, written to the folder. Without ``complete`` it is a first one: no model is trained for it."""
        reference = scored[0].scores
        budget = self._budget(look, prior)
        compared = [self._compared(one, reference, budget) for one in scored]
        choice = choose(
            DEFAULT.name,
            {one.name: one.held_out for one in compared if one.held_out is not None},
            {one.name: one.checked for one in compared if one.held_out is not None},
        )
        chosen = next(one for one in scored if one.candidate.name == choice.answer)
        self.say("what the ranking is worth")
        card = self._card(chosen, prior, budget)
        share = (card.belief.share if card.belief.share is not None else 0.2) or 0.05
        pauc = compared[0].pauc
        power = (
            power_of_a_sheet(look.labeled, look.unlabeled, share, pauc, SHEET) if look.unlabeled >= 2 * SHEET else ()
        )
        scar = scar_of(self.audited, self._contradiction(chosen, prior, budget, card), power, SHEET)
        promise = self._promise(chosen, prior, budget, card, look)
        thresholds = self._ranked(look, chosen, prior)
        sheet = self._sheet(look, reference, budget) if self.audited is None else None
        model, more = self._model(chosen, prior) if complete else (None, [])
        advice = Advice(
            folder=self.folder,
            goal=self.goal,
            look=look,
            scheme=self.rows.scheme,
            scar=scar,
            prior=prior,
            compared=tuple(compared),
            not_fitted=tuple(missing),
            choice=choice,
            promise=promise,
            card=card,
            audited=self.audited,
            warnings=(*look.warnings, *prior.warnings, *_baselines(compared), *more),
            seconds=self.clock.spent,
            model=model,
            sheet=sheet,
            thresholds=thresholds,
            before=self._before(),
            complete=complete,
        )
        replace_text(self.folder / "answer.json", json.dumps(advice.to_dict(), indent=1) + "\n")
        replace_text(self.folder / "advice.html", advice.html())
        return advice

    # ---------------------------------------------------------------- compare

    def _budget(self, look: Look, prior: Prior) -> int:
        """How many of the highest rows are spoken of: the goal's, or as many as there are positives."""
        if self.goal.budget is not None:
            return self.goal.budget
        middle = prior.middle
        if middle is None:
            return min(BUDGET, look.unlabeled // 2)
        n = middle * look.unlabeled if self.rows.scheme == "two-sample" else middle * look.rows - look.labeled
        return int(np.clip(round(n), 10, look.unlabeled - 10))

    def _compared(self, one: OutOfFoldScores, reference: FloatArray, budget: int) -> Compared:
        labeled, itself = self.rows.labeled, one.candidate is DEFAULT
        held_out = pauc_difference(one.scores, reference, labeled)
        checked = None
        if self.audited is not None and not itself:
            checked = checked_difference(one.scores, reference, self.audited.checked, self.seed)
        return Compared(
            name=one.candidate.name,
            method=one.candidate.method,
            baseline=one.candidate.is_baseline,
            seconds=round(one.seconds, 2),
            pauc=held_out.value,
            found=found_at(one.scores, labeled, budget),
            held_out=None if itself else held_out,
            agreement=None if itself else agreement(one.scores, reference, labeled, budget),
            checked=checked,
            prior=one.prior,
        )

    def _contradiction(self, chosen: OutOfFoldScores, prior: Prior, budget: int, card: Evaluation) -> str:
        """What chance does not explain if labels are SCAR and the prior is the lowest that it may be; empty if nothing.

        A card also counts what is impossible at its middle prior, whether or not chance explains it.
        """
        if prior.interval is None or not card.contradictions:
            return ""
        low = prior.interval[0]
        lowest = card if low == prior.interval[1] else self._card(chosen, Prior((low, low), "", False), budget)
        beyond = [cut for cut in (lowest.decision, *lowest.budgets, *lowest.recalls) if cut.contradicted]
        if not beyond:
            return ""
        cut = max(beyond, key=lambda one: (one.implied or 0) / one.all_rows)
        return (
            f"even a prior of {low:.3g} and the labeled rows imply {cut.implied:,.0f} positives among the top "
            f"{cut.all_rows:,} rows, more than chance explains"
        )

    def _card(self, chosen: OutOfFoldScores, prior: Prior, budget: int) -> Evaluation:
        key = (chosen.candidate.name, prior.interval)
        if key not in self.cards:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                self.cards[key] = evaluate(
                    chosen.scores,
                    self.rows.labeled,
                    prior=prior.interval,
                    scheme=self.rows.scheme,
                    budget=budget,
                    estimators=(),
                    resamples=0,
                    seed=self.seed,
                )
        return self.cards[key]

    def _promise(self, chosen: OutOfFoldScores, prior: Prior, budget: int, card: Evaluation, look: Look) -> Promise:
        """Positives among the highest rows: by checked rows if there are any, else what the prior alone allows."""
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
        most = min(budget, int(np.ceil(high * look.unlabeled)))
        return Promise(budget, min(least, most), most, "the prior, and a ranking no worse than a random order", if_scar)

    def _by_design(self, chosen: OutOfFoldScores, budget: int) -> tuple[int, int] | None:
        """95 % interval by checked rows: by the design if the sheet divides the rows there, else by those in the top.

        None without checked rows in the top.
        """
        if self.audited is None:
            return None
        unlabeled = np.flatnonzero(~self.rows.labeled)
        top = unlabeled[highest(chosen.scores[unlabeled], budget)]
        scored, precision = self.audited.sample.scored, self.audited.result.precision
        above = np.flatnonzero(~scored.labeled & (scored.scores > self.audited.sample.threshold))
        if np.array_equal(np.sort(top), above) and precision.low is not None and precision.high is not None:
            return int(np.floor(precision.low * budget)), int(np.ceil(precision.high * budget))
        inside = np.isin(self.audited.checked.rows, top)
        if not inside.any():
            return None
        weights = self.audited.checked.weight[inside]
        positive = self.audited.checked.positive[inside]
        effective = int(np.floor(weights.sum() ** 2 / (weights**2).sum() + 1e-9))  # Kish 1965: unequal weights
        share = float((weights * positive).sum() / weights.sum())
        low, high = clopper_pearson(Side(budget, effective, round(share * effective)))
        known = int(positive.sum())
        most = budget - int((~positive).sum())
        return max(known, int(np.floor(low * budget))), min(most, int(np.ceil(high * budget)))

    def _before(self) -> dict[str, Any] | None:
        """Prior, promise and choice of the answer without checked rows, if there was one."""
        path = self.folder / "before.json"
        now = self.folder / "answer.json"
        if self.audited is None:
            return None
        if not path.exists() and now.exists():
            was = json.loads(now.read_text("utf-8"))
            if was.get("audited") is None:
                kept = {name: was.get(name) for name in ("answer", "promise", "headline")}
                replace_text(path, json.dumps({**kept, "prior": was["prior"]["interval"]}))
        found: dict[str, Any] | None = json.loads(path.read_text("utf-8")) if path.exists() else None
        return found

    # ---------------------------------------------------------------- use

    def _ranked(self, look: Look, chosen: OutOfFoldScores, prior: Prior) -> dict[str, float]:
        """Writes all unlabeled rows, the highest first; thresholds of the score at both ends of the prior."""
        import pandas as pd

        labeled, scores = self.rows.labeled, chosen.scores
        unlabeled = np.flatnonzero(~labeled)
        order = unlabeled[highest(scores[unlabeled], len(unlabeled))]
        frame = pd.DataFrame({"rank": np.arange(1, len(order) + 1), "row": order})
        for name, texts in self.read.ids.items():
            frame[name] = texts[order]
        frame["score"] = np.round(scores[order], 6)
        thresholds: dict[str, float] = {}
        if prior.interval is not None:
            for name, end in (("low", prior.interval[0]), ("middle", prior.middle or 0), ("high", prior.interval[1])):
                share = end if self.rows.scheme == "two-sample" else (end * look.rows - look.labeled) / look.unlabeled
                n = int(np.clip(round(share * look.unlabeled), 0, look.unlabeled))
                thresholds[name] = float(scores[order[n - 1]]) if n else 1.0
                frame["decision" if name == "middle" else f"decision_{name}"] = (frame["rank"] <= n).astype(int)
        if self.audited is not None:
            answers = dict(zip(self.audited.checked.rows.tolist(), self.audited.checked.positive.tolist(), strict=True))
            frame["checked"] = [str(int(answers[row])) if row in answers else "" for row in order.tolist()]
        replace_text(self.folder / "ranked.csv", frame.to_csv(index=False))
        return thresholds

    def _sheet(self, look: Look, reference: FloatArray, budget: int) -> str | None:
        """Writes rows to check, unless the same sheet is there, perhaps with answers; its name."""
        if look.unlabeled < 2 * SHEET:
            return None
        sample = audit_sample(
            reference,
            self.rows.labeled,
            n=SHEET,
            budget=budget,
            scheme=self.rows.scheme,
            name=look.name,
            groups=self.read.groups,
            seed=self.seed,
        )
        path = self.folder / "audit.csv"
        design = path.with_suffix(DESIGN)
        if path.exists():
            if design.exists() and sample.key == AuditSample.load(design).key:
                return str(path)
            path = self.folder / f"audit-{sample.key[:6]}.csv"
            design = path.with_suffix(DESIGN)
            if path.exists():
                return str(path)
        sample.save(design)
        sample.sheet(self._columns()).to_csv(path, index=False)
        return str(path)

    def _columns(self) -> Mapping[str, npt.NDArray[Any]]:
        """What names the rows, and the features as the file has them; without those if there are too many to read."""
        names = [column.name for column in self.read.columns]
        shown = dict(self.read.ids)
        if len(names) <= MOST_SHOWN:
            reader = table_reader(registry())
            own = reader.spec(self.table.own)
            shown |= reader.written(own, reader.rows(own), names)
        return shown

    def _model(self, chosen: OutOfFoldScores, prior: Prior) -> tuple[str | None, list[str]]:
        """Joins the folds of the answer and trains it on all rows: the record that predict, evaluate and audit read.

        It is given the prior even if it learns nothing from it, so that there are decisions at the prior.
        """
        from pubench_core.engine.execute import execute

        self.say(f"training {chosen.candidate.name} on all rows, to be kept")
        told = self._told(prior) if chosen.prior is None else chosen.prior
        try:
            record = execute(run_of(chosen.candidate, self.rows, self.kept, told, self.threads)).folder
        except PubenchError as error:
            return None, [f"no model was kept: {error}"]
        model = self.folder / "model"
        shutil.rmtree(model, ignore_errors=True)
        shutil.copytree(record, model)
        return str(model), []


def _refuse_budget(goal: AdviceGoal, look: Look) -> None:
    if goal.budget is not None and goal.budget >= look.unlabeled:
        raise RequestError(
            f"goal=review:{goal.budget}: expected fewer rows than the {look.unlabeled:,} unlabeled ones",
            field="goal",
            value=str(goal),
        )


def _refuse_prior(given: tuple[float, float] | None, look: Look, scheme: str | None) -> None:
    least = look.labeled / look.rows
    if given is not None and scheme != "two-sample" and given[1] <= least:
        raise RequestError(
            f"prior={given[1]:g}: {look.labeled:,} of {look.rows:,} rows are labeled positives, so it must be above "
            f"{least:.4g}; scheme=two-sample if the labeled rows come from elsewhere",
            field="prior",
            value=given,
        )


def _baselines(compared: Sequence[Compared]) -> list[str]:
    """A line if checked rows say that P against U is better than every PU method."""
    known = [one for one in compared if one.checked is not None]
    if not known:
        return []
    best = max(known, key=lambda one: one.checked.difference if one.checked is not None else 0.0)
    if best.baseline and best.checked is not None and best.checked.better >= SURE:
        return [f"{best.name} is better than every PU method on the checked rows: PU learning does not help here"]
    return []
