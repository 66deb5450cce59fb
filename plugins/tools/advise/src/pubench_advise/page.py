"""The page of an answer: one file without scripts, light and dark. The answer first, then the seven steps."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from html import escape
from typing import TYPE_CHECKING

from pubench_study.durations import duration

from .charts import differences_svg, found_svg
from .facts import AdviceFacts, Compared

if TYPE_CHECKING:
    from .evidence import Difference

_STYLE = """
:root { color-scheme: light dark; --page: #fff; --panel: #f5f6f8; --ink: #1a1d21; --soft: #50565e; --line: #d5d9de;
  --mark: #1d4fb8; --other: #9a4a00; --warn: #fff4d6; --warn-line: #9a6b00; }
@media (prefers-color-scheme: dark) { :root { --page: #15181c; --panel: #1f2328; --ink: #e8eaed; --soft: #b4bac2;
  --line: #3a4048; --mark: #8ab6ff; --other: #ffb26b; --warn: #332a12; --warn-line: #e0b44c; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; }
main { max-width: 980px; margin: 0 auto; padding: 24px 20px 48px; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 4px; overflow-wrap: anywhere; }
h2 { font-size: 1.15rem; margin: 34px 0 8px; } p, li { max-width: 75ch; } p { margin: 6px 0; }
.soft, caption { color: var(--soft); font-size: .92rem; } caption { text-align: left; }
.first { font-size: 1.2rem; margin: 18px 0; padding: 14px 16px; background: var(--panel); border-radius: 6px;
  max-width: none; }
.warnings { list-style: none; margin: 16px 0; padding: 0; }
.warnings li { max-width: none; background: var(--warn); border-left: 4px solid var(--warn-line); padding: 8px 12px;
  margin: 8px 0; }
figure { margin: 12px 0; background: var(--panel); border-radius: 6px; padding: 12px; max-width: 720px; }
figcaption { color: var(--soft); font-size: .92rem; }
svg { width: 100%; height: auto; display: block; } svg text { fill: var(--ink); font: 12px system-ui, sans-serif; }
.grid { stroke: var(--line); } .zero { stroke: var(--soft); stroke-dasharray: 3 4; }
.band { fill: var(--mark); opacity: .22; } .mark { fill: var(--mark); stroke: var(--mark); stroke-width: 2.2; }
.other { fill: none; stroke: var(--other); stroke-width: 2; stroke-dasharray: 6 4; }
.wrap { overflow-x: auto; } table { border-collapse: collapse; width: 100%; margin: 8px 0; }
td:first-child { min-width: 9em; }
th, td { text-align: left; padding: 6px 12px 6px 0; border-bottom: 1px solid var(--line); vertical-align: top; }
td.number, th.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
code { background: var(--panel); padding: 1px 5px; border-radius: 4px; overflow-wrap: anywhere; }
"""


def page_of(advice: AdviceFacts) -> str:
    """The whole page."""
    body = "\n".join(part for part in _sections(advice) if part)
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>Advice on {escape(advice.look.name)}</title><style>{_STYLE}</style></head>\n"
        f"<body><main>\n{body}\n</main></body></html>\n"
    )


def _sections(advice: AdviceFacts) -> Iterator[str]:
    look = advice.look
    yield f"<h1>Advice on {escape(look.name)}</h1>"
    yield _soft(
        f"{look.rows:,} rows, {look.labeled:,} labeled positive, {look.unlabeled:,} unlabeled, {look.features:,} "
        f"features; goal {advice.goal}; {duration(advice.seconds)}"
    )
    yield f'<p class="first">{escape(advice.headline)}</p>'
    if advice.warnings:
        yield '<ul class="warnings">' + "".join(f"<li>{escape(line)}</li>" for line in advice.warnings) + "</ul>"
    yield _before(advice)
    chart = found_svg(advice.card, advice.promise)
    if chart:
        yield (
            f"<figure>{chart}<figcaption>Positives found against rows reviewed. Band: 95 % if labels are a random draw "
            "of the positives. Bar: what is promised without that. Dashed: every row positive, and a random order."
            "</figcaption></figure>"
        )
    yield "<h2>What to do now</h2>" + _list(_next(advice))
    yield "<h2>1. The table</h2>" + _list(look.notes)
    yield "<h2>2. How rows were labeled</h2>" + _labeling(advice)
    yield "<h2>3. How many are positive</h2>" + _prior(advice)
    yield "<h2>4, 5. Methods</h2>" + _methods(advice)
    yield "<h2>6. The answer</h2>" + _answer(advice)
    yield "<h2>7. Where to cut</h2>" + _cuts(advice)


def _soft(text: str) -> str:
    return f'<p class="soft">{escape(text)}</p>'


def _list(lines: Sequence[str]) -> str:
    return "<ul>" + "".join(f"<li>{line if line.startswith('<') else escape(line)}</li>" for line in lines) + "</ul>"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]], numbers: Sequence[int] = ()) -> str:
    kinds = ['class="number"' if k in numbers else "" for k in range(len(head))]
    top = "".join(f'<th scope="col" {kind}>{escape(name)}</th>' for name, kind in zip(head, kinds, strict=True))
    lines = [
        "<tr>" + "".join(f"<td {kind}>{escape(c)}</td>" for c, kind in zip(row, kinds, strict=True)) + "</tr>"
        for row in rows
    ]
    return f'<div class="wrap"><table><thead><tr>{top}</tr></thead><tbody>{"".join(lines)}</tbody></table></div>'


def _before(advice: AdviceFacts) -> str:
    """What checked rows changed."""
    before = advice.before
    if before is None:
        return ""
    was, now = before["prior"], advice.prior.interval
    promised = before["promise"]
    rows = [
        ["method", before["answer"], advice.answer],
        ["prior", _between(was), _between(now)],
        [
            "positives in the highest rows",
            f"{promised['low']:,} to {promised['high']:,} of {promised['budget']:,}",
            f"{advice.promise.low:,} to {advice.promise.high:,} of {advice.promise.budget:,}",
        ],
    ]
    return "<h2>What the checked rows changed</h2>" + _table(("", "before", "after"), rows)


def _between(interval: Sequence[float] | None, digits: int = 3) -> str:
    return "unknown" if interval is None else f"{interval[0]:.{digits}f} to {interval[1]:.{digits}f}"


def _next(advice: AdviceFacts) -> list[str]:
    found = ["ranked.csv: every unlabeled row, the likeliest positive first"]
    if advice.model is not None:
        found.append(f"<b>new rows</b>: <code>pubench predict {escape(advice.model)} new.csv</code>")
    if advice.sheet is not None and advice.audited is None:
        found.append(
            f"<b>check the 60 rows</b> of <code>{escape(advice.sheet)}</code> (1 or 0 in the last column), then "
            f"the same command with <code>--audited {escape(advice.sheet)}</code>: the prior, the promise and the "
            "choice are made again with them"
        )
    return found


def _labeling(advice: AdviceFacts) -> str:
    one = advice.scheme == "one-sample"
    taken = (
        "All rows are taken as one draw from the population, some of whose positives are labeled (one-sample): the "
        "file holds labeled and unlabeled rows together."
        if one
        else "The unlabeled rows alone are taken as a draw from the population; labeled rows come from elsewhere "
        "(two-sample)."
    )
    other = (
        "If the unlabeled rows were drawn from everybody and the labeled ones collected elsewhere, ask with "
        "--scheme two-sample: the prior then is the share of positives among the unlabeled rows. Rankings stay."
        if one
        else "If labeled and unlabeled rows were drawn together, ask with --scheme one-sample."
    )
    return f"<p>{escape(taken)}</p><p>{escape(other)}</p><p>{escape(advice.scar.sentence)}</p>"


def _prior(advice: AdviceFacts) -> str:
    prior = advice.prior
    said = (
        f"The share of positives in the population is {_between(prior.interval)} ({prior.source}"
        f"{', which assumes that labels are a random draw of the positives' if prior.assumes_scar else ''})."
        if prior.interval is not None
        else f"Nothing is known of the share of positives ({prior.source}). Give --prior LOW..HIGH, or check rows."
    )
    estimated = prior.estimated
    if estimated is None:
        return f"<p>{escape(said)}</p>"
    rows = [
        [
            key,
            "" if value is None else f"{value:.3f}",
            "" if low is None or high is None else f"{low:.3f} to {high:.3f}",
            f"no: {why}" if why else "yes",
        ]
        for key, value, low, high, why in estimated.each
    ]
    table = _table(("estimator (assumes SCAR)", "prior", "95 %", "counts"), rows, (1, 2)) if rows else ""
    return f"<p>{escape(said)}</p>{table}{_soft(estimated.summary)}"


def _methods(advice: AdviceFacts) -> str:
    checked = any(one.checked is not None for one in advice.compared)
    head = ["method", "held-out PAUC", "difference, 95 %", "held-out positives found", "same rank", "same top"]
    head += ["AUC by checked rows: difference, 95 %"] if checked else []
    rows = [_method(one, checked) for one in advice.compared]
    table = _table(
        [*head, "seconds"],
        [[*r, f"{one.seconds:.0f}"] for r, one in zip(rows, advice.compared, strict=True)],
        range(1, len(head) + 1),
    )
    chart = differences_svg(advice.compared)
    how = (
        "Every row is scored by a model that did not see it. Held-out labeled positives say which method finds what "
        "looks like the labeled rows; they do not choose, because they mislead if labels are not a random draw "
        "(measured: docs/pages/advice.md). Only checked rows choose."
    )
    missing = [f"{one.candidate.name}: {one.reason}" for one in advice.not_fitted]
    drawn = f"<figure>{chart}<figcaption>Difference to bagged trees, 95 %.</figcaption></figure>" if chart else ""
    left = "<p>Not fitted:</p>" + _list(missing) if missing else ""
    return f"{drawn}{table}{_soft(how)}{left}"


def _method(one: Compared, checked: bool) -> list[str]:
    def said(found: Difference | None) -> str:
        return (
            "" if found is None else f"{found.difference:+.3f} ({found.interval[0]:+.3f} to {found.interval[1]:+.3f})"
        )

    alike = one.agreement
    cells = [
        one.name + (" (no PU method)" if one.baseline else ""),
        f"{one.pauc:.3f}",
        said(one.held_out),
        f"{100 * one.found:.0f} %",
        "" if alike is None else f"{alike.rank:.2f}",
        "" if alike is None else f"{100 * alike.top:.0f} %",
    ]
    return [*cells, said(one.checked)] if checked else cells


def _answer(advice: AdviceFacts) -> str:
    choice = advice.choice
    why = (
        "Checked rows chose it."
        if choice.by == "checked rows"
        else "It is the default: of all constant choices it loses least, and no criterion without checked rows does "
        "better. Checked rows can change it."
    )
    others = [name for name in choice.alike if name != choice.answer]
    same = f"Not shown to be worse: {', '.join(others)}." if others else ""
    return f"<p>{escape(choice.answer)}. {escape(why)}</p>" + (f"<p>{escape(same)}</p>" if same else "")


def _cuts(advice: AdviceFacts) -> str:
    card, scar = advice.card, advice.scar
    doubt = "" if scar.holds else " (not tested)" if scar.status == "untested" else f" ({scar.status})"
    rows = [
        [
            f"the top {cut.budget:,}"
            if cut.budget
            else f"{100 * (cut.target or 0):g} % of positives: {cut.all_rows:,} rows",
            "no number: contradicted"
            if card.contradictions
            else "needs a prior"
            if cut.expected_interval is None
            else f"{cut.expected_interval[0]:,.0f} to {cut.expected_interval[1]:,.0f}",
            ""
            if cut.recall_interval is None
            else f"{100 * cut.recall_interval[0]:.0f} to {100 * cut.recall_interval[1]:.0f} %",
            f"{cut.threshold:.4f}",
        ]
        for cut in (*card.budgets, *card.recalls)
    ]
    table = _table(
        ("review", f"positives, if SCAR{doubt}", f"of all positives, if SCAR{doubt}", "score above"), rows, (1, 2, 3)
    )
    ends = ", ".join(
        f"{name} end of the prior: score at least {value:.4f}" for name, value in advice.thresholds.items()
    )
    return table + (_soft(f"To decide: {ends}. Column decision of ranked.csv is of the middle.") if ends else "")
