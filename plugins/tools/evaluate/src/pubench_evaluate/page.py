"""Form of every result: parts for a terminal, JSON, and a page in the style of the board."""

from __future__ import annotations

from dataclasses import asdict
from html import escape
from typing import Any, ClassVar

from pubench_report.rendering import RenderedTable

from pubench_core.results import plain_data

#: A line or a table of a terminal; an empty line parts.
Part = str | RenderedTable


class Report:
    """Base of results: a notebook shows the page, which is one file that loads nothing, light and dark."""

    template: ClassVar[str] = ""
    """of the page; empty if there is none"""

    @property
    def title(self) -> str:
        """Title of the page."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Everything, as JSON holds it."""
        return dict(plain_data(asdict(self)))  # type: ignore[call-overload]  # results are dataclasses

    def figures(self) -> dict[str, Any]:
        """Figures that the script of the page draws."""
        return {}

    def parts(self) -> list[Part]:
        """Lines and tables for a terminal, the heading first."""
        raise NotImplementedError

    def html(self) -> str:
        """The page."""
        from pubench_report.pages.template import rendered, script_json  # jinja2: only if a page is written

        drawn = script_json(plain_data(self.figures()))
        return rendered(self.template, self.title, ("report_card.js",), __package__ or "", card=self, drawn=drawn)

    def __repr__(self) -> str:
        lines = [[part] if isinstance(part, str) else part.lines() for part in self.parts()]
        return "\n".join(line for part in lines for line in part)

    def _repr_html_(self) -> str | None:
        if not self.template:
            return None
        page = escape(self.html(), quote=True)  # its styles must not change the notebook
        return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0"></iframe>'


def between(interval: tuple[float, float] | None, *, percent: bool = False) -> str:
    """An interval in words; empty if there is none.

    >>> between((0.25, 0.5)), between((0.25, 0.5), percent=True)
    ('0.250 to 0.500', '25 to 50 %')
    """
    if interval is None:
        return ""
    low, high = interval
    return f"{100 * low:.0f} to {100 * high:.0f} %" if percent else f"{low:.3f} to {high:.3f}"
