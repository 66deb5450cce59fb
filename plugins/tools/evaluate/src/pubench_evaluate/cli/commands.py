"""The commands that ask what a table without negatives is worth: ``advise``, ``evaluate``, ``audit`` and ``prior``."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pubench_cli.choices import Format, PrintFormat, Results, runs
from pubench_cli.options import TABLE_FLAGS, Given, takes
from pubench_core.errors import RequestError

if TYPE_CHECKING:
    from ..page import Report
    from .score_table import ScoreTable

ScoreCol = Annotated[
    str | None, typer.Option("--score-col", help="Column of scores, higher means more positive. (default: score)")
]
LabelCol = Annotated[
    str | None, typer.Option("--label-col", help="Column that says who is labeled: 1/0, 1/-1, true/false; blank: not.")
]
PositiveValue = Annotated[
    str | None, typer.Option("--positive-value", help="Text that means positive, if columns hold texts.")
]
Beta = Annotated[float, typer.Option("--beta", help="Share of true positives among the labeled rows, in (0, 1].")]
SchemeOf = Annotated[
    str | None,
    typer.Option(
        "--scheme",
        help="one-sample, single-training-set: all rows are one draw; two-sample: the unlabeled ones; case-control. "
        "(default: one-sample, or the run's)",
    ),
]
Threshold = Annotated[float | None, typer.Option(help="Rows with a higher score are decided positive. (default: 0)")]
Budget = Annotated[
    int | None, typer.Option(help="Instead of --threshold: so many of the highest unlabeled rows are decided positive.")
]


def evaluate(
    scored: Annotated[
        str, typer.Argument(help="A table with a column of scores (.csv, .parquet ...), or a run.", autocompletion=runs)
    ],
    score_col: ScoreCol = None,
    label_col: LabelCol = None,
    truth_col: Annotated[
        str | None, typer.Option("--truth-col", help="Column of true labels, for measuring only.")
    ] = None,
    positive_value: PositiveValue = None,
    prior: Annotated[
        str | None, typer.Option(help="Class prior: 0.3, 0.2..0.4 or estimated:KEY. (default: unknown, or the run's)")
    ] = None,
    beta: Beta = 1.0,
    scheme: SchemeOf = None,
    threshold: Threshold = None,
    budget: Budget = None,
    recall: Annotated[
        float | None,
        typer.Option(help="Instead of --threshold: the fewest rows that hold this share of the positives."),
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report card there, as one HTML file.")] = None,
    results: Results = Path("results"),
    resamples: Annotated[
        int | None,
        typer.Option(
            help="Number of resamples, for pa and pauc. (default: by the number of rows)",
            min=0,
            max=100_000,
        ),
    ] = None,
    audited: Annotated[
        Path | None, typer.Option(help="A sheet of pubench audit, filled in: it narrows the prior and tests SCAR.")
    ] = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling behind intervals.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Evaluate scores without a single negative: measures, intervals, and what each assumes."""
    from ..audit import audit_answers
    from ..audit.sheet import read_sheet
    from ..evaluation import evaluate
    from .score_table import flags_for_arguments, subject_of

    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise RequestError(f"--html must end in .html, got {html}")
    words = _words(positive_value)
    subject = subject_of(scored, results, score=score_col, label=label_col, truth=truth_col, positive_value=words)
    sheet = audited or subject.sheet
    with flags_for_arguments():
        read = None if sheet is None else read_sheet(sheet, field="audited", folders=subject.folders)
        card = evaluate(
            subject.scores,
            subject.labeled,
            prior=subject.prior if prior is None else prior,
            purity=beta,
            truth=subject.truth,
            scheme=scheme or subject.scheme or "one-sample",
            threshold=threshold,
            budget=budget,
            recall=recall,
            name=subject.name,
            resamples=resamples,
            n_unlabeled=subject.n_unlabeled,
            audited=None if read is None else audit_answers(*read),
            seed=seed,
        )
    _show(card, format, html)


