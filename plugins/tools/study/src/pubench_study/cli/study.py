"""Prints a study's plan and status. Imports torch only to create a plan."""

from __future__ import annotations

import re
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from os.path import isdir, isfile
from pathlib import Path
from typing import get_args

from pubench_cli.columns import PrintedColumn, print_table
from pubench_cli.console import err, out
from pubench_cli.few_labels import LOST, is_few
from pubench_cli.machine import print_json
from pubench_cli.messages import said, say
from pubench_cli.out_file import refuse_unwritable
from pubench_core.data.dataset import data_root
from pubench_core.errors import Cause, RequestError, counted, shortened, unknown
from pubench_core.plugins.info import MethodInfo, MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.store import RecordStore
from pubench_core.results import Failure
from pubench_core.specs import ExecutionSpec

from ..cache import StudyCache, cache_of
from ..durations import duration
from ..export import FRAME, export, write_frame
from ..plan import FrozenPlan, PlannedRun, check_unchanged, read_plan, write_plan
from ..spec import CONDITIONS, same
from ..state import Digests, Expected, RunState, Status, states_of
from ..study_file import STUDIES, STUDY, StudyFolder, find_study, folder_of, is_name, protocols, read_study


@dataclass(frozen=True)
class StudyRequest:
    """Arguments of a command. ``study``: a file, a protocol, a planned study's name, a folder, or nothing."""

    study: str | None
    results: Path
    only: tuple[str, ...]
    data_root: Path | None


@dataclass(frozen=True)
class Looked:
    """A study with the states of the runs that were asked for."""

    folder: StudyFolder
    plan: FrozenPlan
    cache: StudyCache
    states: list[RunState]
    digests: Digests

    def runs(self, *statuses: Status) -> list[PlannedRun]:
        """Those in any of these states; all of them if none is named."""
        return [state.run for state in self.states if not statuses or state.status in statuses]

    @cached_property
    def expected(self) -> Expected:
        """Seconds that runs will take, by those that are recorded."""
        return Expected.of(self.states)


# -------------------------------------------------------------------- finding, freezing, looking


def planned(request: StudyRequest) -> tuple[StudyFolder, FrozenPlan]:
    """A study that has a plan. Raises RequestError if there is none."""
    results, given = request.results, request.study
    if given is not None and isdir(given) and not StudyFolder(results, given).plan.exists():
        path = Path(given)
        results, given = (path.parent.parent, path.name) if path.parent.name == STUDIES else (path, None)
    folder = folder_of(results, given)
    plan = read_plan(folder)
    assert plan is not None  # folder_of names studies that have one
    return folder, plan


def prepared(request: StudyRequest, *, replan: bool) -> tuple[StudyFolder, FrozenPlan, bool]:
    """The study of a file or protocol, its plan, and whether that was frozen just now.

    Raises RequestError for what is wrong in the file, and where it changed since its plan was frozen.
    """
    assert request.study is not None
    known = StudyFolder(request.results, request.study)
    if is_name(request.study) and request.study not in protocols() and isfile(known.plan):
        file = read_study(known.path / STUDY)
    else:
        file = find_study(request.study)
    folder = StudyFolder(request.results, file.spec.name)
    plan = read_plan(folder) if not replan else None
    if plan is not None:
        check_unchanged(plan, file, folder)
        return folder, plan, False
    from ..planning import freeze

    RecordStore(request.results).check_writable()
    plan, cache = freeze(file, registry(), data_root(ExecutionSpec(data_root=request.data_root), say), say)
    write_plan(folder, file, plan)
    cache.write(folder, say)
    return folder, plan, True


def looked(request: StudyRequest, folder: StudyFolder, plan: FrozenPlan) -> Looked:
    """Status of the requested runs."""
    cache = cache_of(plan, folder, registry(), say)
    digests = Digests(registry(), data_root(ExecutionSpec(data_root=request.data_root)))
    keep = folder if not request.only else None  # what is kept is of whole plans
    states = states_of(chosen_runs(plan, request.only), cache, RecordStore(folder.results), digests, keep)
    for text in filter(of_failed, request.only):
        causes = text.partition("=")[2].split(",") if "=" in text else get_args(Cause)
        if strange := [cause for cause in causes if cause not in get_args(Cause)]:
            raise unknown("cause", strange[0], get_args(Cause))
        states = [state for state in states if state.failure is not None and state.failure.cause in causes]
    return Looked(folder, plan, cache, states, digests)


