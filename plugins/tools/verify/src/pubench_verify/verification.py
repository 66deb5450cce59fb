"""``pubench.verify``: a record, a folder of them, a submission or a board, checked; some runs carried out again."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable, Collection
from dataclasses import replace
from itertools import islice
from os.path import isfile
from pathlib import Path

from pubench_report.comparison import beside_board
from pubench_report.results import load_results
from pubench_report.rows import Board, read_board
from pubench_report.rows.files import FACTS
from pubench_report.suspicion import ScoredRun, too_good
from pubench_study.plan import shown_row

from pubench.field_names import InvalidRequest, in_words, said
from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import data_root as default_root
from pubench_core.errors import RecordError, RequestError, shortened
from pubench_core.records.record import read_record
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

from .archive import unpack
from .boards import check
from .files import compared_sums, names_in_plans, records_in
from .findings import Again, RecordProblem, Verification
from .record import RecordChecker
from .rerun import SIGNIFICANT, Reruns, drawn, one_sided
from .submission import resembling

#: Measures of a run carried out again may differ by this much on another machine or with other versions.
TOLERANCE = 0.02


@in_words()
def verify(
    path: str | Path,
    *,
    rerun: int = 1,
    blind: int = 0,
    tolerance: float = TOLERANCE,
    board: str | Path | None = None,
    data_root: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Checks a record, every record of a folder, a submission (``NAME.tar.gz``) or a dated board, and carries some of
    the runs out again. What is checked stays as it is.

    Every field of a record that its spec, the installed code, the data or its scores give must be what they give. Its
    files must be whole, its own, and those that ``SHA256SUMS`` lists, if that is there. Times, memory and what else
    only the author knows are not checked: the page *What verify proves* lists them.

    ``rerun``: how many runs are carried out again, each in a process of its own, chosen at random (by ``seed``, if one
    is given) among those without a problem, one of each method first. Their scores must be the same bits and every
    other field that can be repeated the same; or, if processor, versions or threads are others, no measure by either
    decision may differ by more than ``tolerance``, nor may records be better than their reruns more often than chance
    explains.

    ``blind``: how many runs are trained in a process of their own with other hidden labels and in another order of the
    file; one that sees true labels in the memory of the process gives other scores. Nor may it open files that show
    labels.

    Of a submission, runs on user tables and runs whose data are not here are problems, and at least one run of each
    method is carried out again, unless ``rerun`` is 0. Runs whose test scores are those of another method, or nearly,
    in it or on ``board``, are named for a person to judge; identical ones are carried out again. ``board``: ranks its
    methods among those of a board.

    ``data_root``: folder of data files, by default ``PUBENCH_DATA``, else that in the
    user's cache, never one that a record names. ``progress``: called with a line about each thing worth saying.

    A run whose data are not here is no problem: it is in ``unchecked``, with what is missing.

    Raises InvalidRequest (a ValueError) for a folder without records, or numbers out of bounds.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-verify")
    >>> found = verify("to-verify")
    >>> found.ok, found.records, found.again[0].identical
    (True, 1, True)
    """
    place = Path(path)
    if min(rerun, blind) < 0 or not 0 <= tolerance <= 1:
        raise InvalidRequest(
            "rerun and blind must be numbers of 0 or more and tolerance in [0, 1], "
            f"got {rerun}, {blind} and {tolerance:g}"
        )
    if board is not None and not isfile(place):
        raise InvalidRequest(f"{shortened(str(place))} is no submission (.tar.gz), which alone is ranked on a board")
    if isfile(place / FACTS):
        return check(place)
    root = default_root(ExecutionSpec(data_root=None if data_root is None else Path(data_root))).path
    draws = random.SystemRandom() if seed is None else random.Random(seed)  # nobody can foresee the first
    say = (lambda text: None) if progress is None else (lambda text: progress(said(text)))
    reruns = Reruns(root, tolerance, draws, say)
    if not isfile(place):
        return _of_records(place, reruns, rerun, blind)
    return _of_submission(place, None if board is None else read_board(board), reruns, rerun, blind)


