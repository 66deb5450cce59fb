"""A record's run carried out again: whether its scores are the same bits, what was otherwise, and by how much.

``verify`` carries out some of many (:class:`Reruns`), with their own labels or with other hidden ones.
"""

from __future__ import annotations

import random
import re
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from pubench_report.suspicion import MEASURES

from pubench.field_names import in_words, said
from pubench_core.data.dataset import Progress, silent
from pubench_core.data.table_reader import in_memory
from pubench_core.errors import PubenchError, RequestError, RunFailed, counted, shortened
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, Arrays, read_scores
from pubench_core.records.record import Record, read_record
from pubench_core.records.scores import scores_of
from pubench_core.results import AT_PRIOR, Result, at_prior_name
from pubench_core.specs import GIVEN

from .files import environment_of
from .findings import Again, FieldDifference, RecordProblem, Say, differences

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
#: Measures by which a run carried out again is compared on another machine.
_COMPARED = ("accuracy", "f1", "macro-f1", "auc", "pa", "pauc")
#: Measures of a run carried out again may differ by this much on another machine or with other versions.
TOLERANCE = 0.02
#: Reruns that all differ in the same direction are a problem below this probability.
SIGNIFICANT = 0.001
#: What alone lets the last digits of a run differ: all of its environment but the commit.
_ROUNDING = re.compile(r"environment\.(?!git_)")


@dataclass(frozen=True)
class Reproduction:
    """A run carried out again, next to its record."""

    recorded: Result
    now: Result
    arrays: int
    """how many arrays of ``scores.npz`` were compared; 0 if none were kept: fields alone decide whether it is identical
    """
    apart: tuple[str, ...]
    """arrays that are not the same bits, or on one side only"""
    scores: tuple[str, ...]
    """a line for each criterion and part whose scores differ: how many, by how much, and how many decisions"""
    fields: tuple[FieldDifference, ...]
    """fields of ``result.json`` that another run of the same code repeats, and that are not those of the record"""
    changed: tuple[FieldDifference, ...]
    """code, metrics and fields of the environment that are others than when the record was made"""
    scores_now: Arrays = field(default_factory=dict, repr=False)
    """arrays of ``scores.npz`` as they are now, if the record kept its own"""

    @property
    def identical(self) -> bool:
        """Whether every score is the same bits; if none were kept, whether every field that a run repeats is."""
        return not self.apart if self.arrays else not self.fields

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
        if not self.arrays:
            fields = "every field is the same" if self.identical else f"{counted(len(self.fields), 'field')} differ"
            return f"{words}: {fields}; the record kept no scores to compare"
        if self.identical:
            return f"{words}: every score is the same to the last bit ({self.arrays} arrays)"
        others = f", {', '.join(self.other_rows)} among them" if self.other_rows else ""
        return f"{words}: {len(self.apart)} of {self.arrays} arrays of {SCORES} differ{others}"

    def __str__(self) -> str:
        fields = self.fields if self.identical or not self.arrays else self.test_measures.values()
        changed = "otherwise than when the record was made:"
        if not self.changed:
            changed = "code, versions, hardware and threads are those of the record"
        return "\n".join(map(str, [self.verdict, *self.scores, *fields, changed, *self.changed]))

    def to_dict(self) -> dict[str, Any]:
        """Everything as plain data, for JSON."""
        return {
            "run_id": self.recorded.run_id,
            "run_id_now": self.now.run_id,
            "identical": self.identical,
            "confirmed": self.confirmed,
            "kept_scores": self.arrays > 0,
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
    say: Say = (lambda text: None) if progress is None else (lambda text: progress(said(text)))
    own, record = getattr(data, "own", {"path": data}), read_record(run.folder)
    spec = spec_again(
        record.result, say, own["path"], test or own.get("test"), data_root=data_root, device=device, threads=threads
    )
    return reproduced(record, spec, say=say)


def reproduced(
    record: Record,
    spec: dict[str, Any],
    *,
    display: Any = None,
    say: Say = lambda text: None,
    progress: Progress = silent,
    alone: bool = False,
) -> Reproduction:
    """Carries out the run of a record again, as :func:`reproduce` does; no tracker hears of it.

    ``spec``: as :func:`spec_again` gives it. ``alone``: in a process of its own, unless its table is in memory.

    Raises RecordError if the record is damaged, RequestError if the run cannot be carried out here, RunFailed if it
    fails.
    """
    from pubench_core.engine.execute import execute
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve

    from .training import trained

    before = read_scores(record.folder) if (record.folder / SCORES).exists() else {}
    if alone and not in_memory(Path((spec["data"]["own"] or {}).get("path", "."))):
        with trained(spec, record.folder.parent) as (again, _):
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
    say: Say,
    table: str | Path | None = None,
    test: str | Path | None = None,
    *,
    data_root: str | Path | None = None,
    device: str | None = None,
    threads: int | None = None,
) -> dict[str, Any]:
    """Spec of a run that is carried out again, with the metrics that are installed here; what is None stays as it was,
    if that is here. Raises as :func:`reproduce` does.
    """
    from pubench_core.engine.machine import device_here
    from pubench_core.engine.resolve import stored_spec

    spec, absent = stored_spec(result, registry())
    if absent:
        say(f"not installed, so not measured again: {', '.join(map(shortened, absent))}")
    data, recorded = spec["data"], result.spec.execution.data_root
    own = data["own"] or {}
    for role, given in (("path", table), ("test", test)):
        field, place = f"data.own.{role}", given or own.get(role)
        if given is not None and own.get(role) is None:
            what = "reads no table of test rows" if own else "is not on a user table"
            raise RequestError(f"{field}={given}: this run {what}", field=field)
        if place is not None:
            if not in_memory(Path(place)) and not Path(place).is_file():
                what = f"{shortened(str(place))}, which the run read, is not here; name its new place with {field}=FILE"
                raise RequestError(what, field=field, value=str(place))
            own[role] = str(place)
    if own:
        data["key"] = Path(own["path"]).name
    root = data_root or (recorded if recorded is not None and recorded.is_dir() else None)
    if device is None:
        try:
            device = str(device_here(result.device))
        except (RequestError, RuntimeError) as error:  # torch's, of a name that no device has
            was, why = shortened(result.device), shortened(str(error))
            say(f"it was computed on {was} ({why}); using the device that is here")
    spec["execution"] |= {
        "data_root": None if root is None else str(root),
        "device": device or "auto",
        "threads": threads or result.threads,
        "artifacts": ["scores"],
        "save_model": False,
        "tracking": False,
    }
    return spec


