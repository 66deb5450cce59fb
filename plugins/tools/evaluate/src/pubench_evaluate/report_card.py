"""A report card as one HTML file: styles and figures inside, no scripts, light and dark, wide and narrow screens."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape

from .estimates import RULE, EstimatedPrior, summary
from .facts import CardFacts, PriorFacts
from .measuring import Measured
from .paired import Comparison
from .report_card_figures import curves_svg, estimates_svg
from .thresholds import DRAWS, Cut

_STYLE = """
:root { color-scheme: light dark; --page: #ffffff; --panel: #f5f6f8; --ink: #1a1d21; --soft: #50565e; --line: #d5d9de;
  --recovered: #1d4fb8; --raw: #9a4a00; --believed: #1a1d21; --warn: #fff4d6; --warn-line: #9a6b00; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --panel: #1f2328; --ink: #e8eaed; --soft: #b4bac2;
  --line: #3a4048; --recovered: #8ab6ff; --raw: #ffb26b; --believed: #e8eaed; --warn: #332a12; --warn-line: #e0b44c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 1120px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 36px 0 8px; }
p, li { max-width: 75ch; } p { margin: 6px 0; }
.soft, caption, figcaption { color: var(--soft); font-size: .92rem; }
.first { font-size: 1.2rem; margin: 18px 0; padding: 14px 16px; background: var(--panel); border-radius: 6px;
  max-width: none; }
.warnings { list-style: none; margin: 16px 0; padding: 0; }
.warnings li { max-width: none; background: var(--warn); border-left: 4px solid var(--warn-line);
  padding: 8px 12px; margin: 8px 0; }
.figures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 340px), 530px)); gap: 20px; }
figure { margin: 0; background: var(--panel); border-radius: 6px; padding: 12px; }
.one { max-width: 620px; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); stroke-width: 1; } .chance { fill: none; stroke: var(--soft); stroke-dasharray: 3 4; }
.curve { fill: none; stroke-width: 2.2; } .curve.raw { stroke: var(--raw); stroke-dasharray: 7 4; }
.curve.recovered { stroke: var(--recovered); } .band { fill: var(--recovered); opacity: .2; }
.whisker { stroke-width: 2.2; } .whisker.recovered { stroke: var(--recovered); }
.dot.recovered { fill: var(--recovered); }
.whisker.believed { stroke: var(--believed); } .dot.believed { fill: var(--believed); }
.key::before { content: ""; display: inline-block; width: 22px; margin-right: 6px; vertical-align: middle;
  border-top: 3px solid; }
