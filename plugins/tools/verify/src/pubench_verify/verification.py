"""``pubench.verify``: every record of a folder checked, some runs carried out again."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection
from functools import partial
from itertools import chain, islice
from pathlib import Path

from pubench_report.suspicion import ScoredRun, too_good
from pubench_study.plan import shown_row

from pubench.field_names import InvalidRequest, said
from pubench_core.data.dataset import data_root as default_root
from pubench_core.errors import RecordError
from pubench_core.records.record import read_record
from pubench_core.specs import ExecutionSpec

from . import rerun as reruns
from .folder import compared_sums, names_in_plans, records_in
from .record import RecordChecker
from .rerun import SIGNIFICANT, carried_out_again, drawn, one_sided
from .result import RecordProblem, Tried, Verification

#: Measures of a run carried out again may differ by this much on another machine or with other versions.
TOLERANCE = 0.02


def verify(
    folder: str | Path,
    *,
    rerun: int = 1,
    fresh: int = 0,
    blind: int = 0,
    tolerance: float = TOLERANCE,
    data_root: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
    submitted: bool = False,
    also: Collection[str] = (),
) -> Verification:
    """Checks every record of a folder, and carries some of the runs out again. The folder stays as it is.

    Every field of a record that its spec, the installed code, the data or its scores give must be what they give. Its
    files must be whole, its own, and those that ``SHA256SUMS`` lists, if that is there. Times, memory and what else
    only the author knows are not checked: the page *What verify proves* lists them.

    ``rerun``: how many runs are carried out again, each in a process of its own, chosen at random (by ``seed``, if one
    is given) among those without a problem, one of each method first. Their scores must be the same bits and every
    other field that can be repeated the same; or, if processor, versions or threads are others, no measure by either
    decision may differ by more than ``tolerance``, nor may records be better than their reruns more often than chance
    explains.

    ``fresh``: how many records' methods are tried on another split with other positive classes, which nobody can know.
    They are compared with the oracle ``pn`` on both problems; one that carries the data with their labels falls behind.
    ``blind``: how many runs are trained in a process of their own with other hidden labels and in another order of the
    file; one that sees true labels in the memory of the process gives other scores. Nor may it open files that show
    labels.

    ``data_root``: folder of data files, by default ``PUBENCH_DATA``, else that in the
    user's cache, never one that a record names. ``progress``: called with a line about each thing worth saying.

    ``submitted``: the folder is an unpacked submission, which has no models and no runs on user tables. If it is whole
    and sound, at least one run of each method is carried out again, unless ``rerun`` is 0, and those of ``also``.

    A run whose data are not here is no problem: it is in ``unchecked``, with what is missing.

    Raises InvalidRequest (a ValueError) for a folder without records, or numbers out of bounds.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-verify")
    >>> found = verify("to-verify")
    >>> found.ok, found.records, found.again[0].identical
    (True, 1, True)
    """
    place = Path(folder)
    if min(rerun, fresh, blind) < 0 or not 0 <= tolerance <= 1:
        raise InvalidRequest(
            "rerun, fresh and blind must be numbers of 0 or more and tolerance in [0, 1], "
            f"got {rerun}, {fresh}, {blind} and {tolerance:g}"
        )
    folders, problems = records_in(place)
    say = (lambda text: progress(said(text))) if progress is not None else (lambda text: None)
    sums, apart = compared_sums(place)
    root = default_root(ExecutionSpec(data_root=None if data_root is None else Path(data_root))).path
    look = RecordChecker(root, sums, say, submitted=submitted)
    names, unread = names_in_plans(place)
    problems = [*problems, *apart, *unread]
    readable, tested = [], []
    for path in folders:  # one after the other: a record is not kept
        try:
            record = read_record(path)
        except (RecordError, FileNotFoundError) as error:
            problems.append(RecordProblem(path.resolve().name, str(error)))
        else:
            wrong = look.at(record)
            for study, row in names[record.result.run_id].items() if record.result.run_id in names else ():
                if (shown := shown_row(row, record.result.spec)) != row:
                    wrong.append(RecordProblem(record.result.run_id, f"in the plan of study {study} it is {shown}"))
            problems += wrong
            readable.append((record.result.run_id, record.result.spec.method.key, path))
            tested.append(None if wrong else ScoredRun.of(record.result))
    bad = {problem.of for problem in problems}
    sound = {path: method for run_id, method, path in readable if run_id not in bad | look.missing.keys()}
    draws = random.SystemRandom() if seed is None else random.Random(seed)  # nobody can foresee the first
    times = rerun
    if submitted and rerun:
        times = 0 if problems or look.missing else max(rerun, len({*sound.values()}))
    order = drawn(list(sound), len(sound), draws, sound.__getitem__)
    order = [path for place, path in enumerate(order) if place < times or (times and path.name in also)]
    again = [carried_out_again(read_record(path), tolerance, root, say) for path in order]
    tried: list[list[Tried | RecordProblem]] = []
    for try_, times in ((reruns.fresh, fresh), (partial(reruns.blind, tolerance=tolerance), blind)):
        order = drawn(list(sound), len(sound), draws, sound.__getitem__)
        done = (try_(read_record(path), root, say, draws) for path in order)
        tried.append(list(islice((one for one in done if one is not None), times)))
    problems += [one for one in (*again, *chain(*tried)) if isinstance(one, RecordProblem)]
    repeated = [one for one in again if not isinstance(one, RecordProblem)]
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
        folder=place,
        records=len(readable),
        without_scores=len(readable) - look.derived,
        checksums=0 if sums is None else len(sums),
        problems=tuple(problems),
        notes=tuple(notes),
        again=tuple(repeated),
        unchecked=look.missing,
        fresh=tuple(one for one in tried[0] if isinstance(one, Tried)),
        blind=tuple(one for one in tried[1] if isinstance(one, Tried)),
    )
