"""Our results next to those of others: a published table, a board, or other records. Only what was run alike is
compared.

``beside`` compares, ``result`` is what comes out of it.
"""

from __future__ import annotations

from pathlib import Path

from pubench.field_names import in_words
from pubench_core.errors import RequestError, nearest, shortened

from ..published import names
from ..results import Results, load_results
from ..rows import is_board, read_board
from .beside import beside_board, beside_published, beside_results
from .result import BOARD_HEAD, SideBySide

__all__ = ["BOARD_HEAD", "SideBySide", "beside_board", "beside_published", "beside_results", "compare_with"]


def compare_with(
    results: Results, other: str | Path | Results, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of others, cell by cell: what ``pubench study compare`` prints.

    A cell is matched if the means differ by less than two standard errors of their difference, sqrt(s1^2 / n1 +
    s2^2 / n2). A side with one run has no deviation, so its cell is not judged.

    ``other``: a publication (``"pubench2026"``, ``"wang2026"``), a folder of records, a file of rows, results, or a
    dated board (``"board@2026.12"``, or its folder), among whose methods those of the results are ranked. Only runs of
    the same protocol (with a publication), or of the same spec except for their seeds (with results), are compared; the
    rest is left out with the reason. ``criterion``: by default the publication's main one, or the one that names
    ``results``. ``measure``: on test rows; by default the publication's main one, or accuracy.

    Raises InvalidRequest for another publication or folder, and a criterion or measure that is not there.

    >>> import pubench
    >>> mine = pubench.compare(["upu"], data="digits", seeds=[2], config={"epochs": 1}, tracking=False)
    >>> theirs = pubench.compare(["upu"], data="digits", seeds=[25, 42], config={"epochs": 1}, tracking=False)
    >>> [cell.theirs.n for cell in compare_with(mine, theirs).cells]
    [2]
    """
    with in_words():
        return side_by_side(results, other, criterion, measure)


def side_by_side(
    results: Results, other: str | Path | Results, criterion: str | None, measure: str | None, word: str = "other"
) -> SideBySide:
    """:func:`compare_with`, raising RequestErrors that call ``other`` by a word of the caller's."""
    if isinstance(other, Results):
        return beside_results(results, other, "other results", criterion=criterion, measure=measure)
    if str(other) in names():
        return beside_published(results, str(other), criterion=criterion, measure=measure)
    if is_board(str(other)):
        return beside_board(results, read_board(other), criterion=criterion, measure=measure)
    if Path(other).exists():
        return beside_results(results, load_results(other), str(other), criterion=criterion, measure=measure)
    raise RequestError(
        f"{word} must be a publication ({', '.join(names())}), a board (board@NAME), a folder of records or a file of "
        f"rows, got {shortened(str(other))}; {nearest(str(other), names())}"
    )
