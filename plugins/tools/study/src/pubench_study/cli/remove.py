"""``pubench remove``: runs that are not needed any more, shown first and deleted with ``--yes``."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from pubench_cli.console import out
from pubench_cli.machine import print_json
from pubench_core.errors import RequestError, counted
from pubench_core.records.files import FAILED, RESULT
from pubench_core.records.record import read_record
from pubench_core.records.store import RecordStore

from .study import StudyRequest, looked, megabytes, planned


@dataclass(frozen=True)
class Unneeded:
    """Choice of what to remove. ``runs``: run ids or their beginnings; ``superseded``, ``failed``: all of that kind.

    Of those and of records: of a study, of a method, ``older`` than so many seconds, ``stale``: records of a study that
    other code made than is installed.
    """

    runs: tuple[str, ...]
    superseded: bool
    failed: bool
    study: str | None
    method: str | None
    older: float | None
    stale: bool


def remove(results: Path, wanted: Unneeded, *, yes: bool, as_json: bool) -> None:
    """Prints what is unneeded; deletes it with ``yes``, but what is in work. RequestError if nothing is named."""
    folders = list(_folders(results, wanted))
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


def _folders(results: Path, wanted: Unneeded) -> Iterator[Path]:
    if (
        not (wanted.runs or wanted.superseded or wanted.failed or wanted.study or wanted.method)
        and wanted.older is None
    ):
        raise RequestError("nothing is named; give RUN, --superseded, --failed, --study, --method or --older")
    if wanted.stale and not wanted.study:
        raise RequestError("--stale compares with the code of a study; name it with --study")
    ids: set[str] | None = None
    if wanted.study:
        request = StudyRequest(wanted.study, results, (), None)
        states = looked(request, *planned(request)).states
        ids = {state.run.run_id for state in states if not wanted.stale or state.status == "missing"}
    kinds = [name for name, asked in (("superseded", wanted.superseded), (FAILED, wanted.failed)) if asked]
    places = [results / kind for kind in kinds] or [results]
    there = [path for place in places if place.is_dir() for path in sorted(place.iterdir()) if path.is_dir()]
    found = [path for path in there if kinds or (path / RESULT).exists()]
    for given in wanted.runs:
        if not any(path.name.startswith(given) for path in found):
            raise RequestError(f"no run of {results} begins with {given}")
    for path in found:
        run_id = path.name.partition("-")[0]
        if wanted.runs and not path.name.startswith(wanted.runs):
            continue
        if ids is not None and run_id not in ids:
            continue
        if wanted.older is not None and time.time() - path.stat().st_mtime < wanted.older:
            continue
        if wanted.method is not None and (kinds or read_record(path).result.spec.method.key != wanted.method):
            continue
        yield path
