"""Our results beside those of others: a published table, or other records. Only what was run alike is compared.

``cells`` makes the comparison, ``protocol`` says whether a run is of a publication's protocol, ``found`` is what comes
out of it.
"""

from __future__ import annotations

from .cells import beside_published, beside_results
from .found import HEAD, ComparedCell, Figure, LeftOut, SideBySide

__all__ = ["HEAD", "ComparedCell", "Figure", "LeftOut", "SideBySide", "beside_published", "beside_results"]
