"""Request of a site, and its sources: folders of records, their studies, and files of rows."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from os.path import isdir
from pathlib import Path
from typing import Literal

from pubench.running import RunResult
from pubench_core.errors import RequestError, counted, shortened, unknown

from ..grouping import MISSING, FailedRun, identity_of, spec_of
from ..report.gather import DRAWS, Gathered, StoredRuns, collection_off
from ..rows.files import has_rows
from ..rows.record import revision_of
from ..rows.runs import ROUNDED
from ..suspicion import lines_on

Run = RunResult | FailedRun


@dataclass(frozen=True)
class SiteRequest:
    """Content and place of a site; :func:`pubench.site` explains each field."""

    sources: Sequence[Path]
    out: Path
    study: str | None = None
    measure: str | None = None
    criterion: str | None = None
    with_scores: bool = False
    title: str = "Leaderboard"
    home: str = ""
    docs: str = ""


@dataclass(frozen=True)
class SiteSource:
    """One source, and what it added."""

    path: Path
    """folder of records, file of rows, or folder of a dated board"""
    studies: tuple[str, ...]
    runs: int
    """finished ones that no source before has"""
    kind: Literal["records", "rows", "board"]


@dataclass
class Collected:
    """Runs of all sources."""

    sources: list[SiteSource] = field(default_factory=list)
    runs: dict[str, Run] = field(default_factory=dict)
    """spec -> run: a finished one if there is any, of the newest engine, of the first source"""
    chosen: set[str] = field(default_factory=set)
    """ids of runs whose hyper-parameters a study chose among draws"""
    draws: dict[str, RunResult] = field(default_factory=dict)
    """finished runs that no table shows, because another draw was chosen"""
    planned: set[str] = field(default_factory=set)
    """ids of runs that a study names"""
    notes: list[str] = field(default_factory=list)
    differing: dict[str, dict[str, None]] = field(default_factory=dict)
    """two sources, in words -> ids of runs that have other measures in the second"""
    older: dict[tuple[Path, str], None] = field(default_factory=dict)
    """finished runs of older engines, left out for newer ones"""

    @property
    def done(self) -> list[RunResult]:
        """Finished runs, in order."""
        return [run for run in self.runs.values() if isinstance(run, RunResult)]

    @property
    def published(self) -> list[RunResult]:
        """Finished runs whose records are published: those of the tables, and what these were chosen from."""
        shown = {run.run_id for run in self.done}
        return [*self.done, *(run for run_id, run in self.draws.items() if run_id not in shown)]

    def add(self, mine: Gathered, study: str) -> None:
        """Runs of a study, or all of a source, which may be there already. Of draws, a table shows the chosen ones."""
        if mine.drawn:
            self.chosen |= {run.run_id for _, run in mine.runs}
        for run in mine.unchosen:
            self.draws[run.run_id] = run
            if run.run_id not in self.planned:  # an earlier folder holds its record and not the study
                self.runs.pop(_spec(run), None)
            self.planned.add(run.run_id)
        for _, new in mine.runs:
            if study:
                self.planned.add(new.run_id)
            elif new.run_id in self.draws:
                continue
            there = self.runs.setdefault(_spec(new), new)
            newer = _rank(new) > _rank(there)
            if newer:
                self.runs[_spec(new)] = new
            if there is new or not isinstance(there, RunResult) or not isinstance(new, RunResult):
                continue
            if _rank(new) != _rank(there):
                left = there if newer else new
                self.older[left.folder, left.run_id] = None
            elif there.run_id == new.run_id:
                one, other = there.test, new.test  # measures of rows are rounded
                pairs = [(one[name], other[name]) for name in one.keys() & other.keys()]
                if any(a != b and (a is None or b is None or abs(a - b) > ROUNDED) for a, b in pairs):
                    places = f"{there.folder.name} and {new.folder.name}"
                    self.differing.setdefault(places, {})[new.run_id] = None


@collection_off()
def collect(request: SiteRequest) -> Collected:
    """The runs of all sources. The criterion chooses among hyper-parameter draws; by default the one that names a
    study's results.

    Raises RequestError (InvalidRequest) for a source that is not there or holds no finished run.
    """
    found, given = Collected(), tuple(dict.fromkeys(request.sources))
    for path in given:
        if not path.exists():
            raise RequestError(
                f"{shortened(str(path))} does not exist; expected a folder of records, a file of rows (.csv) or a "
                "dated board"
            )
        source, before = StoredRuns(path), len(found.done)
        if request.study not in (None, *source.studies):
            raise unknown("study", str(request.study), source.studies)
        studies = source.studies if request.study is None else [request.study]
        for study in (*studies, *([""] if request.study is None else [])):
            try:
                mine = source.chosen(study, request.criterion) if study else source.stored()
            except RequestError as error:
                if not study:
                    raise
                found.notes.append(f"{path.resolve().name}: {error}")
                continue
            of_draws = study and source.kind == "records"
            found.notes += [note for note in mine.notes if not of_draws or note.startswith(DRAWS)]
            found.add(mine, study)
        found.sources.append(SiteSource(path, tuple(studies), len(found.done) - before, source.kind))
    said = "{} with other measures in {}, such as {}; the first is shown"
    found.notes += [said.format(counted(len(ids), "run"), where, *ids) for where, ids in found.differing.items()]
    found.notes += [f"{counted(len(found.older), 'run')} of older code, left out for newer ones"] * bool(found.older)
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


def _spec(run: Run) -> str:
    """Equal for runs that the installed version reads as one specification, whatever their ids."""
    return f"{identity_of(spec_of(run))} {spec_of(run).method.preset}"


def _rank(run: Run) -> tuple[int, int]:
    """Finished before failed, failed before missing; of finished ones, those of newer engines."""
    if isinstance(run, FailedRun):
        return int(run.cause != MISSING), 0
    revision = revision_of(run.result)
    return 2, int(revision) if revision.isdigit() else 0
