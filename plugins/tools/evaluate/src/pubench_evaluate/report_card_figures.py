"""Figures of a report card as SVG text: curves with bands, and estimates with intervals on one line each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape

from .estimates import EstimatedPrior
from .measuring import Curve

#: Size of a figure in its own units, and the margins around what is drawn.
_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 360, 320, 46, 12, 12, 44
_ROW = 34


@dataclass(frozen=True)
class _Frame:
    """A unit square on the page."""

    left: float = _LEFT
    top: float = _TOP
    width: float = _WIDTH - _LEFT - _RIGHT
    height: float = _HEIGHT - _TOP - _BOTTOM

    def x(self, value: float) -> float:
        return self.left + self.width * min(max(value, 0.0), 1.0)

    def y(self, value: float) -> float:
        return self.top + self.height * (1 - min(max(value, 0.0), 1.0))

    def path(self, x: Sequence[float], y: Sequence[float]) -> str:
        return " ".join(f"{self.x(a):.1f},{self.y(b):.1f}" for a, b in zip(x, y, strict=True))


def curves_svg(
    label: str,
    axes: tuple[str, str],
    raw: Curve | None,
    recovered: Curve | None,
    band: Mapping[str, Sequence[float]] | None = None,
    *,
    diagonal: bool = False,
) -> str:
    """Two curves in the unit square. ``label``: text for readers who see no figure."""
    frame = _Frame()
    parts = [*_axes(frame, axes)]
    if diagonal:
        parts.append(f'<polyline class="chance" points="{frame.path((0, 1), (0, 1))}"/>')
    if band is not None:
        x, low, high = band["fpr"], band["low"], band["high"]
        there, back = frame.path(x, high), frame.path(list(x)[::-1], list(low)[::-1])
        parts.append(f'<polygon class="band" points="{there} {back}"/>')
    for curve, name in ((raw, "raw"), (recovered, "recovered")):
        if curve is not None:
            parts.append(f'<polyline class="curve {name}" points="{frame.path(curve.x, curve.y)}"/>')
    return _svg(label, _WIDTH, _HEIGHT, parts)


def _axes(frame: _Frame, names: tuple[str, str]) -> list[str]:
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x, y = frame.x(tick), frame.y(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="{frame.y(0):.1f}" y2="{frame.y(1):.1f}"/>')
        parts.append(f'<line class="grid" x1="{frame.x(0):.1f}" x2="{frame.x(1):.1f}" y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<text x="{x:.1f}" y="{frame.y(0) + 16:.1f}" text-anchor="middle">{tick:g}</text>')
        parts.append(f'<text x="{frame.left - 6:.1f}" y="{y + 4:.1f}" text-anchor="end">{tick:g}</text>')
    middle = frame.left + frame.width / 2
    parts.append(f'<text x="{middle:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{escape(names[0])}</text>')
    up = frame.top + frame.height / 2
    turned = f'transform="rotate(-90 12 {up:.1f})" x="12" y="{up:.1f}"'
    parts.append(f'<text {turned} text-anchor="middle">{escape(names[1])}</text>')
    return parts


def estimates_svg(
    estimates: Sequence[EstimatedPrior], believed: tuple[float, tuple[float, float] | None] | None, label: str
) -> str:
    """π by each estimator with its interval, and what is believed, on one scale from 0 to 1.

    ``believed``: a prior and its interval, drawn last and called ``label``; None if there is none.
    """
    rows: list[tuple[str, float, tuple[float, float] | None, str]] = [
        (found.name, found.prior, found.prior_interval, "recovered") for found in estimates if found.prior is not None
    ]
    if believed is not None:
        rows.append((label, believed[0], believed[1], "believed"))
    height = _ROW * len(rows) + 40
    frame = _Frame(left=138, width=_WIDTH - 138 - _RIGHT, top=6, height=_ROW * len(rows))
    parts = []
    for tick in (0.0, 0.25, 0.5, 0.75, 1.0):
        x = frame.x(tick)
        parts.append(f'<line class="grid" x1="{x:.1f}" x2="{x:.1f}" y1="6" y2="{height - 32}"/>')
        parts.append(f'<text x="{x:.1f}" y="{height - 16}" text-anchor="middle">{tick:g}</text>')
    for k, (name, value, interval, kind) in enumerate(rows):
        y = 6 + _ROW * (k + 0.5)
        parts.append(f'<text x="130" y="{y + 4:.1f}" text-anchor="end">{escape(name)}</text>')
        if interval is not None:
            ends = f'x1="{frame.x(interval[0]):.1f}" x2="{frame.x(interval[1]):.1f}"'
            parts.append(f'<line class="whisker {kind}" {ends} y1="{y:.1f}" y2="{y:.1f}"/>')
        parts.append(f'<circle class="dot {kind}" cx="{frame.x(value):.1f}" cy="{y:.1f}" r="4.5"/>')
    names = ", ".join(f"{name} {value:.3g}" for name, value, _, _ in rows)
    return _svg(f"class prior by estimator: {names}", _WIDTH, height, parts)


def _svg(label: str, width: int, height: int, parts: Sequence[str]) -> str:
    inner = "".join(parts)
    return f'<svg viewBox="0 0 {width} {height}" role="img" aria-label="{escape(label, quote=True)}">{inner}</svg>'