.key.recovered::before { border-color: var(--recovered); }
.key.raw::before { border-color: var(--raw); border-top-style: dashed; }
.key { margin-right: 14px; white-space: nowrap; }
table { border-collapse: collapse; width: 100%; margin: 8px 0; } caption { text-align: left; padding-bottom: 4px; }
th, td { text-align: left; padding: 7px 12px 7px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td small { display: block; color: var(--soft); font-weight: 400; }
th.number + th:not(.number), td.number + td:not(.number) { padding-left: 16px; }
@media (max-width: 640px) {
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%); }
  tr { display: block; padding: 8px 0; border-bottom: 1px solid var(--line); }
  td, td.number { display: flex; justify-content: space-between; gap: 16px; border: 0; padding: 2px 0;
    text-align: right; white-space: normal; }
  td::before { content: attr(data-label); color: var(--soft); text-align: left; }
  td:first-child { font-weight: 600; text-align: left; display: block; } td:first-child::before { content: none; }
  td.number + td:not(.number) { padding-left: 0; } td:empty { display: none; }
}
"""


def page_of(card: CardFacts) -> str:
    """The whole page."""
    return _page(f"{card.name}: evaluation without negatives", _sections(card))


def page_of_priors(found: PriorFacts) -> str:
    """A page of the estimators alone."""
    believed = None if found.true is None else (found.true, None)
    figure = estimates_svg(found.estimates, believed, "true")
    sections = [
        f"<h1>Class prior of {escape(found.name)}</h1>",
        f'<p class="soft">{found.rows:,} rows, {found.labeled:,} labeled; {escape(found.scheme)}; '
        f"{escape(found.read)}</p>",
        _warned(found.warnings),
        f'<figure class="one">{figure}<figcaption>{_FIGURE}</figcaption></figure>',
        estimates_section(found.estimates),
    ]
    return _page(f"{found.name}: class prior", iter(sections))


#: Below a figure of estimates.
_FIGURE = "Class prior of the population; intervals of 95 % where an estimator gives one"


def _page(title: str, sections: Iterator[str]) -> str:
    body = "\n".join(part for part in sections if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(title)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _warned(lines: Sequence[str]) -> str:
    return '<ul class="warnings">' + "".join(f"<li>{escape(line)}</li>" for line in lines) + "</ul>" if lines else ""


def framed(page: str) -> str:
    """A page inside of another one (a notebook), which its styles must not change."""
    return f'<iframe srcdoc="{escape(page, quote=True)}" style="width:100%;height:900px;border:0"></iframe>'


def _sections(card: CardFacts) -> Iterator[str]:
    rows = card.rows
    yield f"<h1>{escape(card.name)}</h1>"
    yield (
        f'<p class="soft">{rows["rows"]:,} rows: {rows["labeled"]:,} labeled positives, '
        f"{rows['unlabeled']:,} unlabeled; {escape(card.scheme)}; {escape(belief_line(card))}</p>"
    )
    yield f'<p class="first">{escape(headline(card))}</p>'
    yield _warned(card.warnings)
    yield _reviews(card)
    yield _figures(card)
    yield _measures(card)
    yield _priors(card)
    yield _two_models(card.comparison)
    yield "<h2>What all of it assumes</h2><ul>" + "".join(f"<li>{escape(line)}</li>" for line in card.notes) + "</ul>"


# -------------------------------------------------------------------- sentences that the terminal prints, too


def belief_line(card: CardFacts) -> str:
    """Line about the assumed prior."""
    belief = card.belief
    if belief.prior is None:
        return "no prior given"
    where = "" if belief.interval is None else f" (between {belief.interval[0]:.3g} and {belief.interval[1]:.3g})"
    return f"class prior {belief.prior:.3g}{where}, {belief.source}; share of positives in U {belief.share:.3g}"


def headline(card: CardFacts) -> str:
    """Sentence about the rows above the threshold: how many are positive, or why nobody can say and what helps."""
    return " ".join(part for part in (_expected(card), card.checked) if part)


def _expected(card: CardFacts) -> str:
    """The headline as far as it follows from labeled rows and the prior."""
    cut, what = card.decision, _reviewed(card)
    if card.contradictions:
        beyond = any(one.contradicted for one in (cut, *card.budgets, *card.recalls))
        chance = ", or nearly all of them are positive and it is chance" if cut.infeasible else ", or it is chance"
        return (
            f"{what}: no number of positives can be given. {card.contradictions[0]}. Labeled rows score higher than "
            f"other positives (labels are not SCAR), or the prior is too large{'' if beyond else chance}. "
            f"{'' if card.checked else 'Sixty rows that a person checks settle it: pubench audit.'}"
        ).rstrip()
    if cut.expected is not None and cut.expected_interval is not None:
        low, high = cut.expected_interval
        about = f" (about {cut.expected:,.0f})" if card.scar_tested else ""
        untested = "" if card.scar_tested else "; SCAR is not tested here"
        count = f"expect {low:,.0f} to {high:,.0f} positives{about}"
        return f"{what}: {count}, {found_of(cut)}, if labels are SCAR and the prior is right{untested}."
    if cut.recall is not None:
        return f"{what}: {found_of(cut)}, if labels are SCAR. How many positives to expect there needs a prior."
    return f"{what}. What to expect there needs a prior."


def _reviewed(card: CardFacts) -> str:
    """Which rows the headline is about, of how many, and from which ones that is known."""
    cut, n_all = card.decision, card.rows.get("all_unlabeled", card.rows["unlabeled"])
    if cut.budget is not None:
        what = f"Review the top {cut.budget:,} of {n_all:,} unlabeled rows"
        what += "" if cut.all_rows == cut.budget else f" (equal scores leave {cut.all_rows:,})"
    elif cut.target is not None:
        what = f"To find {100 * cut.target:g} % of the positives, review the {cut.all_rows:,} of {n_all:,} unlabeled "
        what += f"rows above {cut.threshold:.4g}"
    else:
        what = f"Review the {cut.all_rows:,} of {n_all:,} unlabeled rows above the threshold {cut.threshold:.4g}"
    if n_all == card.rows["unlabeled"]:
        return what
    return f"{what} (estimated from {cut.rows:,} of {card.rows['unlabeled']:,} that were held out of training)"


def count_of(cut: Cut) -> str:
    """How many positives to expect above a threshold; a word if there cannot be as many as the prior implies.

    Empty if the prior is unknown, or contradicted by another part of the card.
    """
    if cut.contradicted or cut.infeasible:
        return "contradicted" if cut.contradicted else "infeasible"
    if cut.expected_interval is None:
        return ""
    low, high = cut.expected_interval
    return f"{low:,.0f} to {high:,.0f}"


def found_of(cut: Cut) -> str:
    """Which share of the positives lies above a threshold."""
    if cut.recall_interval is None:
        return "share of the positives found unknown"
    return f"{between(cut.recall_interval, percent=True)} of all positives"


def between(interval: tuple[float, float] | None, *, percent: bool = False) -> str:
    """An interval in words; empty if there is none.

    >>> between((0.25, 0.5)), between((0.25, 0.5), percent=True)
    ('0.250 to 0.500', '25 to 50 %')
    """
    if interval is None:
        return ""
    low, high = interval
    return f"{100 * low:.0f} to {100 * high:.0f} %" if percent else f"{low:.3f} to {high:.3f}"


def assumed(measured: Measured) -> str:
    """Assumptions of a measure, in words."""
    if measured.oracle:
        return "true labels"
    return ", ".join("the prior" if name == "prior" else name for name in measured.assumes) or "neither prior nor SCAR"


# -------------------------------------------------------------------- sections


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = (), caption: str = "") -> str:
    """``rows``: HTML of each cell. ``numbers``: columns of numbers."""
    kinds = ['class="number"' if k in numbers else "" for k in range(len(head))]
    top = "".join(f'<th scope="col" {kind}>{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    lines = [
        "".join(
            f'<td {kind} data-label="{escape(name, quote=True)}">{cell}</td>'
            for name, kind, cell in zip(head, kinds, row, strict=True)
        )
        for row in rows
    ]
    said = f"<caption>{escape(caption)}</caption>" if caption else ""
    return f"<table>{said}<thead><tr>{top}</tr></thead><tbody><tr>{'</tr><tr>'.join(lines)}</tr></tbody></table>"


def _reviews(card: CardFacts) -> str:
    head = ("review", "positives, if SCAR", "of all positives, if SCAR", "threshold")
    rows = [
        [
            f"the top {cut.budget:,}"
            if cut.budget
            else f"for {100 * (cut.target or 0):g} % recall: {cut.all_rows:,} rows",
            count_of(cut) or ("" if card.contradictions else "needs a prior"),
            between(cut.recall_interval, percent=True) or "needs a prior",
            f"{cut.threshold:.4g}",
        ]
        for cut in (*card.budgets, *card.recalls)
    ]
    if not rows:
        return ""
    how = (
        f"95 % intervals: percentiles of {DRAWS:,} draws. The share of positives above the threshold comes from the "
        "labeled rows there (Jeffreys posterior), the prior from its interval; the number of positives there "
        "is binomial. They hold under SCAR, and if the prior is right. Infeasible: the prior and the labeled rows "
        "imply more positives than there are rows. Contradicted: chance does not explain that."
    )
    return f'<h2>What a review would find</h2>{_table(head, rows, (1, 2, 3))}<p class="soft">{escape(how)}</p>'


def _figures(card: CardFacts) -> str:
    curves = card.curves
    key = '<span class="key recovered">recovered</span><span class="key raw">raw: unlabeled counts as negative</span>'
    roc = curves_svg(
        "ROC curve, raw and recovered",
        ("false positive rate", "recall"),
        curves.get("raw-roc"),
        curves.get("recovered-roc"),
        card.band,
        diagonal=True,
    )
    figures = [f"<figure>{roc}<figcaption>ROC. {key}</figcaption></figure>"]
    if "recovered-pr" in curves:
        axes = ("recall", "precision")
        pr = curves_svg("precision by recall, raw and recovered", axes, curves.get("raw-pr"), curves["recovered-pr"])
        figures.append(f"<figure>{pr}<figcaption>Precision and recall. {key}</figcaption></figure>")
    band = " The band is of 95 % at each false positive rate." if card.band is not None else ""
    missing = (
        "" if "recovered-roc" in curves else " No curve is recovered: that needs a prior and the metric recovered-auc."
    )
    grid = '<div class="figures">' + "".join(figures) + "</div>"
    return f'<h2>Curves</h2>{grid}<p class="soft">{escape((band + missing).strip())}</p>'


def _measures(card: CardFacts) -> str:
    head = ("measure", "value", "95 % interval", "assumes", "note")
    rows = [
        [
            f"{escape(found.name)}<small>{escape(found.summary)}</small>",
            "" if found.value is None else f"{found.value:.3f}",
            between(found.interval),
            escape(assumed(found)),
            escape(
                "; ".join(([found.measure.undefined] if found.measure.undefined else []) + list(found.measure.warnings))
            ),
        ]
        for found in card.measures.values()
    ]
    return f"<h2>Measures</h2>{_table(head, rows, (1, 2))}"


def _priors(card: CardFacts) -> str:
    if not card.estimates and card.belief.prior is None:
        return "<h2>Class prior</h2><p>None is given, and no estimator that reads scores is installed.</p>"
    believed = None if card.belief.prior is None else (card.belief.prior, card.belief.interval)
    drawn = estimates_svg(card.estimates, believed, "used here")
    figure = f'<figure class="one">{drawn}<figcaption>{_FIGURE}</figcaption></figure>'
    return f"<h2>Class prior</h2>{figure}{estimates_section(card.estimates)}"


def estimates_section(estimates: Sequence[EstimatedPrior]) -> str:
    """The range of priors, each estimator's, and why some are left out."""
    if not estimates:
        return ""
    head = ("estimator", "prior", "95 % interval", "in the range", "note")
    rows = [
        [
            escape(found.name),
            "" if found.prior is None else f"{found.prior:.3f}",
            between(found.prior_interval),
            escape(f"no: {found.left_out}" if found.left_out else "yes"),
            escape(found.note),
        ]
        for found in estimates
    ]
    said = f"<p>{escape(summary(estimates))}</p>"
    return f'{said}{_table(head, rows, (1, 2))}<p class="soft">{escape(RULE)}</p>'


def _two_models(comparison: Comparison | None) -> str:
    if comparison is None:
        return ""
    first, second = map(escape, comparison.names)
    head = ("measure", first, second, "difference, 95 %", "better", "assumes")
    rows = []
    for found in comparison.differences:
        better = {"first": first, "second": second}.get(found.better, "not shown")
        values = ["" if v is None else f"{v:.3f}" for v in (found.first, found.second)]
        basis = "true labels" if found.oracle else ", ".join(found.assumes) or "neither prior nor SCAR"
        rows.append([escape(found.name), *values, between(found.interval), better, escape(basis)])
    how = f"Paired bootstrap: both models on the same {comparison.resamples:,} resamples; second minus first."
    return f'<h2>Two models</h2>{_table(head, rows, (1, 2, 3))}<p class="soft">{escape(how)}</p>'
