"""The answer of :func:`pubench.advise`: what was found, and the page that shows it."""

from __future__ import annotations

from dataclasses import dataclass

from pubench_evaluate.report_card import framed

from .facts import AdviceFacts
from .page import page_of


@dataclass(frozen=True, repr=False)
class Advice(AdviceFacts):
    """Answer of :func:`pubench.advise`, with its page; a notebook shows the page."""

    def html(self) -> str:
        """The page: one file without scripts."""
        return page_of(self)

    def _repr_html_(self) -> str:
        return framed(self.html())
