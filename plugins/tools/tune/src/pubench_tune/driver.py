"""One search, from a request to what was found: its folder, its workers, its end."""

from __future__ import annotations

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import filelock
from pubench_study.code_cache import code_of_plans
from pubench_study.label_counts import held_out_labels
from pubench_study.local import LocalPool
from pubench_study.planning import plain, planned_run
from pubench_study.scheduler import Stop, Study, conduct
from pubench_study.state import Digests, Expected
from pubench_study.task import Orders

from pubench_cli.few_labels import LOST, is_few
from pubench_core.data.dataset import data_root
from pubench_core.engine.layers import Layer
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError, shown
from pubench_core.plugins.registry import Registry
from pubench_core.records.files import replace_text
from pubench_core.records.store import RecordStore
from pubench_core.specs.fields import short_hash

from .result import Trial, Tuned
from .sampler import Proposals
from .space import Given, TunedMethod, space_of
from .state import Objective, Search

#: Folder of searches in a folder of records, and the files of each.
TUNING, REQUEST, BEST, LOGS, LOCK = "tuning", "tuning.json", "best.yaml", "logs", ".lock"
MOST_TRIALS = 100_000
#: What a run can do without a defined criterion, and a search cannot.
_BY_LAST = "; or selection.criterion can be last here"


@dataclass(frozen=True)
class SearchRequest:
    """``criterion``: None means that of the request, ``pa`` unless it says otherwise. ``seeds``: None means that of the
    request, 2 unless it says otherwise. ``word``: put before a text of the space in an error. ``max_seconds``: no run
    is started after them. ``files``: how many layers, the first ones, are of files, whose hyper-parameters a space may
    name: the first trial has them.
    """

    criterion: str | None = None
    trials: int = 50
    space: Given | None = None
    seeds: tuple[int, ...] | None = None
    jobs: int = 1
    search_seed: int = 0
    pruned: bool = True
    max_seconds: float | None = None
    word: str = "space "
    files: int = 0


def search(layers: Sequence[Layer], asked: SearchRequest, registry: Registry, say: Callable[[str], None]) -> Tuned:
    """Carries out what is missing of a search. The same request again goes on where it was.

    Raises RequestError for what cannot be met, RecordError where the search or a record cannot be stored.
    """
    for name, given, least, most in (
        ("trials", asked.trials, 1, MOST_TRIALS),
        ("jobs", asked.jobs, 1, 1024),
        ("search_seed", asked.search_seed, 0, 2**32 - 1),
    ):
        if isinstance(given, bool) or not isinstance(given, int) or not least <= given <= most:
            raise RequestError(f"{name} must be a whole number from {least} to {most}, got {given!r}", field=name)
    limit = asked.max_seconds
    if limit is not None and (isinstance(limit, bool) or not isinstance(limit, (int, float)) or not limit >= 0):
        raise RequestError(f"max_seconds must be a number of at least 0, got {shown(limit)}", field="max_seconds")
    aim, plan = _objective(layers, asked, registry, say)
    results = plan.spec.execution.results
    store = RecordStore(results)
    store.check_writable()
    digests = Digests(registry, data_root(plan.spec.execution, say))
    first, root = planned_run(plan, plan.spec.method.key), digests.root
    if absent := digests.check([first]):
        raise RequestError(next(iter(absent.values())), field="data.key")
    code = code_of_plans([plan], "")
    measured = [plan.code_reading(digests.of(first, {})).hash, plan.criterion_code(aim.criterion)]
    folder = results / TUNING / _name(plan, aim, asked, measured)
    held_out = None if _oracle(plan) else held_out_labels(plan, root)  # the digest has prepared the data
    if is_few(held_out):
        more = "" if plan.spec.validation.joint else "; validation.folds=5 holds out every label in turn"
        say(f"warning: {held_out} held-out labeled positives compare the trials: {LOST}{more}")
    facts: dict[str, Any] = {
        "method": plan.spec.method.key,
        "data": plan.spec.data.key,
        "criterion": aim.criterion,
        "oracle": _oracle(plan),
        "higher_is_better": aim.higher_is_better,
        "seeds": aim.seeds,
        "space": {name: str(dimension) for name, dimension in aim.space.items()},
    }
    with _held(folder):
        _describe(folder, plan, facts, {"search_seed": asked.search_seed, "pruned": aim.pruned})
        proposals = Proposals(folder, aim.space, asked.search_seed, higher_is_better=aim.higher_is_better)
        config = plan.method.config.model_dump()
        known = {name: config[name] for name, dimension in aim.space.items() if config[name] in dimension}
        runs = Search(aim, proposals, known, asked.trials, store, say)
        why_left, ended_by = "", None
        if not runs.over:
            stop = Stop(say)
            how = plan.spec.execution
            orders = Orders(results, how.data_root, how.encoder, offline=how.offline, threads=how.threads or 1)
            pool = LocalPool([how.device] * asked.jobs, orders, folder / LOGS)
            study = Study(store, code, digests, Expected(), pool, runs, asked.max_seconds, source=runs)
            runs.study = study
            main = threading.current_thread() is threading.main_thread()
            with stop.listening() if main else nullcontext():
                summary = conduct(study, [], stop)
            why_left, ended_by = summary.why_left, stop.signal
            for _, reason in summary.unstored:
                say(f"not stored: {reason}")
        if runs.refused:
            raise RequestError(runs.refused.replace(_BY_LAST, ""))
        found = Tuned(
            **facts,
            trials=tuple(Trial.of(kept, results) for kept in proposals.kept()),
            folder=folder,
            results=results,
            interrupted=why_left,
            signal=ended_by,
        )
        if found.count("done"):
            found.write(folder / BEST)
        return found


