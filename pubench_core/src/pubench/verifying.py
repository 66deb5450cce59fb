"""Records that others made, checked: whether each says what its files, its code and its scores say."""

from __future__ import annotations

import hashlib
import math
import random
import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from os.path import isdir, isfile
from pathlib import Path, PurePosixPath
from typing import TYPE_CHECKING, Any

import numpy as np
import yaml
from pydantic import ValidationError

from pubench_core.errors import PluginError, PubenchError, RecordError, RequestError, RunFailed, shortened
from pubench_core.records.files import ENVIRONMENT, RESULT, SCORES, SPEC, Arrays, read_scores
from pubench_core.records.scores import MEASURED, scores_of
from pubench_core.records.store import Record, RecordStore, read_record
from pubench_core.results import Code, Environment, Measure, Result
from pubench_core.specs import RunSpec
from pubench_core.study.export import SUMS

from .reproducing import Reproduction, reproduce
from .words import InvalidRequest, said

if TYPE_CHECKING:
    from pubench_core.request import Plan

#: Measures of a run carried out again may differ by this much on another machine or with other versions.
TOLERANCE = 0.02
#: Stored measures and those derived from the stored scores are equal but for the last digits.
_RELATIVE, _ABSOLUTE = 1e-9, 1e-12
#: Kinds of change that alone let the last digits of a run differ.
_ROUNDING = frozenset({"versions", "system", "hardware", "threads"})
_RUN_ID = re.compile(r"[0-9a-f]{16}")
_SUM = re.compile(r"(?P<sum>[0-9a-f]{64})  (?P<path>\S.*)")
#: Test measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc")


@dataclass(frozen=True)
class Problem:
    """``of``: the run, or the file that lists checksums."""

    of: str
    what: str

    def __str__(self) -> str:
        return f"{self.of}: {self.what}"


@dataclass(frozen=True)
class Again:
    """A run carried out again. ``identical``: every score is the same bits; ``largest``: difference of a measure."""

    run_id: str
    identical: bool
    largest: float
    seconds: float


@dataclass(frozen=True)
class Verification:
    """``records``: how many were looked at; ``without_scores``: of them, those whose measures could not be derived
    again; ``checksums``: how many files were compared with a list of checksums.
    """

    folder: Path
    records: int
    without_scores: int
    checksums: int
    problems: tuple[Problem, ...]
    notes: tuple[str, ...]
    again: tuple[Again, ...]

    @property
    def ok(self) -> bool:
        """Whether no problem was found."""
        return not self.problems

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {**asdict(self), "folder": str(self.folder), "ok": self.ok}


