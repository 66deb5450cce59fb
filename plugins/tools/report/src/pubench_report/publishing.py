"""A leaderboard of finished runs as a folder of pages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Literal

from pubench.field_names import InvalidRequest, in_words, said

from .site.write import SiteOptions, write_site


def site(
    sources: str | Path | Iterable[str | Path] = "results",
    out: str | Path = "site",
    *,
    study: str | None = None,
    by: Literal["protocol", "study"] = "protocol",
    measure: str = "accuracy",
    criterion: str | None = None,
    baseline: str | None = None,
    with_scores: bool = False,
    title: str = "Leaderboard",
    home: str = "",
    docs: str = "",
    progress: Callable[[str], None] | None = None,
) -> Path:
    """Writes a leaderboard that needs no server: tables, a page per method and data set, the records. Trains nothing.

    ``sources``: folders of records, files of rows (the format of ``benchmarks/results/study-*.csv``), dated boards.
    ``study``: only the runs of one. ``by``: a table is of runs under the same labeling, scheme and validation
    (``protocol``), or of a study. ``criterion``: by which epochs are chosen in the first view; None means ``pa``, or
    another that reads no true labels. ``baseline``: the row that others are tested against. ``with_scores``: copies
    scores, from which :func:`pubench.verify` derives measures. ``home``: an address that every page links to as
    documentation; ``docs``: that of a plugin's page in it, with ``{kind}`` (methods, data-sets) and ``{key}``.
    ``progress``: called with a line about each thing left out or missing.

    A site that is in ``out`` is replaced as a whole, when the new one is complete. The first page is returned.

    Raises InvalidRequest (a ValueError) where there is nothing to show, or ``out`` holds anything but a
    site.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-show")
    >>> site("to-show", "my-site").name
    'index.html'
    """
    if by not in ("protocol", "study"):
        raise InvalidRequest(f"by must be protocol or study, got {by!r}")
    given = [sources] if isinstance(sources, (str, Path)) else list(sources)
    of = tuple(map(Path, given))
    asked = SiteOptions(
        of, Path(out), study, by, measure, criterion, baseline, with_scores, title, home=home, docs=docs
    )
    with in_words():
        return write_site(asked, lambda text: progress(said(text)) if progress is not None else None).index
