"""Pages of this package in the style of the board: one file each, with the scripts of ``report_card.js``."""

from __future__ import annotations

from html import escape
from typing import Any

from pubench_core.results import plain_data


def page_from(template: str, title: str, drawn: dict[str, Any], **given: Any) -> str:
    """A page. ``drawn``: what its script draws."""
    from pubench_report.pages.template import rendered, script_json  # jinja2: only if a page is written

    scripts = ("report_card.js",)
    return rendered(template, title, scripts, __package__ or "", drawn=script_json(plain_data(drawn)), **given)


def framed(page: str) -> str:
    """A page inside of another one (a notebook), which its styles must not change."""
    return f'<iframe srcdoc="{escape(page, quote=True)}" style="width:100%;height:900px;border:0"></iframe>'


def between(interval: tuple[float, float] | None, *, percent: bool = False) -> str:
    """An interval in words; empty if there is none.

    >>> between((0.25, 0.5)), between((0.25, 0.5), percent=True)
    ('0.250 to 0.500', '25 to 50 %')
    """
    if interval is None:
        return ""
    low, high = interval
    return f"{100 * low:.0f} to {100 * high:.0f} %" if percent else f"{low:.3f} to {high:.3f}"