# -------------------------------------------------------------------- two records of one run


def compared(record: Record, again: Record, before: Arrays, after: Arrays) -> Reproduction:
    """Differences between two records of one run. ``before``, ``after``: their scores; empty if none were kept.

    Raises RecordError for an environment that cannot be read.
    """
    old, new = record.result, again.result
    known = [environment_of(one.folder) for one in (record, again)]
    was, now = (
        {"code": one.code.parts, "metrics": one.metrics, "environment": None if None in known else environment}
        for one, environment in zip((old, new), known, strict=True)
    )
    changed = tuple(differences(was, now, "now it is"))
    redrawn = any(one.path == "environment.packages.numpy" for one in changed)
    return Reproduction(
        recorded=old,
        now=new,
        arrays=len({*before, *after}),
        apart=tuple(name for name in {**before, **after} if _bits(before.get(name)) != _bits(after.get(name))),
        scores=tuple(_scores(old, new, before, after)),
        fields=tuple(sorted(_fields(old, new, redrawn), key=lambda one: one.path)),
        changed=changed,
        scores_now=after,
    )


def _bits(array: npt.NDArray[Any] | None) -> object:
    """What is equal for two arrays of the same bits; None for one that is not there."""
    return None if array is None else (array.dtype, array.shape, array.tobytes())