def of_failed(text: str) -> bool:
    """Whether a text of ``--only`` means runs that failed: ``failed``, or ``failed=CAUSES``."""
    return text.partition("=")[0] == "failed"


def chosen_runs(plan: FrozenPlan, only: Sequence[str]) -> list[PlannedRun]:
    """The runs that fit every ``NAME=VALUES``; a method goes by its row's name, and by its key if no row is named so.

    Raises RequestError for a name or a value that no run has.
    """
    runs = list(plan.runs)
    for text in only:
        if of_failed(text):
            continue
        name, equals, values = text.partition("=")
        wanted = [value.strip() for value in values.split(",")]
        if not equals or name not in CONDITIONS:
            raise RequestError(
                f"--only {shortened(text)}: expected NAME=VALUES, with a name of {', '.join(CONDITIONS)}, or failed"
            )
        chosen: set[str] = set()
        for value in wanted:
            fitting = [run.run_id for run in plan.runs if same(run.facts.get(name), value)]
            if name == "method" and not fitting:
                fitting = [run.run_id for run in plan.runs if run.method == value]
            if not fitting:
                facts = dict.fromkeys(str(run.facts[name]) for run in plan.runs if run.facts.get(name) is not None)
                others = f"there are {', '.join(facts)}" if facts else f"the plan sets no {name}"
                raise RequestError(f"--only {shortened(text)}: no run has {name} {value}; {others}")
            chosen.update(fitting)
        runs = [run for run in runs if run.run_id in chosen]
    if not runs:
        raise RequestError(
            f"--only {' --only '.join(only)}: no run of {len(plan.runs)} fits all of them; NAME=A,B is for either value"
        )
    return runs


# -------------------------------------------------------------------- plan


def print_plan(request: StudyRequest, *, replan: bool, jobs: int, as_json: bool) -> None:
    """Freezes a plan if there is none, and says what is in it."""
    folder, plan, frozen = prepared(request, replan=replan)
    found = looked(request, folder, plan)
    missing, not_here = found.runs("missing"), found.digests.check(found.runs("missing"))
    seconds = found.expected.total(missing)
    oracles = {info.key for info in registry().infos(MetricInfo) if info.oracle}
    few = [  # whose criterion chooses among epochs by too few labeled positives, without true labels
        run.held_out
        for run in found.runs()
        if run.held_out is not None
        and is_few(run.held_out)
        and run.resolved["selection"]["criterion"] not in {*oracles, "last"}
        and run.resolved["method"]["config"].get("epochs", 1) > 1
    ]
    if as_json:
        print_json(
            {
                "name": plan.name,
                "runs": len(found.states),
                **counts(found),
                "few_held_out": len(few),
                "excluded": [cell.model_dump() for cell in plan.excluded],
                "not_here": not_here,
                "expected_seconds": None if seconds is None else round(seconds / jobs, 1),
                "expected_from": sum(map(found.expected.is_measured, missing)),
                "plan": str(folder.plan),
                "made_at": plan.made_at,
                "frozen_now": frozen,
            }
        )
        return
    console, runs = out(), counted(len(found.states), "run")
    console.print(f"{plan.name}: {runs}", style="bold", markup=False)
    lines = [
        _axes(found.states),
        *_preset_lines(found.states),
        status_line(found),
        f"expected: {expected_line(found, jobs)}",
    ]
    if few:
        several = f"{min(few)} to {max(few)}" if min(few) < max(few) else str(min(few))
        lines.append(
            f"warning: {len(few):,} of {runs} choose the epoch by {several} held-out labeled positives: {LOST}; "
            "settings: {validation: {folds: 5}} holds out every label in turn"
        )
    excluded = Counter(cell.reason for cell in plan.excluded)
    lines += [f"left out: {counted(count, 'combination')}: {reason}" for reason, count in excluded.items()]
    lines += [f"not here: {said(reason)}" for reason in not_here.values()]
    for line in lines:
        console.print(line, markup=False)
    console.print(f"plan: {folder.plan}{'' if frozen else f' (frozen {plan.made_at})'}", markup=False, soft_wrap=True)


