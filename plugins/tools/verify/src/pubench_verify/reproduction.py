"""A record's run carried out again: whether its scores are the same bits, what was otherwise, and by how much."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Callable, Iterable, Iterator, Set
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pubench_report.grouping import by_path

from pubench.field_names import in_words, said
from pubench_core.data.dataset import Progress, silent
from pubench_core.data.table_reader import in_memory
from pubench_core.errors import RecordError, RequestError, counted, shortened
from pubench_core.plugins.registry import registry
from pubench_core.records.files import ENVIRONMENT, SCORES, Arrays, read_scores, read_small
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import Environment, Result

from .difference import Apart, alike, with_metrics

if TYPE_CHECKING:
    from pubench import PUTable, RunResult

#: What is said of something that is not there.
ABSENT = "none"
#: Kinds of things that may have changed, in the order in which they are shown.
_KINDS = ("code", "data", "metric", "versions", "source", "system", "hardware", "threads")
#: Fields that another run gives otherwise: time, memory, place, what was kept and is shown. ``changed`` has the code.
_UNREPEATED = re.compile(
    r"seconds\.|peak_memory\.|at_once|finished_at|spec\.|model\.|data\.prior\.estimate\.seconds|code\."
    r"|metrics\.|criteria\.[^.]+\.code|data\.(digest|notes)|scores$|threads|device|selected|decision"
)
#: Fields of words, which another version may say in other words.
_WORDS = ("warnings", "undefined", "notes")
#: Field of an environment -> what kind of thing it is, and what it is called.
_FACTS = {
    "python": ("versions", "python"),
    "cuda": ("versions", "cuda"),
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
    """A measure of the test part at the epoch that one criterion chose; None if it has no value."""

    criterion: str
    metric: str
    recorded: float | None
    now: float | None

    @property
    def difference(self) -> float | None:
        """Now minus recorded; None if one of them has no value."""
        return None if self.recorded is None or self.now is None else self.now - self.recorded


@dataclass(frozen=True)
class Reproduction:
    """``arrays``: how many arrays of the record's ``scores.npz`` were compared, ``apart``: those that are not the same
    bits, or on one side only. A record that kept no scores has none of either; then its fields alone decide.
    """

    recorded: Result
    now: Result
    kept_scores: bool
    arrays: int
    apart: tuple[str, ...]
    scores: tuple[ScoresApart, ...]
    changed: tuple[Changed, ...]

    @property
    def identical(self) -> bool:
        """Whether every score is the same bits; if none were kept, whether every field that a run repeats is."""
        return not self.apart if self.kept_scores else not self.fields

    @property
    def confirmed(self) -> bool:
        """Whether scores and fields are those of the record."""
        return self.identical and not self.fields

    @cached_property
    def fields(self) -> tuple[Apart, ...]:
        """Fields of ``result.json`` that another run of the same code repeats, and that are not those of the record.

        Measures are those of metrics that both measured; of records before decisions at the prior, none of these.
        Words are left out if versions are others.
        """
        older = {name for name, criterion in self.recorded.criteria.items() if criterion.threshold is None}
        old, new = (_repeated(result, self.now.metrics, older) for result in (self.recorded, self.now))
        if self.recorded.code.versions != self.now.code.versions:
            old, new = ({path: one[path] for path in one if not path.endswith(_WORDS)} for one in (old, new))
        return tuple(
            Apart(path, old.get(path), new.get(path), "another run gives")
            for path in sorted({*old, *new})
            if not alike(old.get(path), new.get(path))
        )

    @property
    def measures(self) -> tuple[MeasureApart, ...]:
        """Test measures under every criterion, recorded and now."""
        found = []
        for name, criterion in self.recorded.criteria.items():
            now = self.now.criteria[name].measured("test") if name in self.now.criteria else {}
            for metric, measure in criterion.measured("test").items():
                found.append(MeasureApart(name, metric, measure.value, now[metric].value if metric in now else None))
        return tuple(found)

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
            "confirmed": self.confirmed,
            "kept_scores": self.kept_scores,
            "arrays": self.arrays,
            "arrays_apart": list(self.apart),
            "fields": [{"path": one.path, "recorded": one.recorded, "now": one.now} for one in self.fields],
            "scores": [asdict(one) for one in self.scores],
            "measures": [{**asdict(one), "difference": one.difference} for one in self.measures],
            "changed": [asdict(one) for one in self.changed],
            "seconds": self.now.seconds.total,
            "seconds_recorded": self.recorded.seconds.total,
        }


def _repeated(result: Result, metrics: Iterable[str], older: Set[str]) -> dict[str, Any]:
    """Path -> value of what another run repeats. ``older``: criteria without decisions at the prior.

    Records without any lack the share of positives that was given of U as well.
    """
    plain = with_metrics(result.plain(), metrics)
    plain["warnings"] = [line for line in result.warnings if not line.startswith("no model was kept")]
    for name in older:
        if name in plain["criteria"]:
            plain["criteria"][name] |= {"threshold": None, "at_prior": {}}
    if plain["criteria"].keys() <= older:
        plain["data"]["prior"].pop("given_unlabeled", None)
    return {path: value for path, value in by_path(plain).items() if not _UNREPEATED.match(path)}


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
    return reproduced(
        run.folder,
        table=_path(own["path"]),
        test=_path(own.get("test") if test is None else test),
        data_root=_path(data_root),
        device=device,
        threads=threads,
        say=lambda text: None if progress is None else progress(said(text)),
    )


def _path(given: str | Path | None) -> Path | None:
    return None if given is None else Path(given)


def reproduced(
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
    alone: bool = False,
) -> Reproduction:
    """Carries out the run of a record again, as :func:`reproduce` does; no tracker hears of it.

    ``data_root``: None means the record's, where it is here. ``alone``: in a process of its own, that of ``--blind``,
    unless its table is in memory.

    Raises FileNotFoundError if ``folder`` holds no record, RecordError if it is damaged, RequestError if the run cannot
    be carried out here, RunFailed if it fails.
    """
    from pubench_core.engine.execute import execute
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve

    from .training import trained

    record = read_record(folder)
    before = read_scores(folder) if (folder / SCORES).exists() else {}
    recorded_root = record.result.spec.execution.data_root
    root = data_root or (recorded_root if recorded_root is not None and recorded_root.is_dir() else None)
    spec = spec_again(record.result, root, table=table, test=test, device=device, threads=threads, say=say)
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


def spec_again(
    result: Result,
    root: Path | None,
    *,
    table: Path | None = None,
    test: Path | None = None,
    device: str | None = None,
    threads: int | None = None,
    say: Callable[[str], None],
) -> dict[str, Any]:
    """Spec of a run that is carried out again, with the metrics that are installed here. Raises as reproduce does."""
    from pubench_core.engine.resolve import stored_spec

    spec, absent = stored_spec(result, registry())
    if absent:
        say(f"not installed, so not measured again: {', '.join(map(shortened, absent))}")
    _put_tables(spec["data"], table, test)
    spec["execution"] |= {
        "data_root": None if root is None else str(root),
        "device": device or _device_of(result, say),
        "threads": threads or result.threads,
        "artifacts": ["scores"],
        "save_model": False,
        "tracking": False,
    }
    return spec


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
        changed=tuple(_changed(record, again)),
    )


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
        if not in_memory(place) and not place.is_file():
            raise RequestError(
                f"{shortened(str(place))}, which the run read, is not here; name its new place with "
                f"data.own.{role}=FILE",
                field=f"data.own.{role}",
                value=str(place),
            )
        own[role] = str(place)
    if own is not None:
        data["key"] = Path(own["path"]).name


def _device_of(result: Result, say: Callable[[str], None]) -> str:
    """Where the record was computed, or what is here. Raises RecordError for what is no device."""
    import torch

    if not re.fullmatch(r"cpu|cuda(:\d{1,3})?", result.device):
        raise RecordError(
            f"the record names an unknown device, {shortened(result.device)}; expected cpu or cuda:NUMBER"
        )
    wanted = torch.device(result.device)
    if wanted.type == "cpu" or (torch.cuda.is_available() and (wanted.index or 0) < torch.cuda.device_count()):
        return result.device
    say(f"the record was computed on {result.device}, which is not here; using the device that is")
    return "auto"


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


#: Kinds of change that alone let the last digits of a run differ.
ROUNDING = frozenset({"versions", "system", "hardware", "threads"})


def _changed(record: Record, again: Record) -> Iterator[Changed]:
    """What surrounded two runs and is not the same; code and metrics alone if one has no environment."""
    surroundings = [_environment(one.folder) for one in (record, again)]
    known = None not in surroundings
    old, new = (
        _things(one.result, environment if known else None)
        for one, environment in zip((record, again), surroundings, strict=True)
    )
    for kind, name in sorted({*old, *new}, key=lambda thing: (_KINDS.index(thing[0]), thing[1])):
        before, now = old.get((kind, name), ABSENT), new.get((kind, name), ABSENT)
        if before != now:
            yield Changed(kind, name, before, now)


def _things(result: Result, environment: Environment | None) -> dict[tuple[str, str], str]:
    """(kind, name) -> code, metric, version or fact."""
    found = {("data" if part.startswith("data ") else "code", part): code for part, code in result.code.parts.items()}
    found |= {("metric", name): code for name, code in result.metrics.items()}
    if environment is None:
        return found
    found |= {("versions", name): version for name, version in environment.packages.items()}
    found |= {("system", name): value for name, value in environment.variables.items()}
    facts = {thing: getattr(environment, field) for field, thing in _FACTS.items()}
    if environment.git_commit is not None:
        dirty = ", with changes" if environment.git_dirty else ""
        facts["source", "git commit"] = f"{environment.git_commit[:12]}{dirty}"
    return found | {thing: str(value) for thing, value in facts.items() if value is not None}


def _environment(folder: Path) -> Environment | None:
    """Environment of a record; None if it has none."""
    path = folder / ENVIRONMENT
    try:
        return Environment.model_validate_json(read_small(path))
    except FileNotFoundError:
        return None
    except (OSError, ValueError) as error:  # pydantic's error is a ValueError
        raise RecordError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from error
