"""``pubench site``: what it prints."""

from __future__ import annotations

import signal
from collections.abc import Sequence
from pathlib import Path

from pubench_cli.console import err, out
from pubench_cli.messages import said

from .protocols import By
from .write import SiteOptions, sources_of, write_site


def write(
    sources: Sequence[Path],
    place: Path,
    *,
    study: str | None,
    by: By,
    measure: str,
    criterion: str | None,
    baseline: str | None,
    with_scores: bool,
    title: str,
) -> None:
    """Writes the site and says where it is."""
    asked = SiteOptions(sources_of(sources), place, study, by, measure, criterion, baseline, with_scores, title)
    before = signal.signal(signal.SIGTERM, _end)
    try:
        written = write_site(asked, _say)
    finally:
        signal.signal(signal.SIGTERM, before)
    out().print(
        f"{written.index}: {written.pages} pages, {written.records:,} runs, {written.bytes / 2**20:.1f} MiB",
        markup=False,
        soft_wrap=True,
    )


def _end(number: int, frame: object) -> None:
    """Ends the command as Ctrl-C does, so that nothing half-written stays."""
    raise SystemExit(128 + number)


def _say(text: str) -> None:
    err().print(said(text), markup=False, soft_wrap=True)
