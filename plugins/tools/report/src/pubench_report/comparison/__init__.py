"""Our results next to those of others: a published table, or other records. Only what was run alike is compared.

``cells`` makes the comparison, ``protocol`` says whether a run is of a publication's protocol, ``found`` is what comes
out of it.
"""

from __future__ import annotations

from pathlib import Path

from pubench.field_names import InvalidRequest, in_words

from ..published import Figure, names
from ..results import Results, load_results
from ..rows import is_board, read_board
from .board import beside_board
from .published_cells import beside_published, beside_results
from .result import BOARD_HEAD, FIELDS, HEAD, ComparedCell, LeftOut, SideBySide

__all__ = [
    "BOARD_HEAD",
    "FIELDS",
    "HEAD",
    "ComparedCell",
    "Figure",
    "LeftOut",
    "SideBySide",
    "beside_board",
    "beside_published",
    "beside_results",
    "compare_with",
]


def compare_with(
    results: Results, other: str | Path | Results, *, criterion: str | None = None, measure: str | None = None
) -> SideBySide:
    """Results and those of others, cell by cell: what ``pubench study compare`` prints.

    A cell is matched if the means differ by less than two standard errors of their difference, sqrt(s1^2 / n1 +
    s2^2 / n2). A side with one run has no deviation, so its cell is not judged.

    ``other``: a publication (``"pubench2026"``, ``"wang2026"``), a folder of records, results, or a dated board
    (``"board@2026.12"``, or its folder), among whose methods those of the results are ranked. Only runs of the same
    protocol (with a publication), or of the same spec except for their seeds (with results), are compared; the rest is
    left out with the reason. ``criterion``: by default the publication's main one, or the one that names ``results``.
    ``measure``: on test rows; by default the publication's main one, or accuracy.

    Raises InvalidRequest for another publication or folder, and a criterion or measure that is not there.

    >>> import pubench
    >>> mine = pubench.compare(["upu"], data="digits", seeds=[2], config={"epochs": 1}, tracking=False)
    >>> theirs = pubench.compare(["upu"], data="digits", seeds=[25, 42], config={"epochs": 1}, tracking=False)
    >>> [cell.theirs.n for cell in compare_with(mine, theirs).cells]
    [2]
    """
    with in_words():
        if isinstance(other, Results):
            return beside_results(results, other, "other results", criterion=criterion, measure=measure)
        if is_board(str(other)):
            return beside_board(results, read_board(other), criterion=criterion, measure=measure)
        if other in names():
            return beside_published(results, str(other), criterion=criterion, measure=measure)
        if Path(other).is_dir():
            return beside_results(results, load_results(other), str(other), criterion=criterion, measure=measure)
    raise InvalidRequest(
        f"other must be a publication ({', '.join(names())}), a board (board@NAME), a folder of records or results, "
        f"got {other!r}"
    )
