"""``pubench remove``: runs that are not needed any more, shown first and deleted with ``--yes``."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_core.errors import RequestError, counted
from pubench_core.records.files import RESULT
from pubench_core.records.store import RecordStore

from .study import StudyRequest, looked, megabytes, planned


def remove(results: Path, folders: Iterable[Path], *, yes: bool, as_json: bool) -> None:
    """Prints folders of runs and their size; deletes them with ``yes``, but what is in work."""
    folders = list(folders)
    size = megabytes(*folders)
    store = RecordStore(results)
    kept = [folder for folder in folders if not store.remove(folder)] if yes else []
    if as_json:
        names = [folder.relative_to(results).as_posix() for folder in folders]
        print_json({"folders": names, "megabytes": round(size, 1), "removed": len(folders) - len(kept) if yes else 0})
        return
    for folder in folders if not yes else kept:
        out().print(f"{folder.relative_to(results)}{': in work, kept' if yes else ''}", markup=False, soft_wrap=True)
    done = "removed" if yes else "would go; --yes removes them"
    out().print(f"{counted(len(folders) - len(kept), 'folder')}, {size:,.1f} MB: {done}", markup=False)
    if yes:
        out().print(f"{megabytes(results):,.1f} MB left in {results}", markup=False, soft_wrap=True)


def unneeded(
    results: Path,
    runs: tuple[str, ...],
    kinds: list[str],
    study: str | None,
    older: float | None,
    *,
    stale: bool,
) -> Iterator[Path]:
    """Folders of runs, by run ids or their beginnings, and all of some ``kinds`` (superseded, failed).

    Of those and of records: of a study, ``older`` than so many seconds, ``stale``: records of a study that
    other code made than is installed. Raises RequestError if nothing is named.
    """
    if not (runs or kinds or study) and older is None:
        raise RequestError("nothing is named; give RUN, --superseded, --failed, --study or --older")
    if stale and not study:
        raise RequestError("--stale compares with the code of a study; name it with --study")
    ids: set[str] | None = None
    if study:
        request = StudyRequest(study, results, (), None)
        states = looked(request, *planned(request)).states
        ids = {state.run.run_id for state in states if not stale or state.status == "missing"}
    places = [results / kind for kind in kinds] or [results]
    there = [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.is_dir()]
    found = [path for path in there if kinds or (path / RESULT).exists()]
    for given in runs:
        if not any(path.name.startswith(given) for path in found):
            raise RequestError(f"no run of {results} begins with {given}")
    for path in found:
        old = older is None or time.time() - path.stat().st_mtime >= older
        if old and path.name.startswith(runs or "") and (ids is None or path.name.partition("-")[0] in ids):
            yield path