def audit(
    scored: Annotated[
        str | None,
        typer.Argument(help="A table with a column of scores (.csv, .parquet ...), or a run.", autocompletion=runs),
    ] = None,
    n: Annotated[int, typer.Option("--n", help="Rows to check.")] = 60,
    score_col: ScoreCol = None,
    label_col: LabelCol = None,
    positive_value: PositiveValue = None,
    ids: Annotated[
        str | None,
        typer.Option(help="Columns that tell the reader which row is meant: id,name. (default of a run: its own)"),
    ] = None,
    groups: Annotated[
        str | None, typer.Option(help="Of a table: column of groups, such as patients; a sheet spreads over them.")
    ] = None,
    beta: Beta = 1.0,
    scheme: SchemeOf = None,
    threshold: Threshold = None,
    budget: Budget = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="File of the sheet; its design is written next to it.")] = Path("audit.csv"),
    answers: Annotated[Path | None, typer.Option(help="Read this filled sheet instead of drawing rows.")] = None,
    design: Annotated[Path | None, typer.Option(help="Design of the filled sheet. (default: found next to it)")] = None,
    results: Results = Path("results"),
    format: PrintFormat = Format.table,
) -> None:
    """Draw rows for a person to check, or read the answers: prior, precision, recall and a test of SCAR."""
    from pubench_cli import console
    from pubench_cli.machine import print_json

    from ..audit import audit_answers, audit_sample
    from ..audit.sheet import DESIGN, read_sheet
    from .score_table import flags_for_arguments

    if (scored is None) == (answers is None):
        raise RequestError("pubench audit takes a table or a run to draw rows from, or --answers with a filled sheet")
    if answers is not None:
        with flags_for_arguments():
            result = audit_answers(
                *read_sheet(answers, design, say=lambda text: console.err().print(text, markup=False))
            )
        _show(result, format)
        return
    if out.suffix.lower() != ".csv":
        raise RequestError(f"--out must end in .csv, got {out}")
    for path in (out, out.with_suffix(DESIGN)):
        if path.exists():
            raise RequestError(f"{path} exists already, perhaps with answers; name another sheet with --out")
    words = _words(positive_value)
    subject = _to_audit(
        scored or "", results, _words(ids), score=score_col, label=label_col, positive_value=words, groups=groups
    )
    with flags_for_arguments():
        sample = audit_sample(
            subject.scores,
            subject.labeled,
            n=n,
            threshold=threshold,
            budget=budget,
            scheme=scheme or subject.scheme or "one-sample",
            purity=beta,
            rows=subject.rows,
            n_labeled=subject.n_labeled,
            name=subject.name,
            groups=subject.groups,
            seed=seed,
        )
    try:
        sample.sheet(subject.ids).to_csv(out, index=False)
        sample.save(out.with_suffix(DESIGN))
    except OSError as error:
        raise RequestError(f"cannot write {out}: {error.strerror or error}") from error
    n, above = len(sample.drawn), sum(drawn for *_, drawn in sample.bands[: sample.n_bands_above])
    if format is Format.json:
        facts = {"audit": sample.key, "sheet": str(out), "design": str(out.with_suffix(DESIGN))}
        print_json({**facts, "rows": sample.to_check.tolist(), "threshold": sample.threshold, "seed": sample.seed})
        return
    numbers = "rows are named by their number, counted from 0 without the header; --ids COLUMN adds a name"
    for line in (
        f"{sample.name}: {n} unlabeled rows to check, {above} above the threshold {sample.threshold:.4g} and "
        f"{n - above} below it",
        f"the sheet: {out} (write 1 or 0 in its last column, nothing where it cannot be told)",
        *(() if subject.ids else (numbers,)),
        f"the design: {out.with_suffix(DESIGN)} (keep it; it holds scores and labels, which the person who checks "
        "should not see)",
        f"then: pubench audit --answers {out}",
    ):
        console.out().print(line, markup=False, soft_wrap=True)


