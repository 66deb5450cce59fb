"""The commands that ask what scores are worth without a negative: ``evaluate``, ``audit`` and ``prior``.

What they do is in the modules of their names.
"""

from __future__ import annotations

from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from pubench_cli.choices import Format, runs
from pubench_cli.commands.shared import PrintFormat, Results
from pubench_cli.options import TABLE_FLAGS, Given, takes

Scored = Annotated[
    str, typer.Argument(help="A table with a column of scores (.csv, .parquet ...), or a run.", autocompletion=runs)
]
ScoreCol = Annotated[
    str | None, typer.Option("--score-col", help="Column of scores, higher means positive. (default: score)")
]
LabelCol = Annotated[
    str | None, typer.Option("--label-col", help="Column that says who is labeled: 1/0, 1/-1, true/false; blank: not.")
]
TruthCol = Annotated[str | None, typer.Option("--truth-col", help="Column of true labels, for measuring only.")]
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
Audited = Annotated[
    Path | None, typer.Option(help="A sheet of pubench audit, filled in: it narrows the prior and tests SCAR.")
]
Threshold = Annotated[float | None, typer.Option(help="Rows with a higher score are decided positive. (default: 0)")]
Budget = Annotated[
    int | None, typer.Option(help="Instead of --threshold: so many of the highest unlabeled rows are decided positive.")
]


class AuditedPart(StrEnum):
    """Which rows of a run are audited."""

    all = "all"
    validation = "validation"


Recall = Annotated[
    float | None, typer.Option(help="Instead of --threshold: the fewest rows that hold this share of the positives.")
]


def evaluate(
    scored: Scored,
    score_col: ScoreCol = None,
    label_col: LabelCol = None,
    truth_col: TruthCol = None,
    positive_value: PositiveValue = None,
    prior: Annotated[
        str | None, typer.Option(help="Class prior: 0.3, 0.2..0.4 or estimated:KEY. (default: unknown, or the run's)")
    ] = None,
    beta: Beta = 1.0,
    scheme: SchemeOf = None,
    threshold: Threshold = None,
    budget: Budget = None,
    recall: Recall = None,
    estimators: Annotated[
        str | None,
        typer.Option(help="Keys of prior estimators: bbe,dedpul; or none. (default: all that read scores)"),
    ] = None,
    compare: Annotated[
        str | None,
        typer.Option(help="Another model's scores of the same rows: a table, or a run.", autocompletion=runs),
    ] = None,
    compare_col: Annotated[
        str | None, typer.Option("--compare-col", help="The other model's column. (default: as --score-col)")
    ] = None,
    html: Annotated[Path | None, typer.Option(help="Write the report card there, as one HTML file.")] = None,
    results: Results = Path("results"),
    resamples: Annotated[
        int | None,
        typer.Option(
            help="Number of resamples, for the comparison, pa and pauc. (default: by the number of rows)",
            min=0,
            max=100_000,
        ),
    ] = None,
    audited: Audited = None,
    seed: Annotated[int, typer.Option(help="Seed of the resampling behind intervals.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Evaluate scores without a single negative: measures, intervals, and what each assumes."""
    from ..evaluation import evaluate
    from .evaluate import card_of, show_card
    from .score_table import Columns

    card = card_of(
        scored,
        Columns(score_col, label_col, truth_col, _words(positive_value)),
        partial(
            evaluate,
            purity=beta,
            threshold=threshold,
            budget=budget,
            recall=recall,
            estimators=_keys(estimators),
            resamples=resamples,
            seed=seed,
        ),
        results=results,
        prior=prior,
        scheme=scheme,
        other=(compare, compare_col),
        audited=audited,
        html=html,
    )
    show_card(card, html=html, as_json=format is Format.json)


def _words(text: str | None) -> tuple[str, ...]:
    return tuple(word.strip() for word in text.split(",") if word.strip()) if text else ()


def _keys(text: str | None) -> tuple[str, ...] | None:
    """Keys of plugins; None where all are meant."""
    return None if text is None else () if text == "none" else _words(text)


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
    part: Annotated[
        AuditedPart | None,
        typer.Option(help="Of a run: all unlabeled rows, or those held out of training (validation). (default: all)"),
    ] = None,
    beta: Beta = 1.0,
    scheme: SchemeOf = None,
    threshold: Threshold = None,
    budget: Budget = None,
    recall: Recall = None,
    seed: Annotated[int, typer.Option(help="Seed of the draw.", min=0)] = 0,
    out: Annotated[Path, typer.Option(help="File of the sheet; its design is written next to it.")] = Path("audit.csv"),
    answers: Annotated[Path | None, typer.Option(help="Read this filled sheet instead of drawing rows.")] = None,
    design: Annotated[Path | None, typer.Option(help="Design of the filled sheet. (default: found next to it)")] = None,
    results: Results = Path("results"),
    format: PrintFormat = Format.table,
) -> None:
    """Draw rows for a person to check, or read the answers: prior, precision, recall and a test of SCAR."""
    from pubench_core.errors import RequestError

    from ..audit import audit_sample
    from .audit import draw, read
    from .score_table import Columns

    as_json = format is Format.json
    if (scored is None) == (answers is None):
        raise RequestError("pubench audit takes a table or a run to draw rows from, or --answers with a filled sheet")
    if answers is not None:
        read(answers, design, as_json=as_json)
        return
    columns = Columns(score_col, label_col, None, _words(positive_value), _words(ids), groups)
    drawn = partial(audit_sample, n=n, threshold=threshold, budget=budget, recall=recall, purity=beta, seed=seed)
    where = None if part is None else part.value
    draw(scored or "", columns, drawn, scheme=scheme, part=where, target=out, results=results, as_json=as_json)


@takes(*(flag for flag in TABLE_FLAGS if flag != "--test"))
def prior(
    given: Given,
    file: Annotated[Path, typer.Argument(help="A table of your own: .csv, .tsv, .xlsx, .parquet or .npz.")],
    score_col: Annotated[
        str | None, typer.Option("--score-col", help="Column of held-out scores to read instead of features.")
    ] = None,
    estimators: Annotated[
        str | None,
        typer.Option(help="Keys of estimators: bbe,dedpul. (default: all fast ones that can read the table)"),
    ] = None,
    thorough: Annotated[bool, typer.Option("--thorough", help="Also run the slow estimators (km1, km2: minutes).")] = (
        False
    ),
    beta: Beta = 1.0,
    scheme: Annotated[str, typer.Option(help="one-sample: all rows are one draw; two-sample: the unlabeled ones.")] = (
        "one-sample"
    ),
    html: Annotated[
        Path | None, typer.Option(help="Write the estimates there, with a figure, as one HTML file.")
    ] = None,
    audited: Audited = None,
    seed: Annotated[int, typer.Option(help="Of folds and resampling.", min=0)] = 0,
    format: PrintFormat = Format.table,
) -> None:
    """Estimate the class prior of a table: a range from the trusted estimators, and the estimate of each."""
    from .prior import print_priors

    print_priors(
        file,
        given,
        score_col=score_col,
        estimators=None if estimators is None else _words(estimators),
        thorough=thorough,
        scheme=scheme,
        purity=beta,
        seed=seed,
        audited=audited,
        html=html,
        as_json=format is Format.json,
    )
