"""A record's run carried out again: whether its scores are the same bits, what was otherwise, and by how much."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from pubench.field_names import in_words, said
from pubench_core.data.dataset import Progress, silent
from pubench_core.data.table_reader import in_memory
from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ENVIRONMENT, SCORES, Arrays, read_scores, read_small
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment, Result, at_prior_name

from .findings import FieldDifference, Say, differences

if TYPE_CHECKING:
    from pubench import PUTable, RunResult

#: Fields that another run gives otherwise: time, memory, place, what was kept and is shown. ``changed`` has the code.
_UNREPEATED = (
    r"seconds\.|peak_memory\.|at_once|finished_at|spec\.|model\.|data\.prior\.estimate\.seconds|code\."
    r"|metrics\.|criteria\.[^.]+\.code|data\.(digest|notes)|scores$|threads|device|selected|decision"
)
_MEASURE = re.compile(
    r"criteria\.(?P<criterion>[^.]+)\.(?P<by>measures|at_prior)\.(?P<part>[^.]+)\.(?P<name>.+)\.value"
)
#: What alone lets the last digits of a run differ: all of its environment but the commit.
_ROUNDING = re.compile(r"environment\.(?!git_)")


@dataclass(frozen=True)
class Here:
    """Where a run is carried out again. What is None is as it was, if that is here."""

    table: Path | None = None
    test: Path | None = None
    data_root: Path | None = None
    device: str | None = None
    threads: int | None = None


@dataclass(frozen=True)
class Reproduction:
    """A run carried out again, next to its record."""

    recorded: Result
    now: Result
    kept_scores: bool
    """if not, its fields alone decide whether it is identical"""
    arrays: int
    """how many arrays of ``scores.npz`` were compared"""
    apart: tuple[str, ...]
    """arrays that are not the same bits, or on one side only"""
    scores: tuple[str, ...]
    """a line for each criterion and part whose scores differ: how many, by how much, and how many decisions"""
    fields: tuple[FieldDifference, ...]
    """fields of ``result.json`` that another run of the same code repeats, and that are not those of the record"""
    changed: tuple[FieldDifference, ...]
    """code, metrics and fields of the environment that are others than when the record was made"""

    @property
    def identical(self) -> bool:
        """Whether every score is the same bits; if none were kept, whether every field that a run repeats is."""
        return not self.apart if self.kept_scores else not self.fields

    @property
    def confirmed(self) -> bool:
        """Whether scores and fields are those of the record."""
        return self.identical and not self.fields

    @property
    def elsewhere(self) -> list[str]:
        """Names of what is otherwise and alone lets the last digits differ: processor, versions, threads."""
        return [one.path for one in self.changed if _ROUNDING.match(one.path)]

    @property
    def measures(self) -> dict[tuple[str, str, str], FieldDifference]:
        """(criterion, part, metric) -> a measure whose value is not that of the record."""
        found = {}
        for one in self.fields:
            if (at := _MEASURE.fullmatch(one.path)) is not None:
                name = at["name"] if at["by"] == "measures" else at_prior_name(at["name"])
                found[at["criterion"], at["part"], name] = one
        return found

    @property
    def test_measures(self) -> dict[str, FieldDifference]:
        """Those on test rows, of the criterion that names the result."""
        named = self.recorded.selected, "test"
        return {metric: one for (*at, metric), one in self.measures.items() if (*at,) == named}

    @property
    def other_rows(self) -> tuple[str, ...]:
        """Arrays of rows and labels of the test part that are others: no machine and no version decides them."""
        return tuple(name for name in self.apart if name in ("test_rows", "test_labels"))

    @property
    def verdict(self) -> str:
        """Whether it is the same, in words."""
        words = "identical" if self.identical else "not identical"
        if not self.kept_scores:
            fields = "every field is the same" if self.identical else f"{counted(len(self.fields), 'field')} differ"
            return f"{words}: {fields}; the record kept no scores to compare"
        if self.identical:
            return f"{words}: every score is the same to the last bit ({self.arrays} arrays)"
        others = f", {', '.join(self.other_rows)} among them" if self.other_rows else ""
        return f"{words}: {len(self.apart)} of {self.arrays} arrays of {SCORES} differ{others}"

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.identical or not self.kept_scores:
            lines += map(str, self.fields)
        else:
            lines += [*self.scores]
            lines += map(str, self.test_measures.values())
        if not self.changed:
            return "\n".join([*lines, "code, versions, hardware and threads are those of the record"])
        return "\n".join([*lines, "otherwise than when the record was made:", *map(str, self.changed)])

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "run_id": self.recorded.run_id,
            "run_id_now": self.now.run_id,
            "identical": self.identical,
            "confirmed": self.confirmed,
            "kept_scores": self.kept_scores,
            "arrays": self.arrays,
            "arrays_apart": list(self.apart),
            "seconds": self.now.seconds.total,
            "seconds_recorded": self.recorded.seconds.total,
            "scores": list(self.scores),
            **{name: [asdict(one) for one in getattr(self, name)] for name in ("fields", "changed")},
        }


@in_words()
def reproduce(
    run: RunResult,
    *,
    data: str | Path | PUTable | None = None,
    test: str | Path | None = None,
    data_root: str | Path | None = None,
    device: str | None = None,
    threads: int | None = None,
    progress: Callable[[str], None] | None = None,
) -> Reproduction:
    """Carries the run out again, in a folder that is removed afterwards, and compares it with its record, which
    stays as it is. What ``pubench reproduce`` does.

    ``data``, ``test``: where the files of a user table are now, by default where they were; a table in
    memory is one that :func:`pubench.data` made. Their content must be what it was. ``data_root``: folder of data
    files, by default the record's, where it is here. ``device``, ``threads``: by default those of the record, as
    another number of threads rounds otherwise. ``progress``: called with a line about each thing worth saying.

    Raises InvalidRequest where the run cannot be carried out here, RunFailed where it fails.

    >>> import pubench
    >>> run = pubench.run("upu", "digits", config={"epochs": 1}, tracking=False)
    >>> pubench.reproduce(run).identical
    True
    """
    own = getattr(data, "own", {"path": data})
    table, rows, root = (
        None if place is None else Path(place) for place in (own["path"], test or own.get("test"), data_root)
    )
    here = Here(table, rows, root, device, threads)
    return reproduced(run.folder, here, say=lambda text: None if progress is None else progress(said(text)))


def reproduced(
    folder: Path,
    here: Here = Here(),
    *,
    display: Any = None,
    say: Say = lambda text: None,
    progress: Progress = silent,
    alone: bool = False,
) -> Reproduction:
    """Carries out the run of a record again, as :func:`reproduce` does; no tracker hears of it.

    ``alone``: in a process of its own, that of ``--blind``, unless its table is in memory.

    Raises FileNotFoundError if ``folder`` holds no record, RecordError if it is damaged, RequestError if the run cannot
    be carried out here, RunFailed if it fails.
    """
    from pubench_core.engine.execute import execute
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve

    from .training import trained

    record = read_record(folder)
    before = read_scores(folder) if (folder / SCORES).exists() else {}
    spec = spec_again(record.result, here, say)
    if alone and not in_memory(Path((spec["data"]["own"] or {}).get("path", "."))):
        with trained(spec, folder.parent) as (again, _):
            return compared(record, read_record(again), before, read_scores(again) if before else {})
    with tempfile.TemporaryDirectory(prefix="pubench-reproduce-") as place:
        spec["execution"]["results"] = place
        plan = resolve([Layer(spec)], registry(), warn=say)
        if plan.run_id != record.result.run_id:
            say(f"the spec of {record.result.run_id} now has run id {plan.run_id}: a field changed its meaning")
        done = execute(plan, display=display, force=True, say=say, progress=progress)
        return compared(record, Record(done.folder, done.result), before, read_scores(done.folder) if before else {})


def spec_again(result: Result, here: Here, say: Say) -> dict[str, Any]:
    """Spec of a run that is carried out again, with the metrics that are installed here. Raises as reproduce does."""
    from pubench_core.engine.machine import device_here
    from pubench_core.engine.resolve import stored_spec

    spec, absent = stored_spec(result, registry())
    if absent:
        say(f"not installed, so not measured again: {', '.join(map(shortened, absent))}")
    _put_tables(spec["data"], here)
    recorded = result.spec.execution.data_root
    root = here.data_root or (recorded if recorded is not None and recorded.is_dir() else None)
    device = here.device or "auto"
    if here.device is None:
        try:
            device = str(device_here(result.device))
        except (RequestError, RuntimeError) as error:  # torch's, of a name that no device has
            was, why = shortened(result.device), shortened(str(error))
            say(f"it was computed on {was} ({why}); using the device that is here")
    spec["execution"] |= {
        "data_root": None if root is None else str(root),
        "device": device,
        "threads": here.threads or result.threads,
        "artifacts": ["scores"],
        "save_model": False,
        "tracking": False,
    }
    return spec


def _put_tables(data: dict[str, Any], here: Here) -> None:
    """Names the places where the files of a table are now. Raises RequestError where one is not there."""
    own = data["own"] or {}
    for role, given in (("path", here.table), ("test", here.test)):
        field, recorded = f"data.own.{role}", own.get(role)
        if recorded is None and given is not None:
            what = "reads no table of test rows" if own else "is not on a user table"
            raise RequestError(f"{field}={given}: this run {what}", field=field)
        if recorded is None:
            continue
        place = given or Path(recorded)
        if not in_memory(place) and not place.is_file():
            what = f"{shortened(str(place))}, which the run read, is not here; name its new place with {field}=FILE"
            raise RequestError(what, field=field, value=str(place))
        own[role] = str(place)
    if own:
        data["key"] = Path(own["path"]).name


# -------------------------------------------------------------------- two records of one run


def compared(record: Record, again: Record, before: Arrays, after: Arrays) -> Reproduction:
    """Differences between two records of one run. ``before``, ``after``: their scores; empty if none were kept."""
    old, new = record.result, again.result
    known = all((one.folder / ENVIRONMENT).exists() for one in (record, again))
    was, now = (_surroundings(one, environment=known) for one in (record, again))
    return Reproduction(
        recorded=old,
        now=new,
        kept_scores=bool(before),
        arrays=len({*before, *after}),
        apart=tuple(name for name in {**before, **after} if not _same(before.get(name), after.get(name))),
        scores=tuple(_scores(old, new, before, after)) if before else (),
        fields=tuple(sorted(_fields(old, new), key=lambda one: one.path)),
        changed=tuple(differences(was, now, "now it is")),
    )


def _same(one: npt.NDArray[Any] | None, other: npt.NDArray[Any] | None) -> bool:
    """Whether two arrays are the same bits; one that is not there is like no other."""
    if one is None or other is None:
        return False
    return one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()


def _fields(old: Result, new: Result) -> Iterator[FieldDifference]:
    """Fields that differ and should not.

    Measures are those of metrics that both measured; of records before decisions at the prior, none of these, nor the
    share given of U. Words are left out if versions are others, which may say it in other words.
    """
    left_out, older = [_UNREPEATED], [name for name, one in old.criteria.items() if one.threshold is None]
    left_out += [rf"criteria\.{re.escape(name)}\.(threshold|at_prior)\b" for name in older]
    if len(older) == len(old.criteria):
        left_out.append(r"data\.prior\.given_unlabeled")
    if old.code.versions != new.code.versions:
        left_out.append(r".*(warnings|undefined|notes)$")
    before, after = (_repeated(result, new.metrics) for result in (old, new))
    for one in differences(before, {**dict.fromkeys(before), **after}, "another run gives"):
        if not re.match("|".join(left_out), one.path):
            yield one


def _repeated(result: Result, metrics: Mapping[str, str]) -> dict[str, Any]:
    """Content of a ``result.json`` with measures of these metrics alone."""
    plain = result.plain()
    plain["warnings"] = [line for line in result.warnings if not line.startswith("no model was kept")]
    for criterion in plain["criteria"].values():
        for by in (criterion.get("measures", {}), criterion.get("at_prior", {})):
            for part in by:
                by[part] = {name: measure for name, measure in by[part].items() if name in metrics}
    return plain


def _scores(old: Result, new: Result, before: Arrays, after: Arrays) -> Iterator[str]:
    """Of every criterion that chose an epoch both times, and every part that was scored."""
    for name, criterion in old.criteria.items():
        other = new.criteria.get(name)
        if other is None or not criterion.snapshot or not other.snapshot:
            continue
        now = "" if other.epoch == criterion.epoch else f", now {other.epoch}"
        first, second = scores_of(before, criterion.snapshot), scores_of(after, other.snapshot)
        for part, x in first.items():
            y, rows, of_part = second.get(part), f"{part}_rows", f"{name} (epoch {criterion.epoch}{now}), {part}"
            if y is None or x.shape != y.shape or not _same(before.get(rows), after.get(rows)):
                yield f"{of_part}: other rows"
            elif different := int(np.count_nonzero(x != y)):
                decisions = counted(int(np.count_nonzero((x > 0) != (y > 0))), "decision")
                apart = f"{different:,} of {len(x):,} scores differ, by at most {np.abs(x - y).max():.3g}"
                yield f"{of_part}: {apart}; {decisions} differ"


def _surroundings(record: Record, *, environment: bool) -> dict[str, Any]:
    """Code, metrics and environment of a run. Raises RecordError for an environment that cannot be read."""
    found: dict[str, Any] = {"code": record.result.code.parts, "metrics": record.result.metrics}
    if environment:
        path = record.folder / ENVIRONMENT
        try:
            found["environment"] = Environment.model_validate_json(read_small(path)).model_dump()
        except (OSError, ValueError) as error:  # pydantic's error is a ValueError
            raise RecordError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from error
    return found