def _of_submission(archive: Path, board: Board | None, reruns: Reruns, rerun: int, blind: int) -> Verification:
    """Checks of an archive, which may be anything."""
    try:
        sha256 = sha256_of(archive)
    except OSError as error:
        raise InvalidRequest(f"{shortened(str(archive))} cannot be read ({error.strerror})") from error
    with tempfile.TemporaryDirectory(prefix="pubench-submission-") as scratch:
        try:
            folder = unpack(archive, Path(scratch))
            resembles = resembling(RecordStore(folder).all().readable, board)
            identical = [one for one, in_every_state in resembles.items() if in_every_state]
            found = _of_records(folder, reruns, rerun, blind, submitted=True, also={one.of for one in identical})
        except (RecordError, RequestError) as error:
            problem = RecordProblem(archive.name, str(error))
            found, resembles, identical = Verification(archive, problems=(problem,)), {}, []
        problems = [replace(one, what=one.what.replace(f"{scratch}/", "")) for one in found.problems]
        absent = found.unchecked.items()
        problems += [RecordProblem(run, f"it cannot be checked as a whole: {why}") for run, why in absent]
        if not rerun:  # nothing says that they are its own
            problems += identical
        standing = None if board is None or problems else beside_board(load_results(folder), board)
    found = replace(found, folder=archive, problems=tuple(problems), sha256=sha256)
    return replace(found, resembles=tuple(resembles), standing=standing)


def _of_records(
    place: Path, reruns: Reruns, rerun: int, blind: int, *, submitted: bool = False, also: Collection[str] = ()
) -> Verification:
    """Checks of a record, or of all in a folder. ``submitted``: it is an unpacked submission.

    ``also``: records that are carried out again whatever is drawn.
    """
    folders, problems = records_in(place)
    sums, apart = compared_sums(place)
    names, unread = names_in_plans(place)
    problems = [*problems, *apart, *unread]
    look = RecordChecker(reruns.root, sums, reruns.say, submitted=submitted)
    methods, tested = dict[Path, tuple[str, str]](), list[ScoredRun | None]()
    for path in folders:  # one after the other: a record is not kept
        try:
            record = read_record(path)
        except (RecordError, FileNotFoundError) as error:
            problems.append(RecordProblem(path.resolve().name, str(error)))
            continue
        run_id, spec, wrong = record.result.run_id, record.result.spec, look.at(record)
        for study, row in names[run_id].items() if run_id in names else ():
            if (shown := shown_row(row, spec)) != row:
                wrong.append(RecordProblem(run_id, f"in the plan of study {study} it is {shown}"))
        problems += wrong
        methods[path] = run_id, spec.method.key
        tested.append(None if wrong else ScoredRun.of(record.result))
    bad = {problem.of for problem in problems}
    sound = {path: method for path, (run_id, method) in methods.items() if run_id not in bad | look.missing.keys()}
    times, order = rerun, drawn(list(sound), reruns.draws, sound.__getitem__)
    if submitted and rerun:
        times = 0 if problems or look.missing else max(rerun, len({*sound.values()}))
    order = [path for k, path in enumerate(order) if k < times or (times and path.name in also)]
    again = [reruns.of(reruns.again, path) for path in order]
    order = drawn(list(sound), reruns.draws, sound.__getitem__)
    disguised = (reruns.of(reruns.blind, path) for path in order)
    blinded = list(islice((one for one in disguised if one is not None), blind))
    problems += [one for one in (*again, *blinded) if isinstance(one, RecordProblem)]
    repeated = [one for one in again if isinstance(one, Again)]
    notes = [*look.notes, *(f"{run.run_id}: {why}" for run, why in too_good(filter(None, tested)))]
    if (sided := one_sided(repeated)) is not None:
        words, chance = sided
        notes.append(words)
        if chance < SIGNIFICANT:
            problems.append(RecordProblem(place.name, f"{words}: that is no rounding"))
    if rerun and not sound:
        why = "data are not here" if look.missing.keys() - bad else "every record has a problem already"
        notes.append(f"no run is carried out again: {why}")
    return Verification(
        place,
        records=len(methods),
        without_scores=len(methods) - look.derived,
        checksums=0 if sums is None else len(sums),
        problems=tuple(problems),
        notes=tuple(notes),
        again=tuple(repeated),
        unchecked=look.missing,
        blind=tuple(one for one in blinded if isinstance(one, Again)),
    )
