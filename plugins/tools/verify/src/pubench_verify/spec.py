"""Statements of a record about its run: its spec, access to true labels, the prior of U, the epochs it names."""

from __future__ import annotations

from collections.abc import Iterator
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_report.grouping import by_path
from pydantic import ValidationError

from pubench_core.errors import RequestError, counted, shortened
from pubench_core.records.files import MODEL, SPEC, fold_model, read_small, yaml_text
from pubench_core.results import Result
from pubench_core.specs import RunSpec, is_one_sample, population_prior
from pubench_core.specs.run import TEST

from .measures import close
from .scores import STATE

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: Criteria that do not read the scores: two epochs with the same scores are two choices, and one state.
_UNSCORED = ("last", "native")


def other_spec(result: Result, folder: Path) -> Iterator[str]:
    """Where ``spec.yaml`` says something else than the result does."""
    from pubench_core.engine.layers import read_yaml

    path = folder / SPEC
    if not isfile(path):
        return
    try:
        if read_small(path).decode() == yaml_text(result.spec.model_dump(mode="json")):
            return  # as it was written: parsing YAML takes longer than all else
        written = RunSpec.model_validate(read_yaml(path).values)
    except (OSError, UnicodeError, RequestError, ValidationError, RecursionError) as error:
        yield f"{SPEC} cannot be read: {shortened(' '.join(str(error).split()))}"
        return
    mine, theirs = (by_path(spec.model_dump(mode="json")) for spec in (result.spec, written))
    differ = sorted(name for name in {*mine, *theirs} if mine.get(name) != theirs.get(name))
    if differ:
        first = differ[0]
        yield (
            f"{SPEC} is not the spec of its result: {first} is {shortened(str(theirs.get(first)))} there and "
            f"{shortened(str(mine.get(first)))} here{f', and {len(differ) - 1} more' if len(differ) > 1 else ''}"
        )


def other_model(result: Result, folder: Path) -> Iterator[str]:
    """Where it says that it has a model of a state, and that is not so."""
    if result.model is None:
        return
    if all(criterion.snapshot != result.model.snapshot for criterion in result.criteria.values()):
        yield f"its model is of {shortened(result.model.snapshot)}, which no criterion chose"
    name = fold_model(1) if result.model_is_mean else MODEL
    if not isfile(folder / name):
        yield f"{name} is missing"


def plan_here(result: Result, data_root: Path) -> Plan:
    """Plan that its spec means with the installed plugins and the data of a folder that the record does not choose.

    Raises RequestError, PluginError where it means nothing.
    """
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve
    from pubench_core.plugins.registry import registry

    spec = result.spec.model_dump(mode="json")
    spec["execution"] |= {"data_root": str(data_root), "encoder": None, "device": "auto"}
    return resolve([Layer(spec)], registry())


def granted(plan: Plan, result: Result) -> Iterator[str]:
    """Who was granted true labels, or the prior of test rows: plugins and spec, against what the record says."""
    oracle = "truth" in plan.method.requires or plan.spec.prior == TEST
    if result.oracle != oracle:
        yield f"its method {'is' if oracle else 'is not'} granted true labels (oracle), and it says otherwise"
    if result.selected not in result.criteria:
        yield f"it is named by criterion {shortened(result.selected)}, which it did not track"
    elif result.selected != result.spec.selection.criterion:
        yield f"it is named by criterion {result.selected}, and its spec says {result.spec.selection.criterion}"
    for name, criterion in result.criteria.items():
        plugin = plan.metrics.get(name)
        oracle = plugin is not None and plugin.info.oracle
        if criterion.oracle != oracle:
            yield f"criterion {name} {'reads' if oracle else 'does not read'} true labels, and it says otherwise"


def other_folds(plan: Plan, result: Result) -> Iterator[str]:
    """Folds that are not those of its spec."""
    wanted = tuple(fold.run_id for fold in plan.folds)
    if result.folds != wanted:
        yield f"it joins {counted(len(result.folds), 'fold')}, which are not the {len(wanted)} of its spec"
    if result.refit != (None if plan.refit is None else plan.refit.run_id):
        yield f"its model of all rows is run {result.refit}, which is not the one of its spec"


def told(result: Result) -> Iterator[str]:
    """The prior that the method was given, against the one that its spec asks for, or that was estimated."""
    asked, prior, train = result.spec.prior, result.data.prior, result.data.train
    wanted = prior.true if asked == "true" else asked if isinstance(asked, float) else None
    if asked == TEST and (test := result.data.test) is not None and test.positive is not None:
        wanted = test.positive / test.rows
    if (estimate := prior.estimate) is not None:
        one_sample = is_one_sample(result.spec.data.scheme)
        wanted = population_prior(estimate.share, train.labeled or 0, train.rows) if one_sample else estimate.share
        if train.unlabeled and train.unlabeled_positive is not None:
            share = train.unlabeled_positive / train.unlabeled
            if not close(estimate.true_share, share):
                yield f"its true share of positives in U is {estimate.true_share}; its counts give {share:g}"
    if wanted is not None and prior.given is not None and not close(wanted, prior.given):
        yield f"it says that the method was given the prior {prior.given:g}, and its spec says {wanted:g}"


def believed(plan: Plan, result: Result) -> Iterator[str]:
    """Kind of U, and the share of positives that the method was given for it; older records lack the share.

    Both follow from the spec, the given prior and the counts of the training part.
    """
    from pubench_core.engine.build import calibration_of
    from pubench_core.engine.problem import share_to_believe

    data, calibration = result.data, calibration_of(plan)
    if data.calibrated != calibration.calibrated:
        says, wants = ("", "not ") if data.calibrated else ("not ", "")
        yield f"it says that U was {says}calibrated, and its spec says that it was {wants}calibrated"
    share, counts = data.prior.given_unlabeled, data.train
    if share is None or counts.labeled is None or counts.labeled >= counts.rows:
        return
    wanted = share_to_believe(
        data.prior.given, plan.spec.data.scheme, counts.labeled, counts.rows, whole=any(calibration)
    )
    if not close(share, wanted):
        gives = "there is no prior to give one" if wanted is None else f"its prior and counts give {wanted:g}"
        yield f"it says that the method was to believe a share of {share:g} positives in U; {gives}"


def impossible_epochs(result: Result) -> Iterator[str]:
    """Epochs that were not trained, and those that are not the ones of the stored states."""
    chosen = {name: criterion for name, criterion in result.criteria.items() if criterion.epoch is not None}
    for name, criterion in chosen.items():
        stopped = criterion.stopped_at
        if stopped is not None and not (criterion.epoch or 0) <= stopped <= result.epochs:
            yield f"criterion {name} says that its patience ran out at epoch {stopped}, after epoch {criterion.epoch}"
        says = f"criterion {name} says epoch {criterion.epoch}"
        if not 1 <= (criterion.epoch or 0) <= result.epochs or (name == "last" and criterion.epoch != result.epochs):
            yield f"{says}, and it says that {counted(result.epochs, 'epoch')} {_were(result.epochs)} trained"
        elif (state := STATE.match(criterion.snapshot)) is not None:
            of = int(state[1])
            others = {other.epoch for other in chosen.values()} if name in _UNSCORED else {criterion.epoch}
            if of not in others:
                yield f"{says}, and its scores are those of epoch {of} ({criterion.snapshot})"


def _were(n: int) -> str:
    return "was" if n == 1 else "were"