def _fields(old: Result, new: Result, redrawn: bool) -> Iterator[FieldDifference]:
    """Fields that differ and should not.

    Measures are those of metrics that are installed; of records before decisions at the prior, none of these, nor the
    share given of U. Words are left out if versions are others, which may say it in other words.
    """
    left_out, older = [_UNREPEATED], [name for name, one in old.criteria.items() if one.threshold is None]
    left_out += [rf"criteria\.{re.escape(name)}\.(threshold|at_prior)\b" for name in older]
    left_out += [rf".*\.(measures|at_prior)\.\w+\.{re.escape(name)}\." for name in old.metrics.keys() - new.metrics]
    if len(older) == len(old.criteria):
        left_out.append(r"data\.prior\.given_unlabeled")
    if old.code.versions != new.code.versions:
        left_out.append(r".*(warnings|undefined|notes)$")
    before, after = old.model_dump(mode="json"), new.model_dump(mode="json")
    before["warnings"] = [line for line in old.warnings if not line.startswith("no model was kept")]
    after["warnings"] = list(new.warnings)
    for one in differences(before, {**dict.fromkeys(before), **after}, "another run gives", redrawn=redrawn):
        if not re.match("|".join(left_out), one.path):
            yield one


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
            if y is None or x.shape != y.shape or _bits(before.get(rows)) != _bits(after.get(rows)):
                yield f"{of_part}: other rows"
            elif different := int(np.count_nonzero(x != y)):
                decisions = counted(int(np.count_nonzero((x > 0) != (y > 0))), "decision")
                apart = f"{different:,} of {len(x):,} scores differ, by at most {np.abs(x - y).max():.3g}"
                yield f"{of_part}: {apart}; {decisions} differ"


# -------------------------------------------------------------------- runs of many records


def drawn(methods: Mapping[Path, str], draws: random.Random) -> list[Path]:
    """Records, with their methods, in random order; one of each method comes before a second of any.

    Nothing that a record says of itself but its method steers which.
    """
    order = draws.sample(list(methods), len(methods))
    first = {methods[record]: record for record in reversed(order)}
    return sorted(order, key=lambda one: one != first[methods[one]])


