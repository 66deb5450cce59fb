"""``pubench audit``: a sheet of rows for a person to check, and what the filled sheet says."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pubench_report.rendering import RenderedTable

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.recorded_run import folder_of_run
from pubench_core.errors import RequestError
from pubench_core.records.record import read_record

from ..audit import AuditResult, AuditSample, audit_answers
from ..audit.sheet import DESIGN, read_sheet
from ..audit.statistics import AuditEstimate, ScarTest
from .run_columns import columns_of_run
from .score_table import (
    Columns,
    ScoreTable,
    all_unlabeled_of_run,
    flags_for_arguments,
    is_table,
    refuse_columns_of_run,
    subject_of,
    subject_of_run,
)


def draw(
    given: str,
    columns: Columns,
    drawn: Callable[..., AuditSample],
    *,
    scheme: str | None,
    part: str | None,
    target: Path,
    results: Path,
    as_json: bool,
) -> None:
    """Writes the sheet and, next to it, what its answers are to be read with. Neither replaces a file.

    ``drawn``: the function with its options.
    """
    design = target.with_suffix(DESIGN)
    if target.suffix.lower() != ".csv":
        raise RequestError(f"--out must end in .csv, got {target}")
    for path in (target, design):
        if path.exists():
            raise RequestError(f"{path} exists already, perhaps with answers; name another sheet with --out")
    subject = _subject(given, columns, part, results)
    with flags_for_arguments():
        sample = drawn(
            subject.scores,
            subject.labeled,
            scheme=scheme or subject.scheme or "one-sample",
            rows=subject.rows,
            n_labeled=subject.n_labeled,
            name=subject.name,
            groups=subject.groups,
        )
    try:
        sample.sheet(subject.ids).to_csv(target, index=False)
        sample.save(design)
    except OSError as error:
        raise RequestError(f"cannot write {target}: {error.strerror or error}") from error
    if as_json:
        print_json(_plain(sample, target, design))
        return
    _print_drawn(sample, target, design, named=bool(subject.ids))


def _subject(given: str, columns: Columns, part: str | None, results: Path) -> ScoreTable:
    """Rows of a table, or of a run with what the table says of them."""
    if is_table(given):
        if part is not None:
            raise RequestError(f"--part {part}: {given} is a table, which has no parts")
        return subject_of(given, columns, results)
    refuse_columns_of_run(given, replace(columns, ids=()))
    folder = folder_of_run(results, given)
    subject = subject_of_run(folder) if part == "validation" else all_unlabeled_of_run(folder)
    ids, own = columns_of_run(folder, subject.rows, columns.ids), read_record(folder).result.spec.data.own
    return replace(subject, ids=ids, groups=None if own is None else ids.get(own.groups or ""))


def _plain(sample: AuditSample, target: Path, design: Path) -> dict[str, Any]:
    return {
        "audit": sample.key,
        "sheet": str(target),
        "design": str(design),
        "rows": sample.to_check.tolist(),
        "threshold": sample.threshold,
        "seed": sample.seed,
        "bands": [
            {"low": low, "high": high, "rows": rows, "drawn": drawn, "above": k < sample.n_bands_above}
            for k, (low, high, rows, drawn) in enumerate(sample.bands)
        ],
    }


def _print_drawn(sample: AuditSample, target: Path, design: Path, *, named: bool) -> None:
    above = sum(drawn for *_, drawn in sample.bands[: sample.n_bands_above])
    n = len(sample.drawn)
    lines = [
        f"{sample.name}: {n} unlabeled rows to check, {above} above the threshold {sample.threshold:.4g} and "
        f"{n - above} below it",
        f"the sheet: {target} (write 1 or 0 in its last column, nothing where it cannot be told)",
        f"the design: {design} (keep it; it holds scores and labels, which the person who checks should not see)",
        f"then: pubench audit --answers {target}",
    ]
    if not named:
        lines.insert(2, "rows are named by their number, counted from 0 without the header; --ids COLUMN adds a name")
    for line in lines:
        out().print(line, markup=False, soft_wrap=True)


# -------------------------------------------------------------------- answers


def read(answers: Path, design: Path | None, *, as_json: bool) -> None:
    """Says what a filled sheet means."""
    with flags_for_arguments():
        sample, given = read_sheet(answers, design, say=lambda text: err().print(text, markup=False))
        result = audit_answers(sample, given)
    if as_json:
        print_json(result.to_dict())
        return
    _print_result(result)


def _print_result(result: AuditResult) -> None:
    console = out()
    console.print(f"{result.name}: {result.checked} rows checked; threshold {result.threshold:.4g}", style="bold")
    for line in result.warnings:
        console.print(f"warning: {line}", markup=False)
    of_u = "the unlabeled rows"
    rows = [
        _cells("prior", result.prior, "the population"),
        _cells("share of positives", result.share, of_u),
        _cells("precision", result.precision, f"{of_u} above the threshold"),
        _cells("recall", result.recall, f"the positives among {of_u}"),
        _cells("decided per positive", result.decided_per_positive, f"{of_u}; 1 is calibrated"),
    ]
    if result.mean_score_error.value is not None:
        rows.append(_cells("mean score - share", result.mean_score_error, f"{of_u}; 0 is calibrated"))
    head = ("quantity", "value", f"{100 * result.level:g} % interval", "of")
    for table in (RenderedTable.of(head, rows, texts=(3,), wraps=(3,)), _bands(result)):
        console.print()
        table.print_to(console)
    console.print()
    console.print(_scar_line(result.scar), markup=False)
    console.print(
        "intervals: exact binomial on each side of the threshold (Clopper and Pearson 1934), melded where both sides "
        "count (Fay, Proschan and Brittain 2015); by design, no model is believed",
        markup=False,
    )


def _cells(name: str, found: AuditEstimate, of: str) -> list[str]:
    if found.value is None:
        return [name, "", "", found.undefined]
    return [name, f"{found.value:.3f}", f"{found.low:.3f} to {found.high:.3f}", of]


def _bands(result: AuditResult) -> RenderedTable:
    rows = [
        [
            f"{band.low:.4g} to {band.high:.4g}",
            band.rows,
            band.checked,
            band.positive,
            "" if band.share.low is None else f"{band.share.low:.2f} to {band.share.high:.2f}",
            f"{band.mean_score:.4g}",
        ]
        for band in result.bands
    ]
    return RenderedTable.of(("scores", "rows", "checked", "positive", "share, 95 %", "mean score"), rows, ranks={5: 1})


def _scar_line(scar: ScarTest) -> str:
    if scar.p_value is None:
        return f"SCAR was not tested: {scar.undefined}"
    parts = ", ".join(f"{name} p = {p:.2g}" for name, p in scar.parts)
    verdict = (
        "SCAR is rejected: labeled positives do not score as positives do in general; measures that assume SCAR mislead"
        if scar.rejected
        else "SCAR is not rejected, which is no proof of it"
    )
    return f"{verdict} (p = {scar.p_value:.2g} after Holm; {parts})"