def counts(found: Looked) -> dict[str, int]:
    """State -> runs in it."""
    return {
        "done": len(found.runs("done", "to measure")),
        "failed": len(found.runs("failed")),
        "missing": len(found.runs("missing")),
    }


def status_line(found: Looked) -> str:
    """How many runs are in which state, in words."""
    number = counts(found)
    text = f"{number['done']:,} done, {number['missing']:,} to run"
    if to_measure := len(found.runs("to measure")):
        text += f", {to_measure} of the done ones to measure again"
    return f"{text}, {number['failed']} failed" if number["failed"] else text


def expected_line(found: Looked, jobs: int) -> str:
    """How long the rest will take, in words."""
    missing = found.runs("missing")
    seconds, guessed = found.expected.total(missing), sum(not found.expected.is_measured(run) for run in missing)
    if seconds is None:
        return "not known before the first runs are recorded"
    if not missing:
        return "nothing is left to run"
    at_once = f"{jobs} at once" if jobs > 1 else "one after the other"
    guess = f"; a guess for {guessed} of them, from other methods or data" if guessed else ""
    return f"{duration(seconds / jobs)} for {counted(len(missing), 'run')}, {at_once}{guess}"


#: Lists of a plan, in the order in which they are printed.
_AXES = ("method", "data", "mechanism", "c", "positive_rate", "prior", "scheme", "seed")


def _axes(states: Sequence[RunState]) -> str:
    """``2 methods (nnpu, upu); data set digits; 2 seeds (2, 25)``."""
    parts = []
    for name in _AXES:
        one = "data set" if name == "data" else name.replace("_", " ")
        several = "values of c" if name == "c" else f"{one}s"
        values = list(dict.fromkeys(str(state.run.facts[name]) for state in states if name in state.run.facts))
        if values:
            shown = ", ".join(values[:6]) + (", ..." if len(values) > 6 else "")
            parts.append(f"{one} {shown}" if len(values) == 1 else f"{len(values)} {several} ({shown})")
    return "; ".join(parts)


def _preset_lines(states: Sequence[RunState]) -> list[str]:
    """Which methods have which preset, where there is one at all; a method without any has its defaults."""
    methods: dict[str, dict[str, None]] = {}
    for state in states:
        preset = state.run.facts.get("preset")
        methods.setdefault(f"preset {preset}" if preset else "", {})[str(state.run.facts["method"])] = None
    if len(methods) == 1:
        return [name for name in methods if name]
    return [f"{name or 'no preset, defaults'}: {', '.join(found)}" for name, found in methods.items()]


# -------------------------------------------------------------------- status and failures


def print_status(request: StudyRequest, *, as_json: bool) -> None:
    """Prints the status by method and data set, then the failures, and brings the frame of the records up to date."""
    folder, plan = planned(request)
    found = looked(request, folder, plan)
    frame = folder.results / FRAME
    work = RecordStore(folder.results).at_work()
    if as_json:
        facts = {"cause", "reason", "epoch", "failed_at"}
        runs = [
            {"run_id": s.run.run_id, "row": s.run.row, **s.run.facts, "status": s.status, "why": s.why}
            | ({"in_work_by": work[s.run.run_id][0]} if s.run.run_id in work else {})
            | ({"failure": s.failure.model_dump(include=facts)} if s.failure else {})
            for s in found.states
        ]
        print_json({"name": plan.name, **counts(found), "runs": runs, "frame": str(frame)})
        write_frame(frame)
        return
    console = out()
    console.print(
        f"{plan.name}: {status_line(found)} of {counted(len(found.states), 'run')}", style="bold", markup=False
    )
    data = list(dict.fromkeys(state.run.data for state in found.states))
    columns = [PrintedColumn("done / planned"), *(PrintedColumn(key, right=True) for key in data)]
    rows = [
        [row, *(_cell(found.states, row, key) for key in data)]
        for row in dict.fromkeys(state.run.row for state in found.states)
    ]
    print_table(console, columns, rows, surplus="below")
    if failures := _failures(found):
        console.print()
        heads = {"failed run": True, "cause": False, "reason": True, "where": False, "record": False}
        ranks = {"where": 2, "record": 1}
        print_table(console, [PrintedColumn(h, wraps=w, rank=ranks.get(h, 0)) for h, w in heads.items()], failures)
        console.print(
            "--only failed of 'pubench study run' tries them again, --only failed=CAUSE those of a cause", markup=False
        )
    for reason, count in Counter(
        state.why for state in found.states if state.status == "missing" and state.why
    ).items():
        console.print(f"to run again: {counted(count, 'run')}: {said(reason)}", markup=False)
    if absent := [said(reason) for reason in found.digests.absent.values()]:
        console.print(f"not here to compare: {counted(len(absent), 'data set')}: {absent[0]}", markup=False)
    for line in (*_at_work(found, work), *write_frame(frame)):
        console.print(said(line), markup=False)
    console.print(f"frame: {frame}", markup=False, soft_wrap=True)


