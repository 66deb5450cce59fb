"""A record's run carried out again: whether its scores are the same bits, what was otherwise, and by how much."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import Progress, silent
from pubench_core.data.table_files import held_at
from pubench_core.errors import RecordError, RequestError, shortened
from pubench_core.records.files import ENVIRONMENT, SCORES, Arrays, read_scores, read_small
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment, Result

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: What stands for something that is not there.
ABSENT = "none"
#: Field of an environment -> what kind of thing it is, and what it is called.
_FACTS = {
    "python": ("versions", "python"),
    "cuda": ("versions", "cuda"),
    "git_commit": ("source", "git commit"),
    "platform": ("system", "platform"),
    "cpu": ("hardware", "processor"),
    "cpu_count": ("hardware", "logical processors"),
    "gpu": ("hardware", "GPU"),
    "device": ("hardware", "device"),
    "threads": ("threads", "CPU threads"),
}


@dataclass(frozen=True)
class Changed:
    """Something that was otherwise when the record was made.

    ``kind``: code (what decides scores), data, metric (what measures scores), versions, source, system, hardware or
    threads. A thing that is not there is ``none``.
    """

    kind: str
    name: str
    recorded: str
    now: str


@dataclass(frozen=True)
class ScoresApart:
    """The scores of one part at the epoch that one criterion chose, recorded and now.

    ``different``: rows whose scores are not the same bits; ``largest``: the largest absolute difference;
    ``decisions``: rows decided otherwise (positive: score above 0). These are None where the parts do not have the same
    rows, which then cannot be compared one by one.
    """

    criterion: str
    part: str
    epoch_recorded: int | None
    epoch_now: int | None
    rows: int
    different: int | None
    largest: float | None
    decisions: int | None


@dataclass(frozen=True)
class MeasureApart:
    """A measure of the test part at the epoch that one criterion chose; None where it has no value."""

    criterion: str
    metric: str
    recorded: float | None
    now: float | None

    @property
    def difference(self) -> float | None:
        """Now minus recorded; None where one of them has no value."""
        return None if self.recorded is None or self.now is None else self.now - self.recorded

    def __str__(self) -> str:
        recorded, now = ("no value" if one is None else f"{one:.6g}" for one in (self.recorded, self.now))
        return f"{self.metric} by {self.criterion} is {recorded} in the record; its scores give {now}"


@dataclass(frozen=True)
class Reproduction:
    """``arrays``: how many arrays of the record's ``scores.npz`` were compared, ``apart``: those that are not the same
    bits, or on one side only. A record that kept no scores has none of either; then its measures alone decide.
    """

    recorded: Result
    now: Result
    kept_scores: bool
    arrays: int
    apart: tuple[str, ...]
    scores: tuple[ScoresApart, ...]
    measures: tuple[MeasureApart, ...]
    changed: tuple[Changed, ...]

    @property
    def identical(self) -> bool:
        """Whether every score is the same bits; where none were kept, whether every test measure and epoch is."""
        if self.kept_scores:
            return not self.apart
        chosen = (_epochs(result) for result in (self.recorded, self.now))
        return len(set(chosen)) == 1 and all(measure.recorded == measure.now for measure in self.measures)

    @property
    def other_rows(self) -> tuple[str, ...]:
        """Arrays of rows and labels of the test part that are others: no machine and no version decides them."""
        return tuple(name for name in self.apart if name in ("test_rows", "test_labels"))

    @property
    def other_measures(self) -> tuple[MeasureApart, ...]:
        """Test measures that are not those of the record, though every score is the same: it was changed since, or
        metrics were.
        """
        if not (self.kept_scores and self.identical):
            return ()
        return tuple(one for one in self.measures if one.recorded != one.now)

    @property
    def verdict(self) -> str:
        """Whether it is the same, in words."""
        words = "identical" if self.identical else "not identical"
        if not self.kept_scores:
            measured = (
                "every epoch and test measure is the same" if self.identical else "epochs or test measures differ"
            )
            return f"{words}: {measured}; the record kept no scores to compare"
        if self.identical:
            return f"{words}: every score is the same to the last bit ({self.arrays} arrays)"
        others = f", {', '.join(self.other_rows)} among them" if self.other_rows else ""
        return f"{words}: {len(self.apart)} of {self.arrays} arrays of {SCORES} differ{others}"

    def __str__(self) -> str:
        lines = [self.verdict, *map(str, self.other_measures)]
        if not self.identical:
            lines += [
                f"{one.metric} by {one.criterion}: {one.difference:+.6g}"
                for one in self.measures
                if one.criterion == self.recorded.selected and one.difference
            ]
        lines += [f"{one.kind}, {one.name}: {one.recorded} when recorded, {one.now} now" for one in self.changed]
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "run_id": self.recorded.run_id,
            "run_id_now": self.now.run_id,
            "identical": self.identical,
            "kept_scores": self.kept_scores,
            "arrays": self.arrays,
            "arrays_apart": list(self.apart),
            "scores": [asdict(one) for one in self.scores],
            "measures": [{**asdict(one), "difference": one.difference} for one in self.measures],
            "changed": [asdict(one) for one in self.changed],
            "seconds": self.now.seconds.total,
            "seconds_recorded": self.recorded.seconds.total,
        }


def reproduce(
    folder: Path,
    *,
    table: Path | None = None,
    test: Path | None = None,
    data_root: Path | None = None,
    device: str | None = None,
    threads: int | None = None,
    display: Any = None,
    say: Callable[[str], None] = lambda text: None,
    progress: Progress = silent,
) -> Reproduction:
    """Carries out the run of a record again, in a folder that is removed afterwards, and compares. The record stays as
    it is, and no tracker hears of the run.

    ``table``, ``test``: where the files of a run on a user table are now; None means where they were. Their
    content must be what it was. ``data_root``: folder of data files; None means the record's, where it is here.
    ``device``, ``threads``: None means those of the record, as another number of threads rounds otherwise.

    Raises FileNotFoundError if ``folder`` holds no record, RecordError if it is damaged, RequestError if the run cannot
    be carried out here, RunFailed if it fails.
    """
    from pubench_core.engine.execute import execute

    record = read_record(folder)
    before = read_scores(folder) if (folder / SCORES).exists() else {}
    with tempfile.TemporaryDirectory(prefix="pubench-reproduce-") as place:
        plan = _plan(record.result, Path(place), (table, test), data_root, device, threads, say)
        done = execute(plan, display=display, force=True, say=say, progress=progress)
        after = read_scores(done.folder) if before else {}
        again = Record(done.folder, done.result)
        return compared(record, again, before, after)


def compared(record: Record, again: Record, before: Arrays, after: Arrays) -> Reproduction:
    """Differences between two records of one run. ``before``, ``after``: their scores; empty if none were kept."""
    apart = tuple(name for name in dict.fromkeys((*before, *after)) if not _same(before.get(name), after.get(name)))
    old, new = record.result, again.result
    return Reproduction(
        recorded=old,
        now=new,
        kept_scores=bool(before),
        arrays=len({*before, *after}),
        apart=apart,
        scores=tuple(_scores(old, new, before, after)) if before else (),
        measures=tuple(_measures(old, new)),
        changed=(*_code(old, new), *_surroundings(_environment(record.folder), _environment(again.folder))),
    )


def _plan(
    result: Result,
    results: Path,
    moved: tuple[Path | None, Path | None],
    data_root: Path | None,
    device: str | None,
    threads: int | None,
    say: Callable[[str], None],
) -> Plan:
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve
    from pubench_core.plugins.registry import registry

    spec = result.spec.model_dump(mode="json")
    _put_tables(spec["data"], *moved)
    spec["execution"] |= {
        "results": str(results),
        "data_root": data_root_for(result, data_root),
        "device": device or _device_of(result, say),
        "threads": threads or result.threads,
        "artifacts": ["scores"],
        "save_model": False,
        "tracking": False,
    }
    plan = resolve([Layer(spec)], registry(), warn=say)
    if plan.run_id != result.run_id:
        say(
            f"what is installed reads the spec of {result.run_id} as run {plan.run_id}: a field means another thing now"
        )
    return plan


def _put_tables(data: dict[str, Any], table: Path | None, test: Path | None) -> None:
    """Names the places where the files of a table are now. Raises RequestError where one is not there."""
    own = data["own"]
    for role, given in (("path", table), ("test", test)):
        if given is not None and (own is None or own.get(role) is None):
            what = "reads no table of test rows" if own is not None else "is not on a user table"
            raise RequestError(f"data.own.{role}={given}: this run {what}", field=f"data.own.{role}")
        if own is None or own.get(role) is None:
            continue
        place = given or Path(own[role])
        if held_at(place) is None and not place.is_file():
            raise RequestError(
                f"{shortened(str(place))} is not here; the run reads it: data.own.{role}=FILE names where it is now",
                field=f"data.own.{role}",
                value=str(place),
            )
        own[role] = str(place)
    if own is not None:
        data["key"] = Path(own["path"]).name


def data_root_for(result: Result, given: Path | None) -> str | None:
    """The folder of data files for the run of a record: the one given, or the record's, where it is here."""
    recorded = result.spec.execution.data_root
    root = given or (recorded if recorded is not None and recorded.is_dir() else None)
    return None if root is None else str(root)


