"""``pubench.verify``: a record, a folder of them, a submission or a board, checked; some runs carried out again."""

from __future__ import annotations

import random
import tempfile
from collections.abc import Callable
from dataclasses import replace
from os.path import isfile
from pathlib import Path

from pubench_report.comparison import beside_board
from pubench_report.results import load_results
from pubench_report.rows.files import FACTS, read_board
from pubench_report.suspicion import ScoredRun, too_good
from pubench_study.plan import shown_row

from pubench.field_names import InvalidRequest, in_words, said
from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import data_root as default_root
from pubench_core.errors import RecordError, RequestError, shortened
from pubench_core.records.files import RESULT
from pubench_core.records.record import read_record
from pubench_core.specs import ExecutionSpec

from .boards import check
from .files import compared_sums, names_in_plans, records_in
from .findings import Again, RecordProblem, Say, Verification
from .record import RecordChecker
from .reproduction import SIGNIFICANT, Reruns, drawn, one_sided
from .submission import unpack


@in_words()
def verify(
    path: str | Path,
    *,
    rerun: int = 1,
    blind: bool = False,
    board: str | Path | None = None,
    data_root: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Checks a record, every record of a folder, a submission (``NAME.zip``) or a dated board, and carries some of
    the runs out again. What is checked stays as it is.

    Every field of a record that its spec, the installed code, the data or its scores give must be what they give, and
    its files must be whole, its own, and those of ``SHA256SUMS``, if that is there. The page *What verify proves* lists
    what is not checked, such as times and memory.

    ``rerun``: how many runs without a problem are carried out again, drawn at random (by ``seed``), one of each method
    first. Scores and all that can be repeated must be the same; if processor, versions or threads are others, no
    measure may differ by more than 0.02, nor records be better than reruns more often than chance explains.

    ``blind``: each of these runs is trained once more, with other hidden labels and in another order of the file; one
    that sees true labels in the memory of its process gives other scores. Nor may it open files that show labels.

    Of a submission, runs on user tables and runs whose data are not here are problems, and at least one run of each
    method is carried out again, unless ``rerun`` is 0. ``board``: ranks its methods among those of a board.

    ``data_root``: folder of data files, by default ``PUBENCH_DATA``, else that in the user's cache, never one that a
    record names. ``progress``: called with a line about each thing worth saying.

    A run whose data are not here is no problem: it is in ``unchecked``, with what is missing.

    Raises InvalidRequest (a ValueError) for a folder without records, or numbers out of bounds.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-verify")
    >>> found = verify("to-verify")
    >>> found.ok, found.records, found.again[0].identical
    (True, 1, True)
    """
    place = Path(path)
    if rerun < blind:
        raise InvalidRequest(f"rerun must be {int(blind)} or more{' with blind' * blind}, got {rerun}")
    if board is not None and not isfile(place):
        raise InvalidRequest(f"{shortened(str(place))} is no submission (.zip), which alone is ranked on a board")
    if isfile(place / FACTS):
        return check(place)
    root = default_root(ExecutionSpec(data_root=None if data_root is None else Path(data_root))).path
    draws = random.SystemRandom() if seed is None else random.Random(seed)  # nobody can foresee the first
    say: Say = (lambda text: None) if progress is None else (lambda text: progress(said(text)))
    reruns = Reruns(root, draws, say, blind)
    if not isfile(place):
        return _of_records(place, reruns, rerun)
    ranked, standing = None if board is None else read_board(board), None
    try:
        sha256 = sha256_of(place)
    except OSError as error:
        raise InvalidRequest(f"{shortened(str(place))} cannot be read ({error.strerror})") from error
    with tempfile.TemporaryDirectory(prefix="pubench-submission-") as scratch:
        try:
            folder = unpack(place, Path(scratch))
            found = _of_records(folder, reruns, rerun, submitted=True)
        except (RecordError, RequestError) as error:
            found = Verification(place, problems=(RecordProblem(place.name, str(error)),))
        problems = tuple(replace(one, what=one.what.replace(f"{scratch}/", "")) for one in found.problems)
        if ranked is not None and not problems:
            standing = beside_board(load_results(folder), ranked)
    return replace(found, folder=place, problems=problems, sha256=sha256, standing=standing)


def _of_records(place: Path, reruns: Reruns, rerun: int, *, submitted: bool = False) -> Verification:
    """Checks of a record, or of all in a folder. ``submitted``: it is an unpacked submission."""
    folders = records_in(place)
    sums, apart = compared_sums(place)
    names, unread = names_in_plans(place)
    problems = [*apart, *unread]
    look = RecordChecker(reruns.root, sums, reruns.say, submitted=submitted)
    methods, tested = dict[Path, tuple[str, str]](), list[ScoredRun | None]()
    for path in folders:  # one after the other: a record is not kept
        try:
            record = read_record(path)
        except (RecordError, FileNotFoundError) as error:
            what = str(error) if isfile(path / RESULT) else f"{RESULT} is missing"
            problems.append(RecordProblem(path.resolve().name, what))
            continue
        run_id, spec, wrong = record.result.run_id, record.result.spec, look.at(record)
        for study, row in names.get(run_id, {}).items():
            if (shown := shown_row(row, spec)) != row:
                wrong.append(RecordProblem(run_id, f"in the plan of study {study} it is {shown}"))
        problems += wrong
        methods[path] = run_id, spec.method.key
        tested.append(None if wrong else ScoredRun.of(record.result))
    bad = {problem.of for problem in problems}
    sound = {path: method for path, (run_id, method) in methods.items() if run_id not in bad | look.missing.keys()}
    times = rerun
    if submitted and rerun:
        times = 0 if problems or look.missing else max(rerun, len({*sound.values()}))
    again = [reruns.of(path) for path in drawn(sound, reruns.draws)[:times]]
    problems += [one for one in again if isinstance(one, RecordProblem)]
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
    if submitted:
        problems += [RecordProblem(run, f"it cannot be checked as a whole: {why}") for run, why in look.missing.items()]
    return Verification(
        place,
        records=len(methods),
        without_scores=len(methods) - look.scored,
        checksums=0 if sums is None else len(sums),
        problems=tuple(problems),
        notes=tuple(notes),
        again=tuple(repeated),
        unchecked=look.missing,
    )
