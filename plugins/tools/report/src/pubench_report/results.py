"""Finished runs as one object: filtered, as a frame, as a table of methods by data sets, with tests of differences."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import replace
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pubench.field_names import InvalidRequest, PubenchWarning, in_words
from pubench.running import RunResult
from pubench_core.errors import counted, shortened, unknown
from pubench_core.records.files import RESULT
from pubench_core.specs import RunSpec

from .grouping import MISSING, FailedRun, Grid, NamedRun, identity_of, spec_of
from .report.gather import Gathered, StoredRuns, best_of_draws
from .report.model import Model, Significance, comparison_of, model_of
from .report.tables import MeasureTable, measure_table
from .rows.columns import FRAME, names
from .rows.files import has_rows
from .rows.record import criteria_of, known_of, measured_frame, metrics_of
from .rows.runs import WHOLE_RUNS

if TYPE_CHECKING:
    from pandas import DataFrame

__all__ = ["FailedRun", "Results", "load_results"]


class Results(Sequence[RunResult]):
    """Finished runs in a fixed order; never changed in place.

    >>> import pubench
    >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
    >>> results
    Results: 4 runs of 2 methods (upu, nnpu) on 1 data set (digits), seeds 2, 25
    >>> len(results), results[0].result.spec.method.key
    (4, 'upu')
    >>> results.where(method="nnpu", seed=25).to_frame()[["method", "seed", "epochs"]]
      method  seed  epochs
    0   nnpu    25       1
    """

    def __init__(self, runs: Iterable[RunResult | FailedRun] = (), names: Iterable[str] | None = None) -> None:
        """``runs``: finished ones, and failed ones at their place among them. ``names``: of each in a comparison, by
        default its method's key.
        """
        everything = tuple(runs)
        keys = tuple(spec_of(run).method.key for run in everything) if names is None else tuple(names)
        self._gathered = Gathered(Path(), "", tuple(zip(keys, everything, strict=True)))
        self._runs = tuple(self._gathered.done)

    # ---------------------------------------------------------------- a sequence

    @overload
    def __getitem__(self, which: int) -> RunResult: ...
    @overload
    def __getitem__(self, which: slice) -> Results: ...
    def __getitem__(self, which: int | slice) -> RunResult | Results:
        if isinstance(which, slice):
            return Results._of([(name, run) for name, run in self._named()][which])
        return self._runs[which]

    def __len__(self) -> int:
        return len(self._runs)

    def __iter__(self) -> Iterator[RunResult]:
        return iter(self._runs)

    def __add__(self, other: Results) -> Results:
        """Both; of runs with the same name and spec the first finished one, else the first."""
        if not isinstance(other, Results):
            return NotImplemented
        both: dict[tuple[str, str], NamedRun] = {}
        for name, run in (*self._gathered.runs, *other._gathered.runs):
            key = (name, identity_of(spec_of(run)))
            if key not in both or (isinstance(both[key][1], FailedRun) and isinstance(run, RunResult)):
                both[key] = (name, run)
        return Results._of(both.values())

    @classmethod
    def _of(cls, named: Iterable[tuple[str, RunResult | FailedRun]]) -> Results:
        pairs = list(named)
        return cls([run for _, run in pairs], [name for name, _ in pairs])

    def __repr__(self) -> str:
        if not self._gathered.runs:
            return "Results: no runs"
        seeds = sorted({spec.seed for spec in self._specs()})
        lines = [
            f"Results: {counted(len(self), 'run')} of {_listed('method', self.methods)} on "
            f"{_listed('data set', self.data)}, {'seed' if len(seeds) == 1 else 'seeds'} {_shortened(seeds)}"
        ]
        return "\n".join([*lines, *(f"failed: {failure}" for failure in self.failures)])

    def _named(self) -> Iterator[tuple[str, RunResult]]:
        return ((name, run) for name, run in self._gathered.runs if isinstance(run, RunResult))

    def _specs(self) -> list[RunSpec]:
        return [spec_of(run) for _, run in self._gathered.runs]

    # ---------------------------------------------------------------- what is there

    @property
    def failures(self) -> tuple[FailedRun, ...]:
        """Runs of a comparison that were refused or failed, with their reasons."""
        return tuple(run for _, run in self._gathered.runs if isinstance(run, FailedRun))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods compared, in order of appearance."""
        return tuple(dict.fromkeys(name for name, _ in self._gathered.runs))

    @property
    def data(self) -> tuple[str, ...]:
        """Keys of the data sets, names of tables, in order of appearance."""
        return tuple(dict.fromkeys(spec.data.key for spec in self._specs()))

    @property
    def criteria(self) -> tuple[str, ...]:
        """Selection criteria that a run tracked."""
        return criteria_of(self._runs)

    def metrics(self, part: str = "test") -> tuple[str, ...]:
        """Metrics that a run has a measure of on a part: ``test`` or ``validation``."""
        return metrics_of(self._runs, part)

    # ---------------------------------------------------------------- fewer of them

    def where(self, **wanted: Any) -> Results:
        """The runs whose columns have these values; a list or set means any of its values.

        The columns are those of :meth:`to_frame` before the measures (``method``, ``data``, ``c``, ``seed``,
        ``preset``, ``oracle`` ...). Hyper-parameters: ``where(**{"config.lr": 1e-3})``. A frozen result's criterion is
        the one that names it. Failures stay where all that is known of them fits.

        Raises InvalidRequest for a column that there is none of.
        """
        with in_words():
            for column in wanted:
                if column not in names(FRAME) and not column.startswith("config."):
                    raise unknown("column", column, (*names(FRAME), "config.NAME"))
        several = {
            column: value if isinstance(value, Collection) and not isinstance(value, (str, bytes)) else (value,)
            for column, value in wanted.items()
        }
        known = [(name, run, known_of(name, run)) for name, run in self._gathered.runs]
        fit = (one for one in known if all(column in one[2] and one[2][column] in of for column, of in several.items()))
        return Results._of((name, run) for name, run, _ in fit)

    def best_of_draws(self, criterion: str) -> Results:
        """Best runs by ``criterion`` on each split, of those that differ in hyper-parameters alone.

        In tables, what is left of a method is one row, whatever its hyper-parameters; how it was chosen is noted.

        Raises InvalidRequest for a criterion that no run tracked.
        """
        with in_words():
            if criterion not in self.criteria:
                raise unknown("criterion", criterion, self.criteria)
        named, note = best_of_draws(self._gathered.runs, criterion)
        found = Results._of(named)
        drawn = frozenset(run.run_id for _, run in named)
        found._gathered = replace(found._gathered, notes=(note,) if note else (), drawn=drawn if note else frozenset())
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """Notes that a reader of these results needs besides their figures."""
        return self._gathered.notes

    # ---------------------------------------------------------------- as a frame

    def to_frame(
        self,
        measures: Literal["test", "validation", "all", "none"] = "test",
        *,
        criteria: str | Collection[str] = "selected",
        config: bool | Collection[str] = False,
    ) -> DataFrame:
        """One row per run, in order.

        Columns: run_id, name (of the method in a comparison), method, data, mechanism, c (NaN where
        labels are given or positive_rate, the share of P and U that is labeled, says how many),
        scheme, prior (what the method was given), prior_from (how that came about: true, a number, ``estimated:KEY``),
        prior_true, seed, preset, backbone, oracle (the method was granted true labels), criterion, criterion_oracle,
        criterion_value (on the validation part), epoch (chosen), epochs (trained), seconds, warnings (texts); then the
        measures as ``test_accuracy``, ``validation_pa`` and so on, between 0 and 1 as the metrics give them, NaN where
        there is no value.

        ``criteria``: ``selected`` is the criterion that names each result; ``all``, or names, give one row per run and
        criterion. ``config``: hyper-parameters as columns ``config.lr``; True means all, names only those.

        Raises InvalidRequest for a criterion or a hyper-parameter that no run has.
        """
        with in_words():
            return measured_frame(list(self._named()), measures, criteria, config)

    # ---------------------------------------------------------------- compared

    def table(
        self,
        metric: str = "accuracy",
        criterion: str | None = None,
        *,
        part: Literal["test", "validation"] = "test",
    ) -> MeasureTable:
        """Methods by data sets: mean ± sample standard deviation over seeds, with the number of seeds.

        Only runs that differ in nothing but their seed are averaged. What differs otherwise gets rows of its own
        (``nnpu [lr=0.001]``, ``nnpu [prior=0.4]``) or columns of its own (``digits [c=0.1]``).

        ``criterion``: under which epoch was chosen; None means the one that names the results. If several name them,
        that of most runs which every run tracked, with a note. ``part``: where it was measured.

        Raises InvalidRequest for a metric or a criterion that no run has, for results named by several criteria of
        which every run lacks one, for a seed that is there twice, and where the data changed between runs.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> table = results.table("auc", criterion="last")
        >>> table.rows, table.columns
        (('upu', 'nnpu'), ('digits',))
        >>> table.cells["nnpu", "digits"].mean > 0.5
        True
        """
        with in_words():
            return measure_table(self.model(metric, criterion, part))

    def significance(
        self,
        metric: str = "accuracy",
        criterion: str | None = None,
        *,
        reference: str | None = None,
        part: Literal["test", "validation"] = "test",
    ) -> Significance:
        """Whether differences between methods are more than the chance of splits, labels and initialization.

        On every data set, each method against ``reference`` (a row of :meth:`table`; by default a baseline such as
        ``naive``, else the one with runs on most data sets that is no oracle) over the seeds that both ran: a paired
        t-test, two-sided, with Holm's adjustment over the methods of that data set, level .05. Over data sets, three
        methods and two data sets given: Friedman's test on ranks, with Nemenyi's critical difference. Oracle methods
        are left out, except for the pairs where one is the reference.

        Raises InvalidRequest as :meth:`table` does, for an unknown reference, and for fewer than two methods.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> results.significance("auc").pairs[0].n
        2
        """
        with in_words():
            model = self.model(metric, criterion, part)
            grid = model.grid
            if model.measure.higher_is_better is None:
                raise InvalidRequest(f"metric {metric} is not installed, so whether higher is better is not known")
            if len(grid.rows) < 2:
                raise InvalidRequest(f"two methods are needed for a test, there is {', '.join(grid.rows) or 'none'}")
            against = grid.reference if reference is None else reference
            if against not in grid.rows:
                raise unknown("reference", against, grid.rows)
            apart = [
                f"{kind} are not ranked, and tested only as the reference: {', '.join(r for r in grid.rows if r in of)}"
                for kind, of in (("oracle methods", grid.oracles), ("baselines", grid.baselines))
                if of
            ]
            return comparison_of(model, model.whole, against, (*measure_table(model).notes, *apart))

    @property
    def grid(self) -> Grid:
        """Runs by row and column of a table."""
        return self._gathered.grid

    def model(self, metric: str, criterion: str | None = None, part: str = "test") -> Model:
        """Model that tables and tests are made of. Raises as :meth:`table` does."""
        if not self._runs:
            failed = f": {len(self.failures)} failed, the first is {self.failures[0]}" if self.failures else ""
            raise InvalidRequest(f"there are no finished runs to compare{failed}")
        model = model_of(self._gathered, metric, criterion, part)
        model.gathered = model.gathered.with_notes(*filter(None, (*model.gathered.notes, self.noted())))
        return model

    def report(
        self,
        path: str | Path,
        *,
        measure: str = "accuracy",
        criterion: str | None = None,
        baseline: str | None = None,
        figures: str | Path | None = None,
    ) -> list[Path]:
        """Writes tables, criteria and measures side by side, paired tests, ranks and figures; the paths written.

        What ``pubench study report`` writes of the same runs, the report first in the list, in the format that the
        file's name ends in: ``.html`` (one file with everything in it), ``.md``, ``.csv``, ``.tex`` or ``.txt``.
        ``measure``: on test rows. ``criterion``: the one that names the results by default. ``baseline``: method that
        others are tested against, by default as for :meth:`significance`. ``figures``: folder that gets every figure as
        PNG and SVG.

        Raises InvalidRequest for another ending, a measure, criterion or baseline that there is none of, if there is no
        finished run, for a seed that is there twice, and for a file that cannot be written.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> [path.name for path in results.report("compared.md")]
        ['compared.md']
        """
        from .report.write import write_report

        folder = None if figures is None else Path(figures)
        with in_words():
            return write_report(self._gathered, Path(path), measure, criterion, baseline, folder)

    def noted(self) -> str:
        """Which runs have warnings, in one line; empty where none has."""
        cells = Counter(
            f"{name} on {run.result.spec.data.key}"
            for name, run in self._named()
            if run.result.warnings or run.result.chosen.warnings
        )
        listed = _shortened([f"{where} ({n})" for where, n in cells.items()])
        said = f"{sum(cells.values())} of {len(self)} runs have warnings: {listed}; their records have them"
        return said if cells else ""


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{counted(len(names), what)} ({_shortened(names)})"


