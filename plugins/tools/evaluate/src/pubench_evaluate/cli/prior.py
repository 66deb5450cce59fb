"""``pubench prior``: what every estimator of the class prior says of a table."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import in_flags
from pubench_cli.options import Given
from pubench_cli.progress import stage_progress
from pubench_core.data.table_reader import table_reader
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

from ..audit.sheet import answers_of
from ..prior_estimates import PriorEstimates, estimate_prior
from .evaluate import print_estimates, refuse_other_suffix, write_page
from .score_table import Columns, flags_for_arguments, subject_of_table


def print_priors(
    path: Path,
    given: Given,
    *,
    score_col: str | None,
    estimators: tuple[str, ...] | None,
    thorough: bool,
    scheme: str,
    purity: float,
    seed: int,
    audited: Path | None,
    html: Path | None,
    as_json: bool,
) -> None:
    """Estimates the class prior from the features of a table, or from a column of scores, and prints the estimates."""
    refuse_other_suffix(html)
    if all(given.get(flag) is None for flag in ("--label-col", "--positives", "--unlabeled")):
        raise RequestError(
            "--label-col is missing: it names the column that says who is labeled", field="data.own.label_col"
        )
    x, labeled, truth = _of_features(path, given) if score_col is None else _of_scores(path, given, score_col)
    if thorough and estimators is not None:
        raise RequestError("--thorough and --estimators exclude each other; leave one out")
    with flags_for_arguments(), stage_progress() as progress:
        found = estimate_prior(
            x,
            labeled,
            estimators=estimators,
            thorough=thorough,
            scheme=scheme,
            purity=purity,
            truth=truth,
            name=path.name,
            seed=seed,
            audited=None if audited is None else answers_of(audited),
            progress=progress,
        )
    if html is not None:
        write_page(html, found, "estimates")
    if as_json:
        print_json(found.to_dict())
        return
    _print(found)


def _of_features(path: Path, given: Given) -> tuple[Any, Any, Any]:
    """Features as a run would have them. Raises RequestError for a table that a run would refuse."""
    own = {option.path[-1]: value for option, value in given.values}
    reader = table_reader(registry())
    table = reader.read(reader.spec({**own, "path": path}))
    for note in table.notes:
        err().print(in_flags(note), markup=False)
    kept = np.flatnonzero(~table.known_negative) if table.known_negative is not None else np.arange(len(table.labeled))
    return table.x[kept], table.labeled[kept], None if table.truth is None else table.truth[kept]


def _of_scores(path: Path, given: Given, score_col: str) -> tuple[Any, Any, Any]:
    for flag in ("--drop", "--features"):
        if given.get(flag) is not None:
            raise RequestError(
                f"{flag} names features, and --score-col {score_col} reads none; leave one of the two out"
            )
    words = given.get("--positive-value")
    positive = tuple(word.strip() for word in words.split(",")) if words else ()
    columns = Columns(score_col, given.get("--label-col"), given.get("--truth-col"), positive)
    subject = subject_of_table(path, columns)
    return subject.scores, subject.labeled, subject.truth


def _print(found: PriorEstimates) -> None:
    console = out()
    facts = f"{found.rows} rows, {found.labeled} labeled; {found.scheme}; read: {found.read}"
    console.print(f"{found.name}: {facts}", style="bold", markup=False)
    for line in found.warnings:
        console.print(f"warning: {line}", markup=False)
    if not found.estimates:
        console.print("no estimator of the class prior is installed (pubench list priors)", markup=False)
    if found.checked:
        console.print(found.checked, markup=False)
    print_estimates(found.estimates)
    if found.true is not None:
        console.print(f"\nby the true labels the prior is {found.true:.3f}", markup=False)
