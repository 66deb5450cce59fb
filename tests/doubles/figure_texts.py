"""Texts of a figure of matplotlib, and that none of them covers another."""

from __future__ import annotations

from itertools import combinations
from typing import Any

from pubench_report.drawing import plain_style


def texts_of(figure: Any) -> list[tuple[str, Any]]:
    """(text, box) of every text that is drawn."""
    with plain_style():
        figure.canvas.draw()
    legends = [*figure.legends, *(legend for axes in figure.axes if (legend := axes.get_legend()) is not None)]
    found = [*figure.texts, *(text for legend in legends for text in legend.get_texts())]
    for axes in figure.axes:
        found += [*axes.texts, axes._left_title, axes.xaxis.label, axes.yaxis.label]
        if axes.axison:
            found += _within(axes.get_xticklabels(), axes.get_xlim())
            found += _within(axes.get_yticklabels(), axes.get_ylim())
    return [(t.get_text(), t.get_window_extent()) for t in found if t.get_text() and t.get_visible()]


def _within(labels: Any, limits: tuple[float, float]) -> list[Any]:
    """Labels of an axis that are drawn."""
    at = [max(text.get_position(), key=abs) for text in labels]
    return [text for text, place in zip(labels, at, strict=True) if min(limits) <= place <= max(limits)]


def assert_nothing_overlaps(figure: Any, least: int = 13) -> None:
    """All of at least so many texts are inside the figure and beside one another."""
    boxes, whole = texts_of(figure), figure.bbox
    assert len(boxes) >= least
    for text, box in boxes:
        assert whole.x0 <= box.x0 <= box.x1 <= whole.x1, text
        assert whole.y0 <= box.y0 <= box.y1 <= whole.y1, text
    for (one, a), (other, b) in combinations(boxes, 2):
        across = min(a.x1, b.x1) - max(a.x0, b.x0)
        along = min(a.y1, b.y1) - max(a.y0, b.y0)
        assert across <= 0 or along <= 0, f"'{one}' and '{other}' overlap"