def _at_work(found: Looked, work: Mapping[str, tuple[str, float]]) -> list[str]:
    """Who carries out which run since when, and how long the rest will take with as many at once; the folder's size."""
    mine = [(state.run, *work[state.run.run_id]) for state in found.states if state.run.run_id in work]
    lines = [f"in work: {run}: {whose}, for {duration(time.time() - since)}" for run, whose, since in mine]
    if mine and found.runs("missing"):
        lines.append(f"left: {expected_line(found, len(mine))}")
    return [*lines, f"size: {megabytes(found.folder.results):,.1f} MB in {found.folder.results}"]


def megabytes(*folders: Path) -> float:
    """Size of everything in folders, in 10^6 bytes."""
    return sum(path.stat().st_size for folder in folders for path in folder.rglob("*") if path.is_file()) / 1e6


def _cell(states: Sequence[RunState], row: str, data: str) -> str:
    mine = [state for state in states if state.run.row == row and state.run.data == data]
    if not mine:
        return "-"
    done = sum(state.status in ("done", "to measure") for state in mine)
    failed = sum(state.status == "failed" for state in mine)
    return f"{done} / {len(mine)}" + (f", {failed} failed" if failed else "")


def _failures(found: Looked) -> list[list[str]]:
    """Rows of the table of failures: those of the same row, cause, place and words, whatever the numbers, are one."""
    alike: dict[tuple[str, ...], list[list[str]]] = {}
    no_numbers = dict.fromkeys(map(ord, "0123456789."))
    for run, failure in ((s.run, s.failure) for s in found.states if s.failure is not None):
        where = _raised_at(run, failure)
        row = [str(run), failure.cause, said(failure.reason), where, f"failed/{run.run_id}-*"]
        alike.setdefault((run.row, failure.cause, where, failure.reason.translate(no_numbers)), []).append(row)
    return [[f"{name}{f' and {len(rest)} more' if rest else ''}", *row] for (name, *row), *rest in alike.values()]


def _raised_at(run: PlannedRun, failure: Failure) -> str:
    """Innermost line of the method's package in a traceback; empty if there is none."""
    package = next((info.package for info in registry().infos(MethodInfo) if info.key == run.method), "-")
    lines = re.findall(rf'File "[^"]*?({package}(?:/[^"]+|\.py))", line (\d+)', failure.traceback)
    return ":".join(lines[-1]) if lines else ""


# -------------------------------------------------------------------- export


def export_study(request: StudyRequest, target: Path | None, *, with_scores: bool, as_json: bool) -> None:
    """Writes the archive of a study."""
    if target is not None:
        refuse_unwritable(target, device=False)
    folder, plan = planned(request)
    found = looked(request, folder, plan)
    path = target or Path(f"{plan.name}.zip")
    store = RecordStore(folder.results)
    records = [record for run in found.runs("done", "to measure") if (record := store.find(run.run_id)) is not None]
    for state in found.states:
        if state.unreadable:
            err().print(f"left out: {state.why}", markup=False, soft_wrap=True)
    files, sha256 = export(folder, plan, records, path, with_scores=with_scores)
    if as_json:
        print_json({"archive": str(path), "records": len(records), "files": files, "sha256": sha256})
        return
    left = f"; {len(plan.runs) - len(records)} runs have none" if len(records) < len(plan.runs) else ""
    out().print(f"{path}: {counted(len(records), 'record')}, {files} files{left}", markup=False)
    out().print(f"sha256 {sha256}; inside, sha256sum -c SHA256SUMS checks every file", markup=False)
