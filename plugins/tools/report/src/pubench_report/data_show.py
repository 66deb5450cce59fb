"""``pubench data show``: who is labeled and who is hidden, in the problem of ``pubench run`` with the same seed."""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from typing import TYPE_CHECKING

import numpy as np

from pubench_cli.console import err, out
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.progress import data_progress
from pubench_core.data.dataset import data_root
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.results import DataFacts

from .rendering import RenderedTable

if TYPE_CHECKING:
    from pubench_core.engine.problem import Problem


def show(key: str, given: Given, *, as_json: bool = False) -> None:
    """Prints counts and priors of the problem, and labeled, hidden and negative rows of each class.

    Raises RequestError for what cannot be resolved or labeled, and data that bring their labels.
    """
    from pubench_core.engine.build import build_problem

    with redirect_stdout(sys.stderr):  # what a plugin prints must not mix with the table
        plan = plan_of(registry(), key, given)
        if plan.mechanism is None:
            raise RequestError(
                f"{plan.data.info.address} brings its labels; 'data show' shows what a labeling mechanism does",
                field="data.key",
            )
        execution = plan.spec.execution
        root = data_root(execution, lambda text: err().print(said(text), markup=False), progress=data_progress)
        problem = build_problem(plan, root=root)
    lines, counts = heading(plan, problem.facts()), class_counts(problem, plan.data.info)
    if as_json:
        names = ("labeled", "hidden", "negative")
        print_json({"problem": lines, "classes": {c: dict(zip(names, of, strict=True)) for c, of in counts.items()}})
        return
    for line in lines:
        out().print(line, markup=False, soft_wrap=True)
    rows = [
        (c, *(f"{n:,}" for n in of), f"{of[0] / sum(of[:2]):.1%}" if sum(of[:2]) else "") for c, of in counts.items()
    ]
    head = ("class", "labeled positive", "hidden positive", "negative", "share labeled")
    RenderedTable.of(head, rows).print_to(out())


def plan_of(plugins: Registry, key: str, given: Given) -> Plan:
    """A run with these data, labels and seed; its method has no part in them."""
    layer = given.layer()
    layer.put(("data", "key"), key, "")
    layer.put(("method", "key"), _any_method(plugins), "")
    return resolve([layer], plugins)


def _any_method(plugins: Registry) -> str:
    """A plan is of a method, and split and labels are the same for all: the first that loads and needs no truth."""
    for info in plugins.infos(MethodInfo):
        try:
            if "truth" not in info.needs and method_class(info):
                return info.key
        except PluginError:  # broken, and not needed here
            continue
    raise RequestError("no method is installed (pubench list methods), and a problem is built for one")


def heading(plan: Plan, facts: DataFacts) -> tuple[str, ...]:
    """Lines over the table: the data, the request, counts and priors of the problem."""
    assert plan.mechanism is not None  # data that bring labels are refused
    spec, mechanism, train = plan.spec, plan.mechanism.info, facts.train
    aliases = f" ({', '.join(mechanism.aliases)})" if mechanism.aliases else ""
    positive, n = train.unlabeled_positive or 0, train.unlabeled or 0
    share = f"{positive:,} / {n:,} = {positive / n:.4f}" if n else "not defined"
    return (
        plan.data.info.name,
        f"{mechanism.key}{aliases}, {spec.mechanism.amount_in_words}, {spec.data.scheme}, seed {spec.seed}",
        f"{train.labeled:,} labeled positives, {n:,} unlabeled rows U; prior {facts.prior.true:.4f}, in U {share}",
    )


def class_counts(problem: Problem, info: DatasetInfo) -> dict[str, tuple[int, int, int]]:
    """Class -> its labeled, hidden and negative rows in the training pool; positive classes first, in index order."""
    train, code, y = problem.split.train, problem.data.y, problem.data.classes
    assert code is not None
    assert y is not None
    rows = np.bincount(y[train.rows], minlength=len(info.classes)).tolist()
    labeled = np.bincount(y[train.rows[train.labeled]], minlength=len(info.classes)).tolist()
    positive = {info.classes[k]: (labeled[k], rows[k] - labeled[k], 0) for k in np.unique(y[code == 1]).tolist()}
    return positive | {info.classes[k]: (0, 0, rows[k]) for k in np.unique(y[code == 0]).tolist()}
