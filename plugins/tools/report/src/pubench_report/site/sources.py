"""Sources of a site: folders of records, their studies, and files of rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from os.path import isdir, isfile
from pathlib import Path
from typing import Literal

from pubench_study.study_file import studies_in

from pubench.field_names import PubenchWarning
from pubench.running import RunResult
from pubench_core.errors import RequestError, shortened, unknown

from ..draws import DRAWS, NamedRun, best_of_draws, left_out
from ..grouping import MISSING, FailedRun
from ..report.gather import gather, why_misnamed
from ..report.gathered import collection_off
from ..results import load_results
from ..rows.files import FACTS, has_rows
from ..rows.runs import ROUNDED, read_runs
from ..suspicion import lines_on

Run = RunResult | FailedRun


@dataclass(frozen=True)
class SiteSource:
    """``path``: a folder of records, a file of rows or the folder of a dated board; ``studies``: of its runs; ``runs``:
    finished ones.
    """

    path: Path
    studies: tuple[str, ...]
    runs: int
    kind: Literal["records", "rows", "board"]

    @property
    def rows(self) -> bool:
        """Whether it has rows instead of records."""
        return self.kind != "records"


@dataclass
class Collected:
    """``runs``: by run id; one that is finished anywhere is not missing. ``studies``: run id -> names, in order.

    ``chosen``: ids of runs whose hyper-parameters a study chose among draws; ``draws``: finished runs that no table
    shows, because another draw was chosen.
    """

    sources: list[SiteSource] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    chosen: set[str] = field(default_factory=set)
    draws: dict[str, RunResult] = field(default_factory=dict)
    studies: dict[str, dict[str, None]] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)

    @property
    def done(self) -> list[RunResult]:
        """Finished runs, in order."""
        return [run for run in self.runs.values() if isinstance(run, RunResult)]

    @property
    def published(self) -> list[RunResult]:
        """Finished runs whose records are published: those of the tables, and what these were chosen from."""
        return [*self.done, *(run for run_id, run in self.draws.items() if run_id not in self.runs)]

    def add(self, run: Run, study: str = "") -> None:
        """A run, which may be there already. A draw that was not chosen comes into no table without a study."""
        if not study and run.run_id in self.draws:
            return
        there = self.runs.get(run.run_id)
        if there is None or (isinstance(there, FailedRun) and _rank(run) > _rank(there)):
            self.runs[run.run_id] = run
        elif isinstance(there, RunResult) and isinstance(run, RunResult):
            one, other = there.test, run.test  # measures of rows are rounded
            pairs = [(one[name], other[name]) for name in one.keys() & other.keys()]
            if any(a != b and (a is None or b is None or abs(a - b) > ROUNDED) for a, b in pairs):
                places = f"{there.folder.name} and {run.folder.name}"
                self.notes.append(f"run {run.run_id} is in {places} with other measures; the first is shown")
        if study:
            self.studies.setdefault(run.run_id, {})[study] = None


@collection_off()
def collect(given: Sequence[Path], study: str | None = None, criterion: str | None = None) -> Collected:
    """The runs of all sources. ``study``: only those of one. ``criterion``: what chooses among hyper-parameter draws;
    None means the one that names a study's results.

    Raises RequestError (InvalidRequest) for a source that is not there or holds no finished run.
    """
    found = Collected()
    for path in given:
        before = len(found.done)
        kind: Literal["records", "rows", "board"] = "records"
        if isdir(path) and not isfile(path / FACTS):
            studies = _records(found, path, study, criterion)
        elif isdir(path) or isfile(path):
            kind = "board" if isdir(path) else "rows"
            studies = _rows(found, path, study, criterion)
        else:
            raise RequestError(
                f"{shortened(str(path))} does not exist; expected a folder of records, a file of rows (.csv) or a "
                "dated board"
            )
        found.sources.append(SiteSource(path, studies, len(found.done) - before, kind))
    found.notes = list(dict.fromkeys([*found.notes, *lines_on(run.result for run in found.done)]))
    if not found.done:
        places = ", ".join(shortened(str(path)) for path in given)
        raise RequestError(f"found no finished run to publish in {places}{files_of_rows(given)}")
    return found


def files_of_rows(given: Sequence[Path]) -> str:
    """Notes on folders that hold files of rows."""
    found = [file for path in given if isdir(path) for file in sorted(path.glob("*.csv")) if has_rows(file)]
    more = f" and {len(found) - 1} more" if len(found) > 1 else ""
    return f"; files of rows must be named themselves: {shortened(str(found[0]))}{more}" if found else ""


def _records(found: Collected, folder: Path, study: str | None, criterion: str | None) -> tuple[str, ...]:
    names = [one.name for one in studies_in(folder)]
    if study is not None and study not in names:
        raise unknown("study", study, names)
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        for name in names if study is None else [study]:
            try:
                gathered = gather(None, folder, name, criterion)
            except RequestError as error:
                found.notes.append(f"{folder.resolve().name}: {error}")
                continue
            if gathered.drawn:
                _add_draws(found, gathered.runs, gathered.unchosen, name)
            found.notes += [note for note in gathered.notes if note.startswith(DRAWS)]
            _add_all(found, [run for _, run in gathered.runs], name)
        if study is None:
            loaded = load_results(folder)
            _add_all(found, [*loaded, *loaded.failures], "")
    found.notes += dict.fromkeys(str(one.message) for one in heard if issubclass(one.category, PubenchWarning))
    return tuple(names if study is None else [study])


def _add_all(found: Collected, runs: Sequence[Run], study: str) -> None:
    for run in runs:
        if isinstance(run, RunResult) and (why := why_misnamed(run)):
            found.notes.append(why)
        else:
            found.add(run, study)


def _add_draws(found: Collected, chosen: Iterable[NamedRun], unchosen: Iterable[RunResult], study: str) -> None:
    found.chosen |= {run.run_id for _, run in chosen}
    for run in unchosen:
        found.draws[run.run_id] = run
        if not found.studies.get(run.run_id):  # an earlier folder holds its record and not the study
            found.runs.pop(run.run_id, None)
        found.studies.setdefault(run.run_id, {})[study] = None


def _rows(found: Collected, path: Path, study: str | None, criterion: str | None) -> tuple[str, ...]:
    read = read_runs(path)
    found.notes += read.notes
    names = read.names
    if study is not None and study not in names:
        raise unknown("study", study, names)
    for name in (*names, "") if study is None else [study]:  # runs of no study come last
        mine = [run for run in read.runs if name in (read.studies.get(run.run_id) or {""})]
        if name and any(run.run_id in read.draws for run in mine):
            named: list[NamedRun] = [(run.result.spec.method.key, run) for run in mine]
            chosen, note = best_of_draws(named, criterion or mine[0].result.selected)
            _add_draws(found, chosen, left_out(named, chosen), name)
            found.notes += [note] if note else []
            mine = [run for _, run in chosen if isinstance(run, RunResult)]
        for run in mine:
            found.add(run, name)
    return tuple(names if study is None else [study])


def _rank(run: Run) -> int:
    """Finished before failed, failed before missing."""
    return 2 if isinstance(run, RunResult) else int(run.cause != MISSING)
