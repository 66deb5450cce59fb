"""``pubench compare-methods``: several methods on several data sets over several seeds, with tests of differences."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_study.lines import Lines
from pubench_study.measure_names import shown_first
from pubench_study.seeds import seeds_of

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said, say
from pubench_cli.options import TABLE_FLAGS, Given
from pubench_cli.out_file import form_of, refuse_unwritable
from pubench_cli.yaml_layers import assigned
from pubench_core.data.table_reader import is_table_path
from pubench_core.engine.layers import Layer
from pubench_core.errors import Hint, RequestError, RunFailed, shortened, unknown
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry

from ..cells import few_in_all, metric_info
from ..comparing import results_of, runs_of
from ..rendering import print_sections
from ..report.model import Model, Significance, check_baseline, comparisons_of
from ..report.tables import cell_rows, compared_sections
from ..report.write import BY_SUFFIX, verdict
from ..results import Results

if TYPE_CHECKING:
    from pubench_study.in_process import NamedPlan

#: What is shown unless ``--measure`` says otherwise; of tables without true labels, on the validation part.
_MEASURE, _PU = "accuracy", ("pa", "pauc")


def compare_methods(
    given: Given,
    methods: Sequence[str],
    data: str,
    seeds: str,
    sets: Sequence[str] = (),
    baseline: str | None = None,
    measure: str | None = None,
    out_file: Path | None = None,
    *,
    as_json: bool,
) -> bool:
    """Runs what is not stored yet and prints the tables and the tests; returns whether every run has a result.

    ``data``, ``seeds``: as written (``digits,my.csv``; ``3`` or ``2,25``). ``measure``: None means accuracy, or PU
    measures for user tables without true labels. ``out_file``: a report of the runs.

    Raises RequestError before anything is trained for what cannot be met.
    """
    on = [key.strip() for key in data.split(",") if key.strip()]
    if not on:
        raise RequestError("--data must name data sets, with commas between (--data digits,breast-cancer), got none")
    tables = [key for key in on if is_table_path(key)]
    if columns := [] if tables else [option for option, _ in given.values if option.flag in TABLE_FLAGS]:
        raise RequestError(
            f"{columns[0].flag} needs a table of your own (my.csv); {on[0]} is a data set",
            field=columns[0].field.name,
        )
    with redirect_stdout(sys.stderr):
        runs = _runs(methods, on, seeds_of(seeds), given, sets)
    if baseline is not None and baseline not in methods:
        raise RequestError(f"--baseline {shortened(baseline)}: expected one of the methods: {', '.join(methods)}")
    keys = list(dict.fromkeys(run.name for run in runs))
    baseline = None if baseline is None else keys[methods.index(baseline)]
    _check_shown(measure, out_file, None if given.get("--truth-col") is not None else next(iter(tables), None))
    with redirect_stdout(sys.stderr):
        results = results_of(runs, Lines(len(runs)), said)
    if not len(results):
        raise RunFailed(f"no run has a result, so nothing can be compared; the first failure: {results.failures[0]}")
    notes = () if (named := given.get("--preset")) is None else (f"every method has its preset {named}",)
    models = list(_models(results, measure, notes))
    shown = [(one, comparisons_of(one, check_baseline(one, baseline))) for one in models]
    if as_json:
        rows = results.to_frame("none")[["run_id", "method", "data", "seed"]].to_dict("records")
        folders = [{"record": str(run.folder), "reused": run.reused} for run in results]
        carried = [{**row, **folder} for row, folder in zip(rows, folders, strict=True)]
        print_json({**_plain(shown), "runs": carried, "failures": [str(failure) for failure in results.failures]})
    else:
        for model, tests in shown:
            print_sections(out(), (verdict(model),), compared_sections(model, tests))
            for note in model.gathered.notes:
                out().print(f"note: {note}", markup=False, soft_wrap=not out().is_terminal)
        if few := few_in_all([run.result for run in results]):
            say(f"warning: {few}")
        for failure in results.failures:
            err().print(f"failed: {failure}", markup=False)
    if out_file is not None:
        against = shown[0][1][0].reference
        for file in results.report(out_file, measure=shown[0][0].measure.key, baseline=against):
            err().print(f"written: {file}", markup=False, soft_wrap=True)
    return not results.failures


def _models(results: Results, asked: str | None, notes: tuple[str, ...]) -> Iterator[Model]:
    """By the measure asked for; by default accuracy on test rows, and PU measures of data without true labels."""
    untrue = {run.result.spec.data.key for run in results if run.result.data.test is None}
    measured = results.where(data=untrue).metrics("validation")
    wanted = [
        (set(results.data) - untrue, [asked or _MEASURE]),
        (untrue, [asked] if asked else [measure for measure in _PU if measure in measured]),
    ]
    for data, measures in wanted:
        on = results.where(data=data)
        for measure in measures if len(on) else []:
            part = "test" if measure in on.metrics("test") else "validation"
            if asked is None and (part == "test" or all(run.result.decision == "prior" for run in on)):
                measure = shown_first(measure, on.metrics(part), "prior")  # one rule for all methods
            model = on.model(measure, None, part)
            assumed = [_assumed(measure)] if data is untrue else []
            notes_here = (*notes, *model.grid.notes, *model.gathered.notes, *assumed)
            model.gathered = replace(model.gathered, notes=notes_here)
            yield model


def _plain(shown: Sequence[tuple[Model, Sequence[Significance]]]) -> dict[str, Any]:
    """What is printed, as plain data; what JSON cannot hold is null."""
    cells, ranks, notes = [], [], dict[str, None]()
    for model, tests in shown:
        for row in cell_rows(model, tests, [model.criterion]):
            cells.append({"part": model.part, **{name: None if v != v else v for name, v in row.items()}})
        for setting, test in zip(model.settings, tests, strict=True):
            of = {"measure": model.measure.key, "setting": setting.words}
            ranks.append({**of, "ranks": dict(test.average.ranks), "why": test.average.why})
        notes |= dict.fromkeys(model.gathered.notes)
    return {"cells": cells, "ranks": ranks, "notes": list(notes)}


def _assumed(measure: str) -> str:
    """What must hold for a PU measure to rank methods."""
    names = {"SCAR": "that labeled positives are a random draw of all (SCAR)", "prior": "that the prior is right"}
    assumes = sorted(info.assumes) if (info := metric_info(measure)) is not None else []
    return (
        f"{measure} is measured on validation rows, which chose the epochs, and assumes "
        f"{' and '.join(names[name] for name in assumes) or 'nothing'}: rows that somebody checks say more "
        "(pubench audit)"
    )


# -------------------------------------------------------------------- what is asked for


def _runs(
    methods: Sequence[str], data: Sequence[str], seeds: Sequence[int], given: Given, sets: Sequence[str]
) -> list[NamedPlan]:
    """The runs, each under the key of its method. All are resolved before anything is trained."""
    of_tables = {one.path[-1]: value for one, value in given.values if one.flag in TABLE_FLAGS}
    of_runs = Given(tuple((one, value) for one, value in given.values if one.flag not in TABLE_FLAGS))
    settings = Layer.joined([of_runs.layer(), assigned(*sets, prefix="--set ")])
    entries = [{"own": {**of_tables, "path": key}} if is_table_path(key) else {"key": key} for key in data]
    axes = {"methods": [{"key": name} for name in methods], "data": entries, "seeds": seeds}
    if twice := next((name for name in methods if methods.count(name) > 1), None):
        raise RequestError(f"{twice} is given twice; name different methods")
    try:
        runs = runs_of(axes, settings, lambda text: say(f"warning: {said(text)}"))
    except RequestError as error:
        if not error.field.startswith("method.config."):
            raise
        words = f"{error}; here it holds for every method; a study can give each its own"
        raise RequestError(words, field=error.field, value=error.value, hint=error.hint) from None
    if len(methods) < 2:
        raise RequestError(
            "expected at least two methods (pubench compare-methods nnpu vpu --data digits); pubench study compare "
            "RESULTS --with board@NAME ranks one among those of a board"
        )
    return [replace(run, name=run.plan.spec.method.key) for run in runs]


def _check_shown(measure: str | None, out_file: Path | None, table: str | None) -> None:
    """Refuses before the training what would be refused after it. ``table``: a user's without true labels."""
    if measure is not None:
        if (info := metric_info(measure)) is None:
            known = [key for one in registry().infos(MetricInfo) for key in (one.key, *one.aliases)]
            raise unknown("measure", measure, known, hint=Hint("list", "metric"))
        if info.oracle and table is not None:
            raise RequestError(
                f"--measure {measure} needs true labels and {table} has none; --truth-col COLUMN names them, and "
                "--measure pa or pauc needs none"
            )
    if out_file is not None:
        if table is not None:
            raise RequestError(
                f"--out {out_file}: a report shows measures on test rows, and {table} has no true labels"
            )
        form_of(out_file, None, BY_SUFFIX)
        refuse_unwritable(out_file)