def _device_of(result: Result, say: Callable[[str], None]) -> str:
    """Where the record was computed, or what is here. Raises RecordError for what is no device."""
    import torch

    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", result.device):
        raise RecordError(f"the record says that it was computed on {shortened(result.device)}, which is no device")
    wanted = torch.device(result.device)
    if wanted.type == "cpu" or (torch.cuda.is_available() and (wanted.index or 0) < torch.cuda.device_count()):
        return result.device
    say(f"the record was computed on {result.device}, which is not here; taking what is")
    return "auto"


# -------------------------------------------------------------------- by how much


def _same(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    """Whether two arrays are the same bits; one that is not there is like no other."""
    if one is None or other is None:
        return False
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _scores(old: Result, new: Result, before: Arrays, after: Arrays) -> Iterator[ScoresApart]:
    """Of every criterion that chose an epoch both times, and every part that was scored."""
    for name, criterion in old.criteria.items():
        other = new.criteria.get(name)
        if other is None or not criterion.snapshot or not other.snapshot:
            continue
        first, second = scores_of(before, criterion.snapshot), scores_of(after, other.snapshot)
        for part, x in first.items():
            y, rows = second.get(part), f"{part}_rows"
            fits = y is not None and x.shape == y.shape and _same(before.get(rows), after.get(rows))
            yield ScoresApart(
                criterion=name,
                part=part,
                epoch_recorded=criterion.epoch,
                epoch_now=other.epoch,
                rows=len(x),
                different=int(np.count_nonzero(x != y)) if y is not None and fits else None,
                largest=float(np.abs(x - y).max(initial=0.0)) if y is not None and fits else None,
                decisions=int(np.count_nonzero((x > 0) != (y > 0))) if y is not None and fits else None,
            )


def _measures(old: Result, new: Result) -> Iterator[MeasureApart]:
    for name, criterion in old.criteria.items():
        now = new.criteria[name].measured("test") if name in new.criteria else {}
        for metric, measure in criterion.measured("test").items():
            value = now[metric].value if metric in now else None
            yield MeasureApart(name, metric, measure.value, value)


def _epochs(result: Result) -> tuple[tuple[str, int | None], ...]:
    return tuple((name, criterion.epoch) for name, criterion in result.criteria.items())


# -------------------------------------------------------------------- what was otherwise


def _code(old: Result, new: Result) -> Iterator[Changed]:
    for part in new.code.changed_since(old.code):
        kind = "data" if part.startswith("data ") else "code"
        yield Changed(kind, part, old.code.parts.get(part, ABSENT), new.code.parts.get(part, ABSENT))
    yield from _apart("metric", old.metrics, new.metrics)


def _apart(kind: str, old: Mapping[str, str], new: Mapping[str, str]) -> Iterator[Changed]:
    for name in sorted({*old, *new}):
        if old.get(name) != new.get(name):
            yield Changed(kind, name, old.get(name, ABSENT), new.get(name, ABSENT))


def _surroundings(old: Environment | None, new: Environment | None) -> Iterable[Changed]:
    """Nothing is said where one of the records has no environment."""
    if old is None or new is None:
        return
    yield from _apart("versions", old.packages, new.packages)
    yield from _apart("system", old.variables, new.variables)
    for field, (kind, name) in _FACTS.items():
        before, after = _fact(old, field), _fact(new, field)
        if before != after:
            yield Changed(kind, name, before, after)


def _fact(environment: Environment, field: str) -> str:
    value = getattr(environment, field)
    if value is None:
        return ABSENT
    if field == "git_commit":
        return f"{value[:12]}{', with changes' if environment.git_dirty else ''}"
    return str(value)


def _environment(folder: Path) -> Environment | None:
    """What a record ran on; None where it does not say."""
    path = folder / ENVIRONMENT
    try:
        return Environment.model_validate_json(read_small(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # pydantic's error is a ValueError
        raise RecordError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from error
