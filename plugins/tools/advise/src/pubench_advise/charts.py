"""Figures of the page, as SVG with text."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from pubench_evaluate.evaluation import Evaluation

if TYPE_CHECKING:
    from .facts import Compared, Promise

_W, _LEFT, _RIGHT = 660, 210, 20


def found_svg(card: Evaluation, promise: Promise) -> str:
    """Positives found against rows reviewed, with the promise as a bar; empty without budgets."""
    cuts = [cut for cut in card.budgets if cut.all_rows and cut.all_rows <= 2.5 * promise.budget]
    most = max([promise.budget, *(cut.all_rows for cut in cuts)])
    left, top, height = 56, 12, 260

    def at(rows: float, positives: float) -> tuple[float, float]:
        return left + rows / most * (_W - left - _RIGHT), top + height - positives / most * height

    parts = []
    for k in range(5):
        value = most * k / 4
        x, y = at(value, value)
        parts.append(f'<line class="grid" x1="{left}" x2="{_W - _RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{left - 6}" y="{y + 4:.1f}" text-anchor="end">{value:,.0f}</text>')
        parts.append(f'<text x="{x:.1f}" y="{top + height + 18}" text-anchor="middle">{value:,.0f}</text>')
    share = card.belief.share
    for slope in (1.0, *([share] if share else [])):
        (x0, y0), (x1, y1) = at(0, 0), at(most, slope * most)
        parts.append(f'<line class="other" x1="{x0:.1f}" y1="{y0:.1f}" x2="{x1:.1f}" y2="{y1:.1f}"/>')
    bands = [(cut.all_rows, *cut.expected_interval) for cut in cuts if cut.expected_interval is not None]
    if bands:
        upper = [at(rows, high) for rows, _, high in bands]
        lower = [at(rows, low) for rows, low, _ in reversed(bands)]
        points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (at(0, 0), *upper, *lower))
        parts.append(f'<polygon class="band" points="{points}"/>')
    (x, y0), (_, y1) = at(promise.budget, promise.low), at(promise.budget, promise.high)
    parts.append(f'<line class="mark" x1="{x:.1f}" x2="{x:.1f}" y1="{y0:.1f}" y2="{y1:.1f}"/>')
    for y in (y0, y1):
        parts.append(f'<line class="mark" x1="{x - 7:.1f}" x2="{x + 7:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
    title = f"positives found by rows reviewed; of the top {promise.budget}, {promise.low} to {promise.high}"
    parts.append(f'<text x="{_W - _RIGHT}" y="{top + height + 34}" text-anchor="end">rows reviewed</text>')
    return _svg(title, top + height + 42, parts)


def differences_svg(compared: Sequence[Compared]) -> str:
    """Each method's difference to bagged trees with its interval: by checked rows if there are any, else held out."""
    checked = any(one.checked is not None for one in compared)
    rows = [(one.name, one.checked if checked else one.held_out) for one in compared]
    known = [(name, found) for name, found in rows if found is not None]
    if not known:
        return ""
    far = max(0.02, *(abs(end) for _, found in known for end in found.interval))
    step, top = 26, 10

    def at(value: float) -> float:
        return _LEFT + (value + far) / (2 * far) * (_W - _LEFT - _RIGHT)

    bottom = top + step * len(known)
    parts = [f'<line class="zero" x1="{at(0):.1f}" x2="{at(0):.1f}" y1="{top}" y2="{bottom}"/>']
    for k, (name, found) in enumerate(known):
        y = top + step * k + step / 2
        low, high = (at(end) for end in found.interval)
        parts.append(f'<text x="{_LEFT - 10}" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        parts.append(f'<line class="mark" x1="{low:.1f}" x2="{high:.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<circle class="mark" cx="{at(found.difference):.1f}" cy="{y:.1f}" r="4"/>')
    for value in (-far, 0.0, far):
        parts.append(f'<text x="{at(value):.1f}" y="{bottom + 16}" text-anchor="middle">{value:+.3f}</text>')
    what = "checked rows" if checked else "held-out labeled positives"
    return _svg(f"difference to bagged trees by {what}", bottom + 24, parts)


def _svg(title: str, height: float, parts: Sequence[str]) -> str:
    return (
        f'<svg viewBox="0 0 {_W} {height:.0f}" role="img" aria-label="{escape(title, quote=True)}">'
        f"<title>{escape(title)}</title>{''.join(parts)}</svg>"
    )