def _shortened(names: Sequence[object]) -> str:
    shown = ", ".join(str(name) for name in names[:8])
    return shown if len(names) <= 8 else f"{shown}, ..."


def load_results(folder: str | Path = "results", *, study: str | None = None) -> Results:
    """All records of a folder, oldest first, without those of single folds; or the runs of a file of rows or board.

    Of records, neither torch nor a plugin's implementation is imported.

    ``study``: the name of a study that was planned there; only its runs then, in the plan's order and under the names
    that it gives to rows, whatever code made them, with those that failed and have no result among the failures.

    A record that cannot be read (damaged, or of another version of pubench) is left out with a PubenchWarning that says
    why. A run that failed is among the failures where a run with another seed and the same settings has a result, so
    that a mean over seeds says how many are missing; where none has, a PubenchWarning names it.

    Raises InvalidRequest (a ValueError) if there is no such folder.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="my-results")
    >>> load_results("my-results")
    Results: 1 run of 1 method (upu) on 1 data set (digits), seed 2
    """
    path = Path(folder)
    if not isdir(path) and not (isfile(path) and has_rows(path)):
        what = "a file" if isfile(path) else "not there"
        raise InvalidRequest(
            f"folder: {shortened(str(path))} is {what}; expected the folder of records, by default 'results'"
        )
    if isfile(path / RESULT):
        raise InvalidRequest(f"folder: {path} is one record; expected the folder that holds it: {path.parent}")
    with in_words():
        found = StoredRuns(path).stored(study or "", any_name=True)
    for note in found.notes:
        if note != WHOLE_RUNS:
            warnings.warn(note, PubenchWarning, stacklevel=2)
    there = [(name, run) for name, run in found.runs if isinstance(run, RunResult) or run.cause != MISSING]
    return Results([run for _, run in there], [name for name, _ in there])
