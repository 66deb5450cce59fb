"""Finished runs as one object: filtered, as a frame, as a table of methods by data sets, with tests of differences."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from os.path import isdir, isfile
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, overload

from pubench_core.errors import RecordError, shortened, unknown
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore
from pubench_core.results import CriterionResult
from pubench_core.specs import RunSpec

from .draws import best_of_draws
from .grouping import FailedRun, grid_of, spec_of
from .measure_table import MeasureTable, measured_cells
from .running import RunResult
from .significance import Significance, Test, pairs_of, ranks_of
from .words import InvalidRequest, PubenchWarning, in_words

if TYPE_CHECKING:
    from pandas import DataFrame

    from .reporting import Format

#: Measures that come first in a frame.
_FIRST = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")
#: Columns that every frame has, before the measures.
_FACTS = (
    "run_id", "name", "method", "data", "mechanism", "c", "positive_rate", "scheme", "prior", "prior_from",
    "prior_true", "seed", "preset", "backbone", "oracle", "criterion", "criterion_oracle", "criterion_value", "epoch",
    "epochs", "seconds", "warnings",
)  # fmt: skip


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
        self._all = tuple(zip(keys, everything, strict=True))
        self._runs = tuple(run for run in everything if isinstance(run, RunResult))
        self._draws = ""

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
        """Both; a run that is in both under the same name is there once, and one that failed in neither if it is
        finished in the other.
        """
        if not isinstance(other, Results):
            return NotImplemented
        both = {(name, run.run_id, _folder(run)): run for name, run in (*self._all, *other._all)}
        done = {(name, run_id) for (name, run_id, _), run in both.items() if isinstance(run, RunResult)}
        return Results._of(
            (name, run)
            for (name, run_id, _), run in both.items()
            if isinstance(run, RunResult) or (name, run_id) not in done
        )

    @classmethod
    def _of(cls, named: Iterable[tuple[str, RunResult | FailedRun]]) -> Results:
        pairs = list(named)
        return cls([run for _, run in pairs], [name for name, _ in pairs])

    def __repr__(self) -> str:
        if not self._all:
            return "Results: no runs"
        seeds = sorted({spec.seed for spec in self._specs()})
        lines = [
            f"Results: {_count(len(self), 'run')} of {_listed('method', self.methods)} on "
            f"{_listed('data set', self.data)}, {'seed' if len(seeds) == 1 else 'seeds'} {_shortened(seeds)}"
        ]
        return "\n".join([*lines, *(f"failed: {failure}" for failure in self.failures)])

    def _named(self) -> Iterator[tuple[str, RunResult]]:
        return ((name, run) for name, run in self._all if isinstance(run, RunResult))

    def _specs(self) -> list[RunSpec]:
        return [spec_of(run) for _, run in self._all]

    # ---------------------------------------------------------------- what is there

    @property
    def failures(self) -> tuple[FailedRun, ...]:
        """Runs of a comparison that were refused or failed, with their reasons."""
        return tuple(run for _, run in self._all if isinstance(run, FailedRun))

    @property
    def methods(self) -> tuple[str, ...]:
        """Names of the methods compared, in order of appearance."""
        return tuple(dict.fromkeys(name for name, _ in self._all))

    @property
    def data(self) -> tuple[str, ...]:
        """Keys of the data sets, names of tables, in order of appearance."""
        return tuple(dict.fromkeys(spec.data.key for spec in self._specs()))

    @property
    def criteria(self) -> tuple[str, ...]:
        """Selection criteria that a run tracked."""
        return tuple(dict.fromkeys(name for run in self._runs for name in run.result.criteria))

    def metrics(self, part: str = "test") -> tuple[str, ...]:
        """Metrics that a run has a measure of on a part: ``test`` or ``validation``."""
        found = dict.fromkeys(
            metric
            for run in self._runs
            for criterion in run.result.criteria.values()
            for metric in criterion.measures.get(part, {})
        )
        first = [metric for metric in _FIRST if metric in found]
        return tuple(dict.fromkeys([*first, *found]))

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
                if column not in _FACTS and not column.startswith("config."):
                    raise unknown("column", column, (*_FACTS, "config.NAME"))
        return Results._of((name, run) for name, run in self._all if _fits(_known(name, run), wanted))

    def best_of_draws(self, criterion: str) -> Results:
        """Of the runs that differ in hyper-parameters alone, on each split the one that ``criterion`` prefers.

        In tables, what is left of a method is one row, whatever its hyper-parameters; how it was chosen is noted.

        Raises InvalidRequest for a criterion that no run tracked.
        """
        with in_words():
            if criterion not in self.criteria:
                raise unknown("criterion", criterion, self.criteria)
        named, note = best_of_draws(self._all, criterion)
        found = Results._of(named)
        found._draws = note
        return found

    @property
    def notes(self) -> tuple[str, ...]:
        """What a reader of these results must know beside their figures."""
        return (self._draws,) if self._draws else ()

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
        scheme, prior (what the method was told), prior_from (how that came about: true, a number, ``estimated:KEY``),
        prior_true, seed, preset, backbone, oracle (the method was granted true labels), criterion, criterion_oracle,
        criterion_value (on the validation part), epoch (chosen), epochs (trained), seconds, warnings (texts); then the
        measures as ``test_accuracy``, ``validation_pa`` and so on, between 0 and 1 as the metrics give them, NaN where
        there is no value.

        ``criteria``: ``selected`` is the criterion that names each result; ``all``, or names, give one row per run and
        criterion. ``config``: hyper-parameters as columns ``config.lr``; True means all, names only those.

        Raises InvalidRequest for a criterion or a hyper-parameter that no run has.
        """
        import pandas

        with in_words():
            if measures not in ("test", "validation", "all", "none"):
                raise unknown("choice of measures", measures, ("test", "validation", "all", "none"))
            wanted = self._criteria_of(criteria)
            columns = self._config_columns(config)
        parts = {"test": ("test",), "validation": ("validation",), "all": ("test", "validation"), "none": ()}[measures]
        measured = [(part, metric) for part in parts for metric in self.metrics(part)]
        rows = []
        for name, run in self._named():
            hyper = _config(run.result.spec)
            for criterion in [run.result.selected] if wanted is None else wanted:
                if criterion in run.result.criteria:
                    found = run.result.criteria[criterion]
                    facts = {**_facts(name, run, criterion), **{column: hyper.get(column) for column in columns}}
                    values = {f"{part}_{metric}": _value(found, part, metric) for part, metric in measured}
                    rows.append({**facts, **values})
        names = [f"{part}_{metric}" for part, metric in measured]
        frame = pandas.DataFrame(rows, columns=[*_FACTS, *columns, *names])
        numbers = ["c", "positive_rate", "prior", "prior_true", "criterion_value", *names]
        return frame.astype(dict.fromkeys(numbers, "float64"))

    def to_long_frame(self) -> DataFrame:
        """One row per run, criterion, part and measure, with intervals, memory and versions, ordered by run id.

        That of a whole folder has the content of its ``results.parquet``.
        """
        from pubench_core.records.frame import frame_of

        return frame_of(sorted((run.result for run in self), key=lambda result: result.run_id), registry())

    def _criteria_of(self, given: str | Collection[str]) -> list[str] | None:
        """Criteria by name; None for the one that names each result."""
        if given == "selected":
            return None
        if given == "all":
            return list(self.criteria)
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if name not in self.criteria:
                raise unknown("criterion", str(name), self.criteria)
        return names

    def _config_columns(self, given: bool | Collection[str]) -> list[str]:
        known = list(dict.fromkeys(field for run in self._runs for field in _config(run.result.spec)))
        if isinstance(given, bool):
            return known if given else []
        names = [given] if isinstance(given, str) else list(given)
        for name in names:
            if f"config.{name}" not in known:
                raise unknown("hyper-parameter", name, (field.removeprefix("config.") for field in known))
        return [f"config.{name}" for name in names]

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

        ``criterion``: under which epoch was chosen; None means the one that names the results, which must be the same
        for all. ``part``: where it was measured.

        Raises InvalidRequest for a metric or a criterion that no run has, for results named by several criteria, for
        a seed that is there twice, and where the data changed between runs.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> table = results.table("auc", criterion="last")
        >>> table.rows, table.columns
        (('upu', 'nnpu'), ('digits',))
        >>> table.cells["nnpu", "digits"].mean > 0.5
        True
        """
        with in_words():
            shown = self._compared_by(metric, criterion, part)
            grid = grid_of(self._all, drawn=bool(self._draws))
        info = _info(metric)
        cells, notes = measured_cells(grid, metric, part, criterion, info.higher_is_better if info else None)
        return MeasureTable(
            metric=metric,
            part=part,
            criterion=shown,
            percent=info is not None and info.headline,
            common=grid.common,
            rows=grid.rows,
            columns=grid.columns,
            oracles=grid.oracles,
            cells=cells,
            notes=tuple(note for note in (*grid.notes, *notes, *self.notes, self.noted()) if note),
        )

    def significance(
        self,
        metric: str = "accuracy",
        criterion: str | None = None,
        *,
        reference: str | None = None,
        test: Test = "t",
        alpha: float = 0.05,
        part: Literal["test", "validation"] = "test",
    ) -> Significance:
        """Whether differences between methods are more than the chance of splits, labels and initialization.

        On every data set, each method against ``reference`` (a row of :meth:`table`; by default its first) over the
        seeds that both ran: a paired t-test (``test="t"``) or Wilcoxon's signed-rank test (``"wilcoxon"``), two-sided,
        with Holm's adjustment over the methods of that data set. Over data sets, three methods and two data sets
        given: Friedman's test on ranks, with Nemenyi's critical difference. Where there are too few pairs for any
        outcome to be decided, that is said. ``alpha``: level of all tests.

        Raises InvalidRequest as :meth:`table` does, for an unknown reference or test, for alpha outside of (0, 1), and
        for fewer than two methods.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> results.significance("auc", test="wilcoxon").pairs[0].decision
        'too few pairs'
        """
        table = self.table(metric, criterion, part=part)
        with in_words():
            higher_is_better = _direction(metric)
            if test not in ("t", "wilcoxon"):
                raise unknown("test", test, ("t", "wilcoxon"))
            if not 0 < alpha < 1:
                raise InvalidRequest(f"alpha: a number in (0, 1) is right, given {alpha!r}")
            if len(table.rows) < 2:
                raise InvalidRequest(f"two methods are needed for a test, there is {', '.join(table.rows) or 'none'}")
            against = table.rows[0] if reference is None else reference
            if against not in table.rows:
                raise unknown("reference", against, table.rows)
        values = {
            column: {row: cell.values for row in table.rows if (cell := table.cells[row, column]).values}
            for column in table.columns
        }
        ranks, no_ranks, left_out = ranks_of(values, table.rows, alpha=alpha, higher_is_better=higher_is_better)
        without = [
            f"no tests on {data}: {against} has no value there" for data in values if against not in values[data]
        ]
        return Significance(
            metric=metric,
            criterion=table.criterion,
            reference=against,
            test=test,
            alpha=alpha,
            pairs=tuple(pairs_of(values, against, test=test, alpha=alpha, higher_is_better=higher_is_better)),
            ranks=ranks,
            no_ranks=no_ranks,
            notes=(*table.notes, *without, *left_out),
        )

    def report(
        self,
        path: str | Path,
        format: Format | None = None,
        *,
        measure: str = "accuracy",
        criterion: str | None = None,
        baseline: str | None = None,
        figures: str | Path | None = None,
    ) -> list[Path]:
        """Writes tables, criteria and measures side by side, paired tests, ranks and figures; the paths written.

        What ``pubench study report`` writes of the same runs, the report first in the list. ``format``: ``table``,
        ``md``, ``csv``, ``latex`` or ``html`` (one file with everything in it); by default what the file's name ends in
        says (``.txt``, ``.md``, ``.csv``, ``.tex``, ``.html``). ``measure``: on test rows. ``criterion``: the one that
        names the results by default. ``baseline``: method that others are tested against, by default ``nnpu`` where it
        is there. ``figures``: folder that gets every figure as PNG and SVG.

        Raises InvalidRequest for a format, measure, criterion or baseline that there is none of, where there is no
        finished run, for a seed that is there twice, and for a file that cannot be written.

        >>> import pubench
        >>> results = pubench.compare(["upu", "nnpu"], data="digits", seeds=2, config={"epochs": 1}, tracking=False)
        >>> [path.name for path in results.report("compared.md")]
        ['compared.md']
        """
        from .reporting import write_report

        return write_report(
            self._all,
            Path(path),
            format,
            measure=measure,
            criterion=criterion,
            baseline=baseline,
            figures=None if figures is None else Path(figures),
        )

    def _compared_by(self, metric: str, criterion: str | None, part: str) -> str:
        """How epochs were chosen, in words. Raises RequestError if runs cannot be compared so."""
        if not self._runs:
            failed = f": {len(self.failures)} failed, the first is {self.failures[0]}" if self.failures else ""
            raise InvalidRequest(f"there are no finished runs to compare{failed}")
        if metric not in (known := self.metrics(part)):
            if not known:
                raise InvalidRequest(f"nothing is measured on the {part} part of these runs: no true labels are known")
            raise unknown(f"metric on the {part} part", metric, known)
        if criterion is None:
            named: dict[str, int] = {}
            for run in self._runs:
                named[run.result.selected] = named.get(run.result.selected, 0) + 1
            if len(named) > 1:
                counts = ", ".join(f"{name} ({_count(n, 'run')})" for name, n in named.items())
                raise InvalidRequest(
                    f"these results are named by several criteria, {counts}; name one: criterion={min(named)!r}"
                )
            criterion = next(iter(named))
        elif criterion not in self.criteria:
            raise unknown("criterion", criterion, self.criteria)
        oracle = any(run.result.criteria[criterion].oracle for run in self._runs if criterion in run.result.criteria)
        return f"{criterion} (oracle)" if oracle else criterion

    def noted(self) -> str:
        """Which runs have warnings, in one line; empty where none has."""
        cells: dict[str, int] = {}
        for name, run in self._named():
            if _warnings(run, run.result.selected):
                where = f"{name} on {run.result.spec.data.key}"
                cells[where] = cells.get(where, 0) + 1
        listed = _shortened([f"{where} ({n})" for where, n in cells.items()])
        return (
            f"{sum(cells.values())} of {len(self)} runs have warnings: {listed}; to_frame().warnings has them"
            if cells
            else ""
        )


def load_results(folder: str | Path = "results", *, study: str | None = None) -> Results:
    """All records of a folder, oldest first. Neither torch nor a plugin's implementation is imported.

    ``study``: the name of a study that was planned there; only its runs then, in the plan's order and under the names
    that it gives to rows, whatever code made them, with those that failed and have no result among the failures.

    A record that cannot be read (damaged, or of another version of pubench) is left out with a PubenchWarning that says
    why. Runs that failed are in ``failed/`` of the folder and not among the results.

    Raises InvalidRequest (a ValueError) if there is no such folder.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="my-results")
    >>> load_results("my-results")
    Results: 1 run of 1 method (upu) on 1 data set (digits), seed 2
    """
    path = Path(folder)
    if not isdir(path):
        what = "a file" if isfile(path) else "not there"
        raise InvalidRequest(
            f"folder: {shortened(str(path))} is {what}; the folder of records is right, by default 'results'"
        )
    if isfile(path / RESULT):
        raise InvalidRequest(f"folder: {path} is one record; the folder that holds it is right: {path.parent}")
    if study is not None:
        return _of_study(path, study)
    records = RecordStore(path).all()
    for error in records.unreadable:
        warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=2)
    return Results(RunResult(record.result, record.folder, reused=True) for record in records.readable)


def _of_study(folder: Path, name: str) -> Results:
    """The runs of a study that have records, and the latest failure of those that have none."""
    from pubench_core.study.files import folder_of
    from pubench_core.study.plan import read_plan
    from pubench_core.study.state import failure_in, failures_in

    with in_words():
        plan = read_plan(folder_of(folder, name))
    assert plan is not None  # folder_of names studies that have one
    store, failures = RecordStore(folder), failures_in(folder)
    runs: list[RunResult | FailedRun] = []
    names: list[str] = []
    for planned in plan.runs:
        try:
            record = store.find(planned.run_id)
        except RecordError as error:
            warnings.warn(f"left out: {error}", PubenchWarning, stacklevel=3)
            continue
        failed = [found for path in failures.get(planned.run_id, ()) if (found := failure_in(path)) is not None]
        if record is not None:
            runs.append(RunResult(record.result, record.folder, reused=True))
        elif failed:
            runs.append(FailedRun(planned.row, planned.run_id, planned.spec, failed[-1].cause, failed[-1].reason))
        else:
            continue
        names.append(planned.row)
    return Results(runs, names)


# -------------------------------------------------------------------- facts of one run


def _folder(run: RunResult | FailedRun) -> Path | None:
    return None if isinstance(run, FailedRun) else run.folder


def _known(name: str, run: RunResult | FailedRun) -> dict[str, Any]:
    """What is known of a run, hyper-parameters included."""
    facts = _facts_of(name, run.spec) if isinstance(run, FailedRun) else _facts(name, run)
    return {**facts, **_config(spec_of(run))}


def _facts(name: str, run: RunResult, criterion: str | None = None) -> dict[str, Any]:
    """The columns of a run, under one of its criteria (by default the one that names it)."""
    result, shown = run.result, criterion or run.result.selected
    chosen, prior = result.criteria[shown], result.data.prior
    known = {
        "run_id": result.run_id,
        **_facts_of(name, result.spec),
        "prior": prior.given,
        "prior_true": prior.true,
        "oracle": result.oracle,
        "criterion": shown,
        "criterion_oracle": chosen.oracle,
        "criterion_value": chosen.value,
        "epoch": chosen.epoch,
        "epochs": result.epochs,
        "seconds": result.seconds.total,
        "warnings": _warnings(run, shown),
    }
    return {column: known[column] for column in _FACTS}


def _facts_of(name: str, spec: RunSpec) -> dict[str, Any]:
    """What is known of a run before it is carried out."""
    return {
        "name": name,
        "method": spec.method.key,
        "data": spec.data.key,
        "mechanism": spec.mechanism.key,
        "c": spec.mechanism.c,
        "positive_rate": spec.mechanism.positive_rate,
        "scheme": spec.data.scheme,
        "prior_from": str(spec.prior),
        "seed": spec.seed,
        "preset": spec.method.preset,
        "backbone": spec.backbone.key,
    }


def _config(spec: RunSpec) -> dict[str, Any]:
    """Hyper-parameters by the names of their columns."""
    return {f"config.{name}": value for name, value in spec.method.config.items()}


def _warnings(run: RunResult, criterion: str) -> str:
    return "; ".join((*run.result.warnings, *run.result.criteria[criterion].warnings))


def _value(chosen: CriterionResult, part: str, metric: str) -> float | None:
    measure = chosen.measures.get(part, {}).get(metric)
    return None if measure is None else measure.value


def _fits(facts: Mapping[str, Any], wanted: Mapping[str, Any]) -> bool:
    """Whether every column that is asked for is there and has one of the values."""
    return all(
        column in facts and facts[column] in (value if _several(value) else (value,))
        for column, value in wanted.items()
    )


def _several(value: object) -> bool:
    return isinstance(value, Collection) and not isinstance(value, (str, bytes))


def _info(metric: str) -> MetricInfo | None:
    """What an installed metric says of itself; None where it is not installed."""
    return next((info for info in registry().infos(MetricInfo) if metric in (info.key, *info.aliases)), None)


def _direction(metric: str) -> bool:
    info = _info(metric)
    if info is None:
        raise InvalidRequest(f"metric {metric} is not installed, so whether higher is better is not known")
    return info.higher_is_better


# -------------------------------------------------------------------- words


def _count(n: int, what: str) -> str:
    return f"{n} {what}" if n == 1 else f"{n} {what}s"


def _listed(what: str, names: Sequence[str]) -> str:
    return f"{_count(len(names), what)} ({_shortened(names)})"


def _shortened(names: Sequence[object], most: int = 8) -> str:
    shown = ", ".join(str(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown}, ..."


__all__ = ["FailedRun", "Results", "load_results"]