def _objective(
    layers: Sequence[Layer], asked: SearchRequest, registry: Registry, say: Callable[[str], None]
) -> tuple[Objective, Plan]:
    """What is searched for, and the configuration as it is with the first seed."""
    if asked.criterion is not None:
        layers = [*layers, Layer({"selection": {"criterion": asked.criterion}})]
    seeds = asked.seeds or tuple(layer.values["seed"] for layer in layers if "seed" in layer.values)[-1:] or (2,)
    plan = resolve([*layers, Layer({"seed": seeds[0]})], registry, warn=say)
    criterion = plan.spec.selection.criterion
    if criterion == "last":
        raise RequestError(
            "criterion last has no value to compare trials by; expected pa or pauc",
            field="selection.criterion",
        )
    pruned = asked.pruned and not plan.spec.validation.joint  # the course of one fold is not that of their mean
    if pruned and "trace" not in plan.spec.execution.artifacts:
        raise RequestError(
            "pruning needs the trace of every run; add trace to execution.artifacts, or do not prune (--no-prune, "
            "prune=False)",
            field="execution.artifacts",
        )
    info = plan.metrics[criterion].info if criterion in plan.metrics else None
    if info is not None and info.oracle:
        say(f"warning: {criterion} reads true labels; its result is marked as an oracle's")
    if info is None:
        say(f"warning: {criterion} is the method's own score; trials compare only where no value changes its scale")
    fixed = {name for layer in layers[asked.files :] for name in _config_in(layer)}
    of_files = {name for layer in layers[: asked.files] for name in _config_in(layer)}
    space = space_of(asked.space, TunedMethod(plan.spec.method.key, plan.method.config, fixed, asked.word, of_files))
    higher = info is None or info.higher_is_better
    return Objective(tuple(layers), registry, criterion, higher, seeds, space, pruned), plan


def _config_in(layer: Layer) -> Mapping[str, Any]:
    """Hyper-parameters that a layer sets."""
    method = layer.values.get("method")
    config = method.get("config") if isinstance(method, dict) else None
    return config if isinstance(config, dict) else {}


def _oracle(plan: Plan) -> bool:
    name = plan.spec.selection.criterion
    return "truth" in plan.method.requires or (name in plan.metrics and plan.metrics[name].info.oracle)


# -------------------------------------------------------------------- the folder


def _name(plan: Plan, aim: Objective, asked: SearchRequest, code: Sequence[str]) -> str:
    """Name of the folder: of everything that decides which trials there are, but how many.

    ``code``: hashes of what computes scores from which data, and of the criterion. Other code computes other values, so
    that it has a search of its own.
    """
    decides = {**plan.spec.identity(plan.method.config), "non_finite": plan.spec.selection.non_finite}
    del decides["seed"]
    space = {name: str(dimension) for name, dimension in aim.space.items()}
    digits = short_hash([decides, *code, aim.criterion, list(aim.seeds), space, asked.search_seed, aim.pruned])
    data = re.sub(r"[^\w.-]", "_", plan.spec.data.key)[:40]
    return f"{plan.spec.method.key}-{data}-{digits[:8]}"


@contextmanager
def _held(folder: Path) -> Iterator[None]:
    """The folder, for this process alone."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        lock = filelock.FileLock(str(folder / LOCK))
        lock.acquire(timeout=0)
    except filelock.Timeout:
        raise RequestError(
            f"another process runs this search ({folder}); wait for it, or stop it and start this command again"
        ) from None
    except OSError as error:
        raise RequestError(
            f"cannot write in {folder}: {error.strerror or error}; name another folder (execution.results)",
            field="execution.results",
        ) from error
    try:
        yield
    finally:
        lock.release()


def _describe(folder: Path, plan: Plan, facts: Mapping[str, Any], how: Mapping[str, Any]) -> None:
    """Writes down, once, what the search is."""
    path = folder / REQUEST
    if path.exists():
        return
    what = {
        "tuning_version": 1,
        **facts,
        **how,
        "code": plan.code.hash,
        "versions": dict(plan.code.versions),
        "made_at": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
        "spec": plain(plan.spec),
    }
    try:
        replace_text(path, json.dumps(what, indent=1, allow_nan=False) + "\n")
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror or error}", field="execution.results") from error
