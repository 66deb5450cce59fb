"""Several methods on several data sets over several seeds: stored runs are reused, a failed one ends no other."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Unpack

from pubench.call import given_of, shows_fields
from pubench.field_names import PubenchWarning, in_words, said
from pubench.fields import ComparedFields
from pubench.running import RunResult, carry_out, plan_of
from pubench.tables import PUTable
from pubench_core.data.paths import data_root
from pubench_core.errors import PubenchError, RecordError, RequestError, unknown
from pubench_core.randomness import seeds_of
from pubench_core.records.store import RecordStore
from pubench_core.results import shown_first

from .grouping import FailedRun
from .results import Results

if TYPE_CHECKING:
    from pubench_core.engine.plan import DataChoice, Plan

#: What one method of a comparison may have for itself; everything else is the same for all.
_OWN = ("method", "config", "preset", "calibrate", "backbone", "prior")

Data = str | PUTable


@dataclass(frozen=True)
class _Planned:
    """One run of a comparison, understood and not yet carried out."""

    name: str
    plan: Plan

    def __str__(self) -> str:
        return f"{self.name} on {self.plan.spec.data.key}, seed {self.plan.spec.seed}"


@shows_fields(ComparedFields)
def compare(
    methods: str | Sequence[str] | Mapping[str, str | Mapping[str, Any]],
    *,
    data: Data | Sequence[Data],
    seeds: int | Iterable[int] = 3,
    force: bool = False,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | bool = True,
    **fields: Unpack[ComparedFields],
) -> Results:
    """Runs every method on every data set with every seed, or takes the stored results. All arguments but these are
    fields of a run and hold for every run:

    ``methods``: keys, or a mapping from the names that the rows are to have to a key, or to a mapping with any of
    ``method`` (by default the name itself), ``config``, ``preset``, ``calibrate``, ``backbone`` and ``prior``; two
    settings of one method can be compared so. ``data``: keys of data sets and tables (:func:`pubench.data`), one or
    several. ``seeds``: a number n means the first n of 2, 25, 42, 52, 99, 103, 250, 666, 777, 2026 (those of the
    PU-Bench protocol; 2027, 2028 and so on follow), a list means those. ``progress``: called with one line per run;
    True writes them to stderr, False says nothing.

    Every run is resolved before the first one trains, so that a wrong name or value, or data that are not on this
    machine, are refused at once. A run that fails or is refused later is in ``failures`` of the results, and in the
    notes of their table; the others go on. A comparison that was interrupted and is started again takes up where it
    was. That runs have warnings is said in one PubenchWarning at the end.

    Raises InvalidRequest (a ValueError) if the request cannot be met.

    >>> results = compare(
    ...     {"nnpu": "nnpu", "nnpu, slow": {"method": "nnpu", "config": {"lr": 1e-5}}},
    ...     data="digits", seeds=[2, 25], config={"epochs": 1}, tracking=False, progress=False,
    ... )
    >>> table = results.table("auc")
    >>> table.rows, table.columns, len(table.cells["nnpu, slow", "digits"].values)
    (('nnpu', 'nnpu, slow'), ('digits',), 2)
    """
    same = given_of(fields, ComparedFields, "compare")
    with in_words():
        same |= {name: list(value) for name, value in same.items() if isinstance(value, Iterator)}  # read many times
        entries, numbers = _entries(methods), seeds_of(seeds)
        planned = [
            _Planned(name, _plan(name, entry, where, seed, same, settings))
            for where in _each(data)
            for seed in numbers
            for name, entry in entries.items()
        ]
        _refuse_equal(planned)
        _refuse_absent(planned, force)
    planned = _sharing(planned)
    say = sayer(progress)
    done: list[RunResult | FailedRun] = []
    said_before: set[str] = set()
    for count, run in enumerate(planned, start=1):
        found, line = _carried_out(run, force, said_before)
        say(f"[{count}/{len(planned)}] {run}: {line}")
        done.append(found)
    finished = Results(done, [run.name for run in planned])
    if noted := finished.noted():
        warnings.warn(noted, PubenchWarning, stacklevel=2)
    return finished


# -------------------------------------------------------------------- what is to be run


def _entries(methods: str | Sequence[str] | Mapping[str, str | Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Name of a row -> what its method has for itself."""
    if isinstance(methods, str):
        methods = [methods]
    if not isinstance(methods, Iterable):
        raise RequestError(f"methods must be keys, or a mapping from names to settings, got {methods!r}")
    if not isinstance(methods, Mapping):
        keys = list(methods)
        if twice := next((key for key in keys if keys.count(key) > 1), None):
            raise RequestError(f"methods: {twice!r} is there twice")
        methods = {key: key for key in keys}
    if not methods:
        raise RequestError("methods must be keys, or a mapping from names to settings, got nothing")
    return {str(name): _entry(str(name), given) for name, given in methods.items()}