@dataclass(frozen=True)
class Reruns:
    """Carries out runs of records again and judges what they give."""

    root: Path
    """folder of data files"""
    draws: random.Random
    """permutes labels"""
    say: Say
    blind: bool = False
    """once more with other hidden labels"""

    def of(self, folder: Path) -> Again | RecordProblem:
        """Rerun of a record: the problem, if its run gives another result or cannot be carried out."""
        result = (record := read_record(folder)).result
        self.say(f"carrying {result.run_id} out again ({result.seconds.total:.0f} s recorded)")
        try:
            spec = spec_again(result, self.say, data_root=self.root)
            found = reproduced(record, spec, say=self.say, alone=True)
            judged = self._judged(found)
            no_truth = result.spec.mechanism.key == GIVEN or result.data.test is None
            if not self.blind or isinstance(judged, RecordProblem) or result.oracle or result.folds or no_truth:
                return judged
            return self._with_other_labels(found, judged, spec, folder.parent)
        except RunFailed as error:
            return RecordProblem(result.run_id, f"carried out again, it fails: {error}", again=True)
        except PubenchError as error:
            return RecordProblem(result.run_id, f"it cannot be carried out here: {error}")

    def _judged(self, found: Reproduction) -> Again | RecordProblem:
        """Whether another run gives what a record has, the last digits apart if it was computed elsewhere.

        Where rounding differs, a criterion may choose another epoch, with another model; measures are compared under
        those that chose the same one, and under the one that names the result.
        """
        old, took = found.recorded, f"carried out again in {found.now.seconds.total:.1f} s"
        epochs = {name: criterion.epoch for name, criterion in found.now.criteria.items()}
        moved = [n for n, one in old.criteria.items() if n != old.selected and epochs.get(n, -1) != one.epoch]
        measures = [
            (one.recorded, one.now)
            for (criterion, _, metric), one in found.measures.items()
            if criterion not in moved and metric.removesuffix(AT_PRIOR) in _COMPARED
        ]
        largest = max((1.0 if None in pair else abs(pair[1] - pair[0]) for pair in measures), default=0.0)
        if found.confirmed:
            return Again(old.run_id, f"{took}: the same scores to the last bit", identical=True)
        if found.identical:
            why = f"it gives the same scores, and {found.fields[0]}"
        elif found.other_rows:
            why = f"{', '.join(found.other_rows)} are others"
        elif found.elsewhere and largest <= TOLERANCE:
            pairs = {name: (one.recorded, one.now) for name, one in found.test_measures.items() if name in MEASURES}
            better = {name: pair[0] > pair[1] for name, pair in pairs.items() if None not in pair}
            left_out = f"; another epoch, and not compared, by {', '.join(moved)}" if moved else ""
            what = f"{took}: test measures within {largest:.4g}{left_out}"
            return Again(old.run_id, what, recorded_better=better)
        else:
            what = f"{len(found.apart)} of {found.arrays} arrays" if found.arrays else "its measures"
            others = ", ".join(found.elsewhere[:3])
            where = f"more than {others} can explain" if others else "on the same machine with the same versions"
            why = f"{what} differ, a measure by {largest:.4g}, {where}"
        return RecordProblem(old.run_id, f"carried out again, {why}", again=True)

    def _with_other_labels(
        self, found: Reproduction, judged: Again, spec: dict[str, Any], holding: Path
    ) -> Again | RecordProblem:
        """Rerun with other hidden labels and another order of the file, which must give the scores of a sound rerun.

        Code in the process of a run can reach true labels: through frames, the garbage collector, a function of NumPy
        that it has replaced, files. What it reaches in memory is another thing here, and what it opens is seen.

        What criteria of true labels choose is not compared, nor is the last epoch if these end the training elsewhere.
        """
        from .training import trained

        self.say(f"{judged.run_id}: training {found.now.spec.method.key} with other hidden labels")
        with trained(spec, holding, seed=self.draws.randrange(1 << 63)) as (folder, opened):
            other, arrays = read_record(folder).result, read_scores(folder)
        if opened:
            what = f"while it trains it opens {', '.join(opened[:5])}: true labels may be there"
            return RecordProblem(judged.run_id, what, again=True)
        both = ((found.now, found.scores_now), (other, arrays))
        seen, unseen = (_unsupervised(*one, last=found.now.epochs == other.epochs) for one in both)
        if apart := [name for name, scores in seen.items() if not np.array_equal(scores, unseen.get(name, ()))]:
            what = f"with other hidden labels its scores are others ({', '.join(apart[:3])}): it sees true labels"
            return RecordProblem(judged.run_id, what, again=True)
        return replace(judged, what=f"{judged.what}; the same with other hidden labels") if seen else judged


def _unsupervised(result: Result, arrays: Arrays, *, last: bool) -> Arrays:
    """Criterion/part -> scores, of criteria that read no true label; ``last``: and of the last epoch."""
    return {
        f"{name}/{part}": scores
        for name, one in result.criteria.items()
        if not one.oracle and one.snapshot and (name != "last" or last)
        for part, scores in scores_of(arrays, one.snapshot).items()
    }


def one_sided(again: Sequence[Again]) -> tuple[str, float] | None:
    """How many records were better than their rerun with other bits, in words, and how probable that is by chance.

    The probability is that of a sign test (two-sided) over runs whose measure differs, of the measure with the lowest;
    None if there is none.
    """
    found = []
    for metric in MEASURES:
        if signs := [one.recorded_better[metric] for one in again if metric in one.recorded_better]:
            from scipy.stats import binomtest  # a second that most calls do not need

            better, chance = sum(signs), float(binomtest(sum(signs), len(signs)).pvalue)
            words = f"{better} of {len(signs)} records have a higher test {metric} than their rerun (p = {chance:.2g})"
            found.append((words, chance))
    return min(found, key=lambda one: one[1], default=None)
