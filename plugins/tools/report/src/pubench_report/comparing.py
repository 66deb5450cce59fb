"""Several methods on several data sets over several seeds: stored runs are reused, a failed one ends no other."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Unpack

from pubench_datasets_tables.frames import PUTable
from pubench_study.lines import Lines, to_stderr
from pubench_study.seeds import seeds_of

from pubench.call import given_of, shows_fields
from pubench.field_names import PubenchWarning, in_words, said
from pubench.fields import ComparedFields
from pubench.openmp import wait_briefly
from pubench.running import RunResult, plain, put_data, put_fields
from pubench_core.engine.layers import Layer
from pubench_core.errors import PubenchError, RequestError, unknown
from pubench_core.plugins.registry import registry

from .grouping import FailedRun
from .results import Results

if TYPE_CHECKING:
    from pubench_study.in_process import NamedPlan

#: What one method of a comparison may have for itself; everything else is the same for all.
_OWN = ("method", "config", "preset", "calibrate", "backbone", "prior")

Data = str | PUTable


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
        wait_briefly()  # before torch is loaded, which resolving does
        layer = Layer()
        put_fields(layer, same, settings or {})
        tables = [data] if isinstance(data, str) or not isinstance(data, Sequence) else list(data)
        if not tables:
            raise RequestError("data: the key of a data set, a table made by pubench.data, or a list; given none")
        of_data = []
        for one in tables:
            put_data(into := Layer(), one)
            of_data.append(into.values["data"])
        axes = {"methods": _entries(methods), "data": of_data, "seeds": seeds_of(seeds)}
        runs = runs_of(axes, layer, lambda text: warnings.warn(said(text), PubenchWarning, stacklevel=3), force=force)
    finished = results_of(runs, Lines(len(runs), sayer(progress)), force=force)
    if noted := finished.noted():
        warnings.warn(noted, PubenchWarning, stacklevel=2)
    return finished


def runs_of(
    axes: Mapping[str, Any], settings: Layer, warn: Callable[[str], None], *, force: bool = False
) -> list[NamedPlan]:
    """The runs of a comparison: those of a study with these lists and settings.

    Raises RequestError for what cannot be met, and where the files of a data set are not here.
    """
    from pubench_study.in_process import plans_of, refuse_absent, study_of

    if "seed" in settings.values:
        raise RequestError("a comparison takes seeds=[2, 25] or a number of seeds, not seed", field="seed")
    runs = plans_of(study_of(axes, settings), settings, registry(), cache(warn))  # says each text once
    refuse_absent(runs, force=force)
    return runs


def results_of(
    runs: Sequence[NamedPlan],
    lines: Lines,
    words: Callable[[PubenchError | str], str] = said,
    *,
    force: bool = False,
) -> Results:
    """Carries the runs of a comparison out; those that fail are among the results as what they are."""
    from pubench_study.in_process import carried_out

    found = [
        FailedRun(done.run.name, done.run.run_id, done.run.plan.spec, done.event.cause or "error", done.event.text)
        if done.folder is None or done.result is None
        else RunResult(done.result, done.folder, done.event.status == "found")
        for done in carried_out(runs, words, force=force, lines=lines)
    ]
    return Results(found, [run.name for run in runs])


# -------------------------------------------------------------------- what is to be run


def _entries(methods: str | Sequence[str] | Mapping[str, str | Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The methods as a study names them."""
    given = [methods] if isinstance(methods, str) else methods
    if not isinstance(given, Iterable) or not (keys := list(given)):
        got = "nothing" if isinstance(given, Iterable) else repr(given)
        raise RequestError(f"methods must be keys, or a mapping from names to settings, got {got}")
    if twice := next((key for key in keys if keys.count(key) > 1), None):
        raise RequestError(f"methods: {twice!r} is given twice; name different methods")
    found = []
    for name in keys:
        own = given[name] if isinstance(given, Mapping) else name
        entry = {"method": own} if isinstance(own, str) else own
        if not isinstance(entry, Mapping):
            raise RequestError(f"methods[{name!r}] must be a key or a mapping with {', '.join(_OWN)}, got {own!r}")
        if other := next((field for field in entry if field not in _OWN), None):
            raise unknown("setting", str(other), _OWN, where=f"methods[{name!r}]")
        config: Any = entry.get("config", {})
        if not isinstance(config, Mapping):
            raise RequestError(f"methods[{name!r}]: config must be a mapping of hyper-parameters, got {config!r}")
        more = {field: plain(value) for field, value in entry.items() if field != "method"}
        found.append({"name": str(name), "key": entry.get("method", str(name)), **more})
    return found


def sayer(progress: Callable[[str], None] | bool) -> Callable[[str], None]:
    """Who is called with a line: the caller's function, stderr, or nobody."""
    return progress if callable(progress) else to_stderr if progress else lambda line: None
