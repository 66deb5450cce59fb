"""``pubench data show``: a picture of the problem that ``pubench run`` would train on with the same seed.

What is drawn is collected in :mod:`.contents` and drawn in :mod:`.figures`.
"""

from __future__ import annotations

import sys
from contextlib import redirect_stdout
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pubench_cli.console import err
from pubench_cli.machine import print_json
from pubench_cli.messages import said
from pubench_cli.options import Given
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.progress import data_progress
from pubench_cli.visible import rows_out
from pubench_core.data.dataset import data_root
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MechanismInfo, MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.results import DataFacts
from pubench_core.specs import RunSpec

from .contents import GRID, blocks, class_counts, posterior

if TYPE_CHECKING:
    from pubench_core.data.dataset import DataRoot

#: Not a data set: two schemes compared in closed form.
TOY = "toy-gaussian"


def show(key: str, given: Given, out: Path | None, *, as_json: bool = False) -> None:
    """Writes a PNG (``KEY-MECH.png`` if ``out`` is None) and prints its path.

    ``toy-gaussian`` compares both schemes, so the scheme and the seed say nothing there.

    Raises RequestError for what cannot be resolved, labeled or written.
    """
    mechanism = given.get("--mech", "scar")
    path = out if out is not None else Path(f"{key.replace('/', '-')}-{mechanism}.png")
    if path.suffix.lower() != ".png":
        raise RequestError(f"--out must end in .png, got {path}")
    refuse_unwritable(path)
    from .data_figures import plain_style, write_png
    from .gaussian import toy_figure

    with plain_style(), redirect_stdout(sys.stderr):  # what a plugin prints must not mix with the path
        if key == TOY:
            figure = toy_figure(registry().find(MechanismInfo, mechanism), given.get("--c", "0.1"))
        else:
            plan = plan_of(registry(), key, given)
            root = data_root(
                plan.spec.execution, lambda text: err().print(said(text), markup=False), progress=data_progress
            )
            figure = _figure(plan, root)
        write_png(figure, path)
    if as_json:
        print_json({"picture": str(path)})
    else:
        print(path, file=rows_out())


def plan_of(plugins: Registry, key: str, given: Given) -> Plan:
    """A run with these data, labels and seed; its method has no part in them."""
    layer = given.layer()
    layer.put(("data", "key"), key, "")
    layer.put(("method", "key"), _any_method(plugins), "")
    return resolve([layer], plugins)


def _any_method(plugins: Registry) -> str:
    """A plan is of a method, and split and labels are the same for all: the first that loads and needs no truth."""
    for info in plugins.infos(MethodInfo):
        if "truth" in info.needs:
            continue
        try:
            method_class(info)
        except PluginError:  # broken, and not needed here
            continue
        return info.key
    raise RequestError("no method is installed (pubench list methods), and a problem is built for one")


def heading(spec: RunSpec, data: DatasetInfo, mechanism: MechanismInfo, facts: DataFacts) -> tuple[str, ...]:
    """Lines over a picture: the data, the request, counts and prior of ``problem.facts()`` (in mathtext)."""
    aliases = f" ({', '.join(mechanism.aliases)})" if mechanism.aliases else ""
    train, prior = facts.train, facts.prior.true
    return (
        data.name,
        f"{mechanism.key}{aliases}, {spec.mechanism.amount_in_words}, {spec.data.scheme}, seed {spec.seed}",
        f"$N_l$ = {train.labeled:,} labeled positives, $n_U$ = {train.unlabeled:,} unlabeled rows, "
        f"prior π = {prior:.4f}",
    )


def scheme_note(spec: RunSpec, facts: DataFacts) -> str:
    """Note on U under the scheme, and its share of positives."""
    positive, n = facts.train.unlabeled_positive, facts.train.unlabeled
    assert positive is not None  # labels are simulated, so the truth is known
    assert n is not None
    share = f"its prior is {positive:,} / {n:,} = {positive / n:.4f}."
    what = {
        "case-control": "Case-control: U is the whole pool, labeled positives included",
        "single-training-set": "Single training set: U is the pool without the labeled positives",
        "one-sample": "One-sample: U is a class-balanced draw without the labeled positives",
        "two-sample": "Two-sample: U is a class-balanced draw, P of the positives that are left",
    }[spec.data.scheme]
    return f"{what}; {share}"


def _figure(plan: Plan, root: DataRoot) -> Any:
    from pubench_core.engine.build import build_problem

    from .data_figures import class_figure, image_figure

    assert plan.data.source is not None
    if plan.mechanism is None:
        raise RequestError(
            f"{plan.data.info.address} brings its labels; 'data show' draws what a labeling mechanism does",
            field="data.key",
        )
    problem, spec, info, mechanism = build_problem(plan, root=root), plan.spec, plan.data.info, plan.mechanism.info
    facts = problem.facts()
    lines, note = heading(spec, info, mechanism, facts), scheme_note(spec, facts)
    if len(problem.data.shape) == 3:  # (channels, height, width)
        names = ", ".join(info.classes[k] for k in spec.data.positive)
        return image_figure(blocks(problem), GRID[1], lines, f"Positive classes: {names}.", note)
    counts, propensity = class_counts(problem, info), posterior(problem, root.cache / "posterior")
    return class_figure(counts, propensity, lines, note, by_chance=mechanism.assumption == "SCAR")
