"""``pubench compare-methods``: several methods on several data sets over several seeds, with tests of differences."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from typing import Any, Literal

from pubench.comparing import compare
from pubench.results import Results
from pubench.running import RunResult
from pubench.significance import Significance
from pubench.words import ARGUMENTS, PubenchWarning
from pubench_core.data.tables import is_table_path
from pubench_core.errors import Hint, RequestError, RunFailed, shortened, unknown
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.request import Layer, resolve

from .console import err, out
from .machine import print_json
from .messages import said
from .options import Given
from .repeat import seeds_of

#: Where a table of Python's says its reader finds the warnings of runs.
_IN_PYTHON = "to_frame().warnings has them"


@dataclass(frozen=True)
class Asked:
    """``data``, ``seeds``: as written (``digits,breast-cancer``; ``3`` or ``2,25``). ``baseline``: the method that the
    others are tested against; None means the first.
    """

    methods: tuple[str, ...]
    data: str
    seeds: str
    sets: tuple[str, ...]
    baseline: str | None
    measure: str
    test: Literal["t", "wilcoxon"]


def compare_methods(asked: Asked, given: Given, *, as_json: bool) -> bool:
    """Runs what is not stored yet and prints the table and the tests; returns whether every run has a result.

    Raises RequestError before anything is trained for what cannot be met.
    """
    data = _data(asked.data)
    keys = _methods(asked, data, given)
    baseline, seeds = _baseline(asked, keys), seeds_of(asked.seeds)
    _check_measure(asked.measure)
    with warnings.catch_warnings(record=True) as heard, redirect_stdout(sys.stderr):
        warnings.simplefilter("always", PubenchWarning)
        results = compare(keys, data=data, seeds=seeds, **_arguments(asked.sets, given), progress=_say)
    for one in heard:
        if issubclass(one.category, PubenchWarning) and str(one.message) != results.noted():  # the table says that
            err().print(f"warning: {said(str(one.message))}", markup=False)
        elif not issubclass(one.category, PubenchWarning):
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)
    if not len(results):
        raise RunFailed(f"no run has a result, so there is nothing to compare; the first: {results.failures[0]}")
    table = results.table(asked.measure)
    tests = results.significance(asked.measure, reference=baseline, test=asked.test)
    if as_json:
        print_json(_plain(results, tests, asked.measure))
    else:
        for text in (str(table), "", _without(tests, table.notes)):
            out().print(text.replace(_IN_PYTHON, "their records have them"), markup=False, soft_wrap=True)
        for failure in results.failures:
            err().print(f"failed: {failure}", markup=False)
    return not results.failures


def _say(text: str) -> None:
    err().print(said(text), markup=False)


# -------------------------------------------------------------------- what is asked for


def _data(text: str) -> list[str]:
    keys = [key.strip() for key in text.split(",") if key.strip()]
    if not keys:
        raise RequestError("--data: keys of data sets are right, with commas between (--data digits,breast-cancer)")
    if table := next((key for key in keys if is_table_path(key)), None):
        raise RequestError(
            f"--data {shortened(table)}: a data set is right; tables of your own are for pubench.compare in Python"
        )
    return keys


def _methods(asked: Asked, data: Sequence[str], given: Given) -> list[str]:
    """The methods' keys. Every method is resolved on every data set: errors are said before anything runs, and in
    the words of the command line.
    """
    found: dict[str, str] = {}
    for name in asked.methods:
        for where in data:
            layer = given.layer()
            layer.put(("method", "key"), name, name)
            layer.put(("data", "key"), where, f"--data {where}")
            try:
                key = resolve([layer, Layer.of(*asked.sets, prefix="--set ")], registry()).spec.method.key
            except RequestError as error:
                if not error.field.startswith("method.config."):
                    raise
                words = f"{error}; here it counts for every method, a study gives each its own"
                raise RequestError(words, field=error.field, value=error.value, hint=error.hint) from None
        if key in found.values():
            raise RequestError(f"{name}: {key} is there twice; the rows of a comparison are different methods")
        found[name] = key
    if len(found) < 2:
        raise RequestError("two methods at least are compared (pubench compare-methods nnpu vpu --data digits)")
    return list(found.values())


def _baseline(asked: Asked, keys: Sequence[str]) -> str | None:
    """The row that others are tested against; None means the first that is no oracle."""
    if asked.baseline is None:
        return None
    if asked.baseline in asked.methods:
        return keys[asked.methods.index(asked.baseline)]
    raise RequestError(
        f"--baseline {shortened(asked.baseline)}: one of the methods is right: {', '.join(asked.methods)}"
    )


def _check_measure(measure: str) -> None:
    known = [key for info in registry().infos(MetricInfo) for key in (info.key, *info.aliases)]
    if measure not in known:
        raise unknown("measure", measure, known, hint=Hint("list", "metric"))


def _arguments(sets: Sequence[str], given: Given) -> dict[str, Any]:
    """What :func:`pubench.compare` is given beside methods, data and seeds."""
    arguments: dict[str, Any] = {ARGUMENTS[option.field]: value for option, value in given.values}
    config: dict[str, Any] = {}
    settings: dict[str, Any] = {}
    for path in (layer := Layer.of(*sets, prefix="--set ")).origins:
        value: Any = layer.values
        for name in path:
            value = value[name]
        if path[:2] == ("method", "config"):
            config[".".join(path[2:])] = value
        else:
            settings[".".join(path)] = value
    return {**arguments, "config": config, "settings": settings}


# -------------------------------------------------------------------- what is said


def _without(tests: Significance, notes: Sequence[str]) -> str:
    """The tests as text, but for the notes that stand below the table above them."""
    lines = [f"note: {note}" for note in notes]
    return "\n".join(line for line in str(tests).splitlines() if line not in lines)


def _plain(results: Results, tests: Significance, measure: str) -> dict[str, Any]:
    table = results.table(measure)
    ranks = tests.ranks
    return {
        "measure": measure,
        "criterion": table.criterion,
        "cells": _records(table.to_frame()),
        "tests": {
            "against": tests.reference,
            "test": tests.test,
            "level": tests.alpha,
            "pairs": _records(tests.to_frame()),
        },
        "ranks": None if ranks is None else dict(zip(ranks.methods, ranks.average_ranks, strict=True)),
        "no_ranks": tests.no_ranks,
        "runs": [_run(run) for run in results],
        "failures": [str(failure) for failure in results.failures],
        "notes": list(tests.notes),
    }


def _run(run: RunResult) -> dict[str, Any]:
    spec = run.result.spec
    return {
        "run_id": run.run_id,
        "method": spec.method.key,
        "data": spec.data.key,
        "seed": spec.seed,
        "record": str(run.folder),
        "reused": run.reused,
    }


def _records(frame: Any) -> list[dict[str, Any]]:
    """Rows of a frame; what JSON cannot hold is null."""
    return [
        {
            name: None if isinstance(value, float) and not abs(value) < float("inf") else value
            for name, value in row.items()
        }
        for row in frame.to_dict("records")
    ]