def verify(
    folder: str | Path,
    *,
    rerun: int = 1,
    tolerance: float = TOLERANCE,
    data_root: str | Path | None = None,
    seed: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Verification:
    """Checks every record of a folder, and carries some of the runs out again. The folder stays as it is.

    Of every record: its files are there and can be read; its spec resolves, under what is installed, to its run id,
    which is the folder's name; its code is the installed one; it says of the method and of each criterion whether true
    labels were granted, as their plugins do; the stored scores give the stored measures, values of criteria and
    warnings. Of a folder with ``SHA256SUMS`` (that of a site or an exported study): its files are those listed.

    ``rerun``: how many runs are carried out again, chosen at random (by ``seed``, if one is given) among those without
    a problem. Their scores must be the same bits, or, where processor, versions or threads are others, no test measure
    may differ by more than ``tolerance``. Scores that were changed together with all that is derived from them are
    found in this way only. ``progress``: called with a line about each thing worth saying.

    Raises InvalidRequest (a ValueError) for a folder without records, or numbers out of bounds.

    >>> import pubench
    >>> _ = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False, results="to-verify")
    >>> found = verify("to-verify")
    >>> found.ok, found.records, found.again[0].identical
    (True, 1, True)
    """
    place = Path(folder)
    if rerun < 0 or not 0 <= tolerance <= 1:
        raise InvalidRequest(
            f"rerun: a number from 0 and a tolerance in [0, 1] are right, given {rerun} and {tolerance:g}"
        )
    records, problems = _records(place)
    say = (lambda text: progress(said(text))) if progress is not None else _silent
    sums = _sums(place, problems)
    look = _Look(Path(data_root) if data_root is not None else None, sums, say)
    problems += [problem for record in records for problem in look.at(record)]
    bad = {problem.of for problem in problems}
    sound = [record for record in records if record.result.run_id not in bad]
    drawn = random.SystemRandom() if seed is None else random.Random(seed)  # nobody can foresee the first
    again = []
    for record in drawn.sample(sound, min(rerun, len(sound))):
        found = _again(record, tolerance, look.data_root, say)
        if isinstance(found, Problem):
            problems.append(found)
        else:
            again.append(found)
    return Verification(
        folder=place,
        records=len(records),
        without_scores=look.without_scores,
        checksums=0 if sums is None else len(sums),
        problems=tuple(problems),
        notes=tuple(look.notes),
        again=tuple(again),
    )


def _silent(text: str) -> None:
    """Nobody listens."""


def _records(place: Path) -> tuple[list[Record], list[Problem]]:
    """The records of a folder, or the one that it is; folders that should hold one and do not."""
    if not isdir(place):
        raise InvalidRequest(f"{shortened(str(place))} is not a folder; the folder of records is right")
    if isfile(place / RESULT):
        try:
            return [read_record(place)], []
        except RecordError as error:
            return [], [Problem(place.resolve().name, str(error))]
    found = RecordStore(place).all()
    problems = [Problem(place.name, str(error)) for error in found.unreadable]
    problems += [
        Problem(path.name, f"{RESULT} is missing")
        for path in sorted(place.iterdir())
        if _RUN_ID.fullmatch(path.name) and path.is_dir() and not isfile(path / RESULT)
    ]
    if not found.readable and not problems:
        inside = "; the records of a site are in its folder records" if isdir(place / "records") else ""
        raise InvalidRequest(f"{shortened(str(place))} holds no records{inside}")
    return list(found.readable), problems


# -------------------------------------------------------------------- checksums


def _sums(place: Path, problems: list[Problem]) -> dict[str, str] | None:
    """Path -> SHA-256, as the folder's list has it; None where there is no list. What differs is added to problems."""
    path = place / SUMS
    if not isfile(path):
        return None
    found: dict[str, str] = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        problems.append(Problem(SUMS, f"it cannot be read: {error}"))
        return None
    for number, line in enumerate(lines, 1):
        entry = _SUM.fullmatch(line)
        inside = PurePosixPath(entry["path"]) if entry is not None else PurePosixPath("/")
        if entry is None or inside.is_absolute() or ".." in inside.parts:
            problems.append(Problem(SUMS, f"line {number} is not a checksum and a path in this folder"))
            continue
        found[str(inside)] = entry["sum"]
        of = inside.parts[0] if len(inside.parts) > 1 else SUMS
        try:
            now = hashlib.sha256((place / inside).read_bytes()).hexdigest()
        except OSError as error:
            problems.append(Problem(of, f"{inside.name} is listed in {SUMS} and not there ({error.strerror})"))
            continue
        if now != entry["sum"]:
            problems.append(Problem(of, f"{inside.name} is not the file that {SUMS} lists"))
    return found


# -------------------------------------------------------------------- one record


@dataclass
class _Look:
    """What is looked up once for all records. ``sums``: path -> checksum, where there is a list."""

    data_root: Path | None
    sums: Mapping[str, str] | None
    say: Callable[[str], None]
    without_scores: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    _digests: dict[tuple[str, str], str | None] = field(default_factory=dict)

    def at(self, record: Record) -> list[Problem]:
        """What is wrong with a record."""
        run_id = record.result.run_id
        return [Problem(run_id, text) for text in self._wrong(record)]

    def _wrong(self, record: Record) -> Iterator[str]:
        result, folder = record.result, record.folder
        if folder.resolve().name != result.run_id:
            yield f"its folder is called {shortened(folder.resolve().name)}"
        yield from self._files(record)
        yield from _other_spec(result, folder)
        try:
            plan = self._plan(result)
        except (RequestError, PluginError) as error:
            yield f"its spec does not resolve here: {error}"
            return
        if plan.run_id != result.run_id:
            yield f"its spec is that of run {plan.run_id}"
        yield from self._code(plan, result)
        yield from _granted(plan, result)
        yield from _priors(result)
        if isfile(folder / SCORES):
            try:
                arrays = read_scores(folder)
            except RecordError as error:
                yield str(error)
                return
            yield from self._scores(plan, result, arrays)

    def _files(self, record: Record) -> Iterator[str]:
        """Files that every record has, and none that the list of checksums does not know."""
        result, folder = record.result, record.folder
        for name in (SPEC, ENVIRONMENT):
            if not isfile(folder / name):
                yield f"{name} is missing"
        if isfile(folder / ENVIRONMENT):
            try:
                Environment.model_validate_json((folder / ENVIRONMENT).read_bytes())
            except (OSError, ValidationError) as error:
                yield f"{ENVIRONMENT} cannot be read: {shortened(' '.join(str(error).split()))}"
        listed = None if self.sums is None else {path for path in self.sums if path.startswith(f"{folder.name}/")}
        if listed is not None:
            for path in sorted(folder.iterdir()):
                if f"{folder.name}/{path.name}" not in listed:
                    yield f"{path.name} is not listed in {SUMS}"
        if not isfile(folder / SCORES):
            self.without_scores += 1
            if listed is None and "scores" in result.spec.execution.artifacts:
                yield f"{SCORES} is missing, so its measures cannot be derived again"

    def _plan(self, result: Result) -> Plan:
        from pubench_core.plugins.registry import registry
        from pubench_core.request import Layer, resolve

        spec = result.spec.model_dump(mode="json")
        recorded = result.spec.execution.data_root
        root = self.data_root or (recorded if recorded is not None and recorded.is_dir() else None)
        spec["execution"] |= {"data_root": None if root is None else str(root), "encoder": None, "device": "auto"}
        return resolve([Layer(spec)], registry())

    def _code(self, plan: Plan, result: Result) -> Iterator[str]:
        if Code.of(result.code.parts, {}).hash != result.code.hash:
            yield "the hash of its code is not that of the parts that it lists"
        digest = self._digest(plan)
        now = plan.code_reading(result.data.digest if digest is None else digest)
        if changed := now.changed_since(result.code):
            yield f"it is of other code than is installed (changed: {', '.join(changed)})"
        for name, criterion in result.criteria.items():
            known = name in ("native", "last") or name in plan.metrics
            if not known:
                yield f"criterion {name} is not installed"
            elif criterion.code != plan.criterion_code(name):
                yield f"criterion {name} is of other code than is installed"

    def _digest(self, plan: Plan) -> str | None:
        """Of the data as they are here; None where they are not."""
        from pubench_core.data.roots import data_root
        from pubench_core.data.store import digest_now, located

        source = plan.data.source
        if source is None:
            return ""
        key = (plan.data.info.key, plan.spec.data.preprocess)
        if key not in self._digests:
            root = data_root(plan.spec.execution, self.say)
            try:
                found = digest_now(source, located(source, root), root, preprocess=key[1])
            except RequestError as error:
                self.notes[f"data set {key[0]} is not here to be compared: {error}"] = None
                self._digests[key] = None
            else:
                self._digests[key] = found
        return self._digests[key]

    # ---------------------------------------------------------------- scores

    def _scores(self, plan: Plan, result: Result, arrays: Arrays) -> Iterator[str]:
        from pubench_core.execution.coverage import knowledge_in
        from pubench_core.metric import Measurer
        from pubench_core.records.measures import measures_of

        shapes = list(_shapes(result, arrays))
        yield from shapes
        if shapes:
            return
        knowledge, measurer = knowledge_in(arrays, result), Measurer(plan.metrics)
        names = [name for name in result.metrics if name in plan.metrics]
        for name in result.metrics:
            if name not in plan.metrics:
                self.notes[f"metric {name} is not installed, and its values are not derived again"] = None
        other = {name for name in names if plan.metrics[name].code != result.metrics[name]}
        derived: dict[str, dict[str, dict[str, Measure]]] = {}
        for name, criterion in result.criteria.items():
            state = criterion.snapshot
            if criterion.undefined:
                continue
            if not state or not scores_of(arrays, state):
                yield f"{SCORES} has no scores of the epoch that {name} chose"
                continue
            if state not in derived:
                derived[state] = measures_of(scores_of(arrays, state), knowledge, names, measurer)
            yield from _apart(name, criterion.measures, derived[state], set(result.metrics) - set(names), other)
            own = derived[state].get("validation", {}).get(name)
            if name in names and name not in other and own is not None and not _close(criterion.value, own.value):
                yield f"criterion {name} has the value {_said(criterion.value)}; its scores give {_said(own.value)}"
            yield from _unsaid(name, scores_of(arrays, state), criterion.warnings)


def _other_spec(result: Result, folder: Path) -> Iterator[str]:
    """Where ``spec.yaml`` says something else than the result does."""
    path = folder / SPEC
    if not isfile(path):
        return
    try:
        written = RunSpec.model_validate(yaml.safe_load(path.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, yaml.YAMLError, ValidationError) as error:
        yield f"{SPEC} cannot be read: {shortened(' '.join(str(error).split()))}"
        return
    mine, theirs = (_flat(spec.model_dump(mode="json")) for spec in (result.spec, written))
    differ = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    if differ:
        first = differ[0]
        yield (
            f"{SPEC} is not the spec of its result: {first} is {shortened(str(theirs.get(first)))} there and "
            f"{shortened(str(mine.get(first)))} here{f', and {len(differ) - 1} more' if len(differ) > 1 else ''}"
        )


def _flat(values: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    found: dict[str, Any] = {}
    for name, value in values.items():
        found |= _flat(value, f"{above}{name}.") if isinstance(value, Mapping) else {f"{above}{name}": value}
    return found


def _granted(plan: Plan, result: Result) -> Iterator[str]:
    """Who was granted true labels: what plugins declare, against what the record says."""
    if result.oracle != ("truth" in plan.method.requires):
        word = "is" if "truth" in plan.method.requires else "is not"
        yield f"its method {word} granted true labels (oracle), and it says otherwise"
    if result.selected not in result.criteria:
        yield f"it is named by criterion {shortened(result.selected)}, which it did not track"
    for name, criterion in result.criteria.items():
        plugin = plan.metrics.get(name)
        oracle = plugin is not None and plugin.info.oracle
        if criterion.oracle != oracle:
            yield f"criterion {name} {'reads' if oracle else 'does not read'} true labels, and it says otherwise"


def _priors(result: Result) -> Iterator[str]:
    asked, prior = result.spec.prior, result.data.prior
    wanted = prior.true if asked == "true" else asked if isinstance(asked, float) else None
    if wanted is not None and prior.given is not None and not _close(wanted, prior.given):
        yield f"it says that the method was told the prior {prior.given:g}, and its spec says {wanted:g}"


def _shapes(result: Result, arrays: Arrays) -> Iterator[str]:
    """Arrays that do not fit each other, or the counts of the record."""
    needed = ["validation_rows", "validation_labeled", *(["test_rows", "test_labels"] if result.data.test else [])]
    for name in needed:
        if name not in arrays:
            yield f"{SCORES} has no {name}"
            return
    for part in (*MEASURED, "unlabeled"):
        rows = arrays.get(f"{part}_rows")
        for name, array in arrays.items():
            if not name.startswith(f"{part}_") or name == f"{part}_rows" or rows is None:
                continue
            if array.shape[:1] != rows.shape[:1]:
                yield f"{SCORES}: {name} has {array.shape[0] if array.ndim else 0} rows, {part}_rows has {len(rows)}"
            elif array.dtype.kind == "f" and not np.isfinite(array).all():
                yield f"{SCORES}: {name} has values that are not finite"
    test = result.data.test
    if test is not None and len(arrays["test_rows"]) != test.rows:
        yield f"{SCORES} has {len(arrays['test_rows'])} test rows, its result {test.rows}"
    elif test is not None and test.positive is not None and int((arrays["test_labels"] == 1).sum()) != test.positive:
        yield f"{SCORES} has {int((arrays['test_labels'] == 1).sum())} positive test rows, its result {test.positive}"


def _apart(
    criterion: str,
    stored: Mapping[str, Mapping[str, Measure]],
    derived: Mapping[str, Mapping[str, Measure]],
    unknown: Iterable[str],
    other: Iterable[str],
) -> Iterator[str]:
    """Stored measures that are not those of the stored scores. ``other``: metrics whose code has changed since."""
    skipped, changed = frozenset(unknown), frozenset(other)
    for part in sorted({*stored, *derived}):
        before, now = stored.get(part, {}), derived.get(part, {})
        for name in sorted({*before, *now} - skipped):
            old, new = before.get(name), now.get(name)
            if old is None or new is None or not _same(old, new):
                by = " (by other code than is installed)" if name in changed else ""
                yield (
                    f"{name} on {part} rows, selected by {criterion}, is {_measured(old)}; its scores give "
                    f"{_measured(new)}{by}"
                )


def _same(old: Measure, new: Measure) -> bool:
    if (old.interval is None) != (new.interval is None):
        return False
    ends = zip(old.interval or (), new.interval or (), strict=True)
    return _close(old.value, new.value) and all(_close(one, other) for one, other in ends)


def _close(one: float | None, other: float | None) -> bool:
    if one is None or other is None:
        return one is other
    return math.isclose(one, other, rel_tol=_RELATIVE, abs_tol=_ABSOLUTE)


def _measured(measure: Measure | None) -> str:
    return "not there" if measure is None else _said(measure.value)


def _said(value: float | None) -> str:
    return "no value" if value is None else f"{value:.6g}"


def _unsaid(name: str, scores: Mapping[str, Any], warnings: Sequence[str]) -> Iterator[str]:
    """A warning that the engine gives of decisions that are all alike, and that is not there."""
    part = next((part for part in ("test", "unlabeled") if part in scores), None)
    if part is None or not len(scores[part]):
        return
    positive = scores[part] > 0
    if positive.all() or not positive.any():
        begins = f"all {len(positive)} {part} rows are decided {'positive' if positive.any() else 'negative'}"
        if not any(text.startswith(begins) for text in warnings):
            yield f"{begins} at the epoch that {name} chose, and it does not say so"


# -------------------------------------------------------------------- a run carried out again


def _again(record: Record, tolerance: float, root: Path | None, say: Callable[[str], None]) -> Again | Problem:
    run_id = record.result.run_id
    say(f"carrying {run_id} out again ({record.result.seconds.total:.0f} s recorded)")
    try:
        found = reproduce(record.folder, data_root=root, say=say)
    except RunFailed as error:
        return Problem(run_id, f"carried out again, it fails: {error}")
    except PubenchError as error:
        return Problem(run_id, f"it cannot be carried out again here: {error}")
    largest = _largest(found)
    if found.identical:
        return Again(run_id, True, largest, found.now.seconds.total)
    elsewhere = sorted({change.kind for change in found.changed if change.kind in _ROUNDING})
    if elsewhere and largest <= tolerance:
        return Again(run_id, False, largest, found.now.seconds.total)
    why = f"though {', '.join(elsewhere)} are others" if elsewhere else "on the same machine with the same versions"
    what = f"{len(found.apart)} of {found.arrays} arrays of scores" if found.kept_scores else "its measures"
    return Problem(run_id, f"carried out again, {what} differ, a test measure by {largest:.4g}, {why}")


def _largest(found: Reproduction) -> float:
    """The largest difference of a test measure under the criterion that names the result.

    1 where a value is on one side only.
    """
    mine = [one for one in found.measures if one.criterion == found.recorded.selected and one.metric in _COMPARED]
    apart = [1.0 if (one.recorded is None) != (one.now is None) else abs(one.difference or 0.0) for one in mine]
    return max(apart, default=0.0)