@takes(*(flag for flag in TABLE_FLAGS if flag != "--test"))
def prior(
    given: Given,
    file: Annotated[Path, typer.Argument(help="A table of your own: .csv, .tsv, .xlsx, .parquet or .npz.")],
    estimators: Annotated[
        str | None,
        typer.Option(
            help="Keys of estimators: bbe,dedpul. (default: those that can read the table, without slow ones)"
        ),
    ] = None,
    beta: Beta = 1.0,
    scheme: Annotated[str, typer.Option(help="one-sample: all rows are one draw; two-sample: the unlabeled ones.")] = (
        "one-sample"
    ),
    seed: Annotated[int, typer.Option(help="Of folds and resampling.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Estimate the class prior of a table: a range from the trusted estimators, and the estimate of each."""
    from pubench_cli.progress import stage_progress

    from ..prior import estimate_prior
    from .score_table import flags_for_arguments

    _refuse_no_labels(given)
    x, labeled, truth = _of_features(file, given)
    with flags_for_arguments(), stage_progress() as progress:
        found = estimate_prior(
            x,
            labeled,
            estimators=None if estimators is None else _words(estimators),
            scheme=scheme,
            purity=beta,
            truth=truth,
            name=file.name,
            seed=seed,
            progress=progress,
        )
    _show(found, format)


@takes(*(flag for flag in TABLE_FLAGS if flag not in ("--truth-col", "--test")))
def advise(
    given: Given,
    file: Annotated[
        Path,
        typer.Argument(help="A table of your own: .csv, .tsv, .txt, .xlsx, .parquet, .npz, ..."),
    ],
    prior: Annotated[str | None, typer.Option(help="Class prior as you know it: 0.3 or 0.2..0.4.")] = None,
    goal: Annotated[
        str, typer.Option(help="rank; classify; or review:200, if so many unlabeled rows are to be looked at.")
    ] = "rank",
    audited: Annotated[
        Path | None, typer.Option(help="The sheet of an earlier answer, filled in: other methods are compared by it.")
    ] = None,
    time: Annotated[
        str, typer.Option(help="Limit for all of it: 90s, 10m, 1h. Methods that do not fit into it are left out.")
    ] = "10m",
    out: Annotated[Path | None, typer.Option(help="Folder of the answer. (default: advice-NAME)")] = None,
    scheme: Annotated[
        str | None, typer.Option(help="one-sample: all rows are one draw (default); two-sample: the unlabeled ones.")
    ] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: all)", min=1)] = None,
    seed: Annotated[int, typer.Option(help="Seed of the parts and of the rows to check.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Recommend a method for a table without negatives, rank its rows, and name the rows to check next.

    Bagged trees are the answer unless checked rows (--audited) speak for another method. Interrupted, the same command
    goes on.
    """
    from pubench_cli.progress import stage_progress

    from ..advice.advise import advise
    from .score_table import flags_for_arguments

    _refuse_no_labels(given)
    about: Any = {
        option.field.argument: tuple(map(str.strip, next(csv.reader([value], skipinitialspace=True), [])))
        if option.field.default == ()
        else value
        for option, value in given.values
        if option.flag != "--label-col"
    }
    with flags_for_arguments(), stage_progress() as progress:
        advice = advise(
            file,
            given.get("--label-col"),
            prior=prior,
            goal=goal,
            audited=audited,
            time=time,
            out=out,
            scheme=scheme,
            threads=threads,
            seed=seed,
            progress=progress,
            **about,
        )
    _show(advice, format)


# -------------------------------------------------------------------- what is read


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def _refuse_no_labels(given: Given) -> None:
    """RequestError if nothing says who is labeled."""
    if all(given.get(flag) is None for flag in ("--label-col", "--positives", "--unlabeled")):
        raise RequestError(
            "--label-col is missing: it names the column that says who is labeled (pubench data check lists columns)",
            field="data.own.label_col",
        )


def _to_audit(given: str, results: Path, ids: Sequence[str], **columns: Any) -> ScoreTable:
    """Rows of a table, or of a run with what the table says of them."""
    from pubench_core.records.record import read_record

    from .score_table import columns_of_run, folder_of, is_table, subject_of_run, subject_of_table

    if is_table(given):
        return subject_of_table(Path(given), ids=ids, **columns)
    subject = subject_of_run(folder := folder_of(given, results, **columns), everything=True)
    texts, own = columns_of_run(folder, subject, ids), read_record(folder).result.spec.data.own
    return replace(subject, ids=texts, groups=None if own is None else texts.get(own.groups or ""))


def _of_features(path: Path, given: Given) -> tuple[Any, Any, Any]:
    """Features as a run would have them. Raises RequestError for a table that a run would refuse."""
    import numpy as np

    from pubench_cli.messages import say
    from pubench_core.data.table_reader import table_reader
    from pubench_core.plugins.registry import registry

    reader = table_reader(registry())
    table = reader.read(reader.spec({**{option.path[-1]: value for option, value in given.values}, "path": path}))
    for note in table.notes:
        say(note)
    kept = np.flatnonzero(~table.negative)
    return table.x[kept], table.labeled[kept], None if table.truth is None else table.truth[kept]


# -------------------------------------------------------------------- what is shown


def _show(found: Report, format: Format, html: Path | None = None) -> None:
    """Writes the page if one is wanted, and prints the rest. Raises RequestError if it cannot."""
    from pubench_cli.console import err, out
    from pubench_cli.machine import print_json

    from .score_table import flags_in

    if html is not None:
        try:
            html.write_text(found.html(), encoding="utf-8")
        except OSError as error:
            raise RequestError(f"cannot write --html {html}: {error.strerror or error}") from error
        err().print(f"the report card: {html}", markup=False)
    if format is Format.json:
        print_json(found.to_dict())
        return
    for k, part in enumerate(found.parts()):
        if isinstance(part, str):
            style = "" if k else "bold"
            out().print(flags_in(part), style=style, markup=False, soft_wrap=not out().is_terminal)
        else:
            part.print_to(out())