def _entry(name: str, given: str | Mapping[str, Any]) -> dict[str, Any]:
    if isinstance(given, str):
        return {"method": given}
    if not isinstance(given, Mapping):
        raise RequestError(f"methods[{name!r}] must be a key or a mapping with {', '.join(_OWN)}, got {given!r}")
    for field in given:
        if field not in _OWN:
            raise unknown("setting", str(field), _OWN, where=f"methods[{name!r}]")
    return {"method": name, **given}


def _each(data: Data | Sequence[Data]) -> list[Data]:
    found = list(data) if isinstance(data, Sequence) and not isinstance(data, str) else [data]
    if not found:
        raise RequestError("data: the key of a data set, a table made by pubench.data, or a list of them; given none")
    return found


def _plan(
    name: str,
    entry: Mapping[str, Any],
    data: Data,
    seed: int,
    same: Mapping[str, Any],
    settings: Mapping[str, Any] | None,
) -> Plan:
    """The plan of one run; what the method has for itself wins."""
    config: dict[str, Any] = {}
    for where, given in (("config", same.get("config")), (f"methods[{name!r}]: config", entry.get("config"))):
        if given is not None and not isinstance(given, Mapping):
            raise RequestError(f"{where} must be a mapping of hyper-parameters, got {given!r}")
        config |= given or {}
    own = {field: value for field, value in entry.items() if field != "method"}
    return plan_of(entry["method"], data, {**same, **own, "config": config, "seed": seed}, settings or {})


def _sharing(planned: Iterable[_Planned]) -> list[_Planned]:
    """The same plans; those on one table of the caller's own hold it once, not once each."""
    held: dict[str, DataChoice] = {}
    return [
        _Planned(run.name, replace(run.plan, data=held.setdefault(run.plan.spec.data.model_dump_json(), run.plan.data)))
        for run in planned
    ]


def _refuse_equal(planned: Sequence[_Planned]) -> None:
    """Two rows that are the same run would look like two methods that agree."""
    seen: dict[str, _Planned] = {}
    for run in planned:
        other = seen.setdefault(run.plan.run_id, run)
        if other is not run:
            raise RequestError(
                f"'{run}' is the same run as '{other}': the same method, settings and data; leave one out"
            )


def _refuse_absent(planned: Sequence[_Planned], force: bool) -> None:
    """RequestError where the files of a data set are not here, said once and not by every run on it. Runs that are
    recorded need none.
    """
    from pubench_core.data.store import located

    on: dict[str, list[Plan]] = {}
    for run in planned:
        on.setdefault(run.plan.spec.data.key, []).append(run.plan)
    for plans in on.values():
        if plans[0].data.source is None:
            continue
        try:
            located(plans[0].data.source, data_root(plans[0].spec.execution))
        except RequestError:
            if force or not all(map(_is_recorded, plans)):
                raise


def _is_recorded(plan: Plan) -> bool:
    try:
        return RecordStore(plan.spec.execution.results).find(plan.run_id) is not None
    except RecordError:  # damaged, or of another version: the run says what becomes of it
        return False


# -------------------------------------------------------------------- carrying it out


def _carried_out(run: _Planned, force: bool, said_before: set[str]) -> tuple[RunResult | FailedRun, str]:
    """The result of a run, or why there is none; and a line about it.

    The line has what core says of the run and its data, and has not said of one before.
    """
    heard: list[str] = []
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", PubenchWarning)  # said once, at the end
            done = carry_out(run.plan, force=force, progress=heard.append)
    except PubenchError as error:  # refused, failed or not to be recorded: this run's own, whichever it is
        cause = getattr(error, "cause", "refused" if isinstance(error, RequestError) else "error")
        return FailedRun(run.name, run.plan.run_id, run.plan.spec, cause, said(error)), f"{cause}: {said(error)}"
    shown = ", ".join(f"{metric} {value:.4f}" for metric, value in _headline(done) if value is not None)
    how = "stored" if done.reused else f"{done.result.seconds.total:.1f} s"
    why = "" if done.reused else "".join(f"; {text}" for text in heard if text not in said_before)
    said_before.update(heard)
    return done, f"{shown or 'done'} by {done.result.selected}, {how}{why}"


def _headline(done: RunResult) -> list[tuple[str, float | None]]:
    """The accuracy, or PA if there are no true labels."""
    if "accuracy" in done.test:
        shown = shown_first("accuracy", done.test, done.result.decision)
        return [(shown, done.test[shown])]
    return [("pa", done.validation.get("pa"))]


def sayer(progress: Callable[[str], None] | bool) -> Callable[[str], None]:
    """Who is called with a line: the caller's function, stderr, or nobody."""
    if callable(progress):
        return progress
    if progress:
        return lambda line: print(line, file=sys.stderr, flush=True)
    return lambda line: None
