"""``pubench evaluate``: a report card of scores, printed, as JSON, and as one HTML file."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_core.errors import RequestError

from ..audit.sheet import answers_of
from ..estimates import RULE, estimates_table, summary
from ..evaluation import Evaluation
from ..report_card import belief_line, measures_table, models_table, reviews_table
from .score_table import Columns, ScoreTable, flags_for_arguments, flags_in, is_table, subject_of

#: Columns of printed sentences.
PAGE = 120

if TYPE_CHECKING:
    from ..estimates import EstimatedPrior
    from ..prior_estimates import PriorEstimates


def card_of(
    given: str,
    columns: Columns,
    evaluated: Callable[..., Evaluation],
    *,
    results: Path,
    prior: str | None,
    scheme: str | None,
    other: tuple[str | None, str | None],
    audited: Path | None,
    html: Path | None,
) -> Evaluation:
    """Evaluates a table or a run. ``evaluated``: the function with its options; ``other``: what to compare with."""
    refuse_other_suffix(html)
    subject = subject_of(given, columns, results)
    second = _other(given, subject, columns, *other, results)
    sheet = audited or subject.sheet
    with flags_for_arguments():
        return evaluated(
            subject.scores,
            subject.labeled,
            prior=subject.prior if prior is None else _number(prior),
            truth=subject.truth,
            scheme=scheme or subject.scheme or "one-sample",
            compare=None if second is None else second.scores,
            names=(subject.name, "" if second is None else second.name),
            n_unlabeled=subject.n_unlabeled,
            audited=None if sheet is None else answers_of(sheet, subject.folders),
        )


def _number(prior: str) -> float | str:
    """A number as a number, for messages; an interval or an estimator as it is."""
    try:
        return float(prior)
    except ValueError:
        return prior


def show_card(card: Evaluation, *, html: Path | None, as_json: bool) -> None:
    """Writes the page if one is wanted, and prints the rest."""
    if html is not None:
        write_page(html, card, "report card")
    if as_json:
        print_json(card.to_dict())
    else:
        print_evaluation(card)


def _other(
    given: str, subject: ScoreTable, columns: Columns, compare: str | None, compare_col: str | None, results: Path
) -> ScoreTable | None:
    """The model to compare with: another file, another column, or another run, of the same rows and labels."""
    if compare is None and compare_col is None:
        return None
    source = compare or given
    named = replace(columns, truth=None)
    if compare_col is not None:
        named = replace(named, score=compare_col, score_flag="--compare-col")
    if is_table(source) != is_table(given):
        raise RequestError(f"--compare must be a {'table' if is_table(given) else 'run'} as {given} is, got {source}")
    other = subject_of(source, named if is_table(source) else Columns(), results)
    if not np.array_equal(other.rows, subject.rows) or not np.array_equal(other.labeled, subject.labeled):
        raise RequestError(
            f"--compare {source}: expected the {len(subject.rows)} rows of {given} with the same labels in the same "
            f"order, found {len(other.rows)} other rows"
        )
    name = f"{other.name}: {compare_col}" if compare_col else other.name
    return replace(other, name=name)


def refuse_other_suffix(html: Path | None) -> None:
    """RequestError for a page that does not end in .html."""
    if html is not None and html.suffix.lower() not in (".html", ".htm"):
        raise RequestError(f"--html must end in .html, got {html}")


def write_page(path: Path, found: Evaluation | PriorEstimates, what: str) -> None:
    """Writes a page and says where it is. Raises RequestError if it cannot be written."""
    try:
        path.write_text(found.html(), encoding="utf-8")
    except OSError as error:
        raise RequestError(f"cannot write --html {path}: {error.strerror or error}") from error
    err().print(f"the {what}: {path}", markup=False)


# -------------------------------------------------------------------- on the terminal


def print_evaluation(card: Evaluation) -> None:
    """The card in the terminal: what to expect first, then the measures and what they assume."""
    console, rows = out(), card.rows
    facts = f"{rows['rows']} rows, {rows['labeled']} labeled, {rows['unlabeled']} unlabeled; {card.scheme}"
    console.print(f"{card.name}: {facts}", style="bold", markup=False)
    console.print(belief_line(card), markup=False)
    console.print(card.headline, markup=False)
    for line in card.warnings:
        console.print(f"warning: {flags_in(line)}", markup=False)
    for table in (reviews_table(card), measures_table(card)):
        console.print()
        table.print_to(console)
    print_estimates(card.estimates)
    if (pair := models_table(card.comparison)) is not None and card.comparison is not None:
        first, second = card.comparison.names
        console.print(f"\nfirst: {first}; second: {second}", markup=False)
        pair.print_to(console)
        line = f"paired bootstrap, {card.comparison.resamples} resamples of the same rows"
        console.print(line, markup=False)
    console.print()
    for line in card.notes:
        console.print(f"assumed: {line}", markup=False)


def print_estimates(estimates: Sequence[EstimatedPrior]) -> None:
    """The range of class priors, each estimator's in the population, and why some are left out."""
    if not estimates:
        return
    out().print()
    _print_text(summary(estimates))
    estimates_table(estimates, notes=False).print_to(out())
    _print_text(f"prior: share of positives in the population. {RULE}")
    for found in estimates:
        if found.note:
            _print_text(f"{found.key}: {found.note}")


def _print_text(text: str) -> None:
    """Wrapped at the width of a page where the console is wider: piped text is for people, too."""
    out().print(text, markup=False, width=min(out().width, PAGE))
