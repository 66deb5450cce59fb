"""Reference runs, whose numbers change only with the code that the record of a run names.

Plugins are hashed; of core, the record names ``ENGINE_REVISION``. A change of core that changes a number of these runs
therefore fails here until the revision is raised. Then, or if another part of the code changed, the runs are recorded
again:

    python tests/test_engine_revision.py

The runs of method ``exact`` work with whole numbers and are compared bit by bit, on every processor. Those of networks
are compared within what processors differ by. Both hold for the versions of torch and NumPy that pyproject.toml pins.
"""

from __future__ import annotations

import hashlib
import json
import sys
import tempfile
from collections.abc import Callable
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.optim import Optimizer

import pubench_core.training.run as training
from pubench_cli.yaml_layers import assigned
from pubench_core.data import generator, sampling
from pubench_core.engine import execute, identity
from pubench_core.engine.resolve import resolve
from pubench_core.engine.select import Track
from pubench_core.plugins.registry import GROUP, Registry
from pubench_core.randomness import torch_seed
from pubench_core.records.files import read_scores
from pubench_core.training import batches, optimizers
from pubench_core.training.run import Run

RECORDED = Path(__file__).parent / "reference" / "engine.json"
COMMON = ("data.key=digits", "backbone.key=mlp-wang", "execution.threads=1", "execution.device=cpu")
CRITERIA = "selection.criteria=[pa, pauc, native, oa, f1, last]"
RUNS = {
    "case-control": ("method.key=exact", CRITERIA),
    "single-training-set": ("method.key=exact", "data.scheme=single-training-set", "mechanism.c=0.5", CRITERIA),
    "one-sample": (
        *("method.key=exact", "data.scheme=one-sample", "data.total=600", "mechanism.positive_rate=0.25"),
        *("seed=25", CRITERIA),
    ),
    "two-sample": (
        *("method.key=exact", "data.scheme=two-sample", "data.total=600", "mechanism.positive_rate=0.25"),
        *("prior=scaled:1.2", CRITERIA),
    ),
    "sgd": (
        *("method.key=nnpu", "optimizer=sgd", "momentum=0.9", "lr=0.01", "epochs=2", "data.preprocess=standardize"),
        "selection.criteria=[pa, last]",
    ),
    "adam": ("method.key=nnpu", "batching=paired", "epochs=2", "seed=25", "selection.criteria=[pa, last]"),
}
#: How far scores of networks may be apart on two processors, in units of their deviation.
NEAR = 0.01


def carried_out(name: str, results: Path) -> dict[str, Any]:
    """One run: the code that it names, and its numbers."""
    plugins = Registry([*entry_points(group=GROUP), EntryPoint("exact", "pubench_exact", GROUP)])
    layer = assigned(*COMMON, *RUNS[name], f"execution.results={results}", "execution.tracking=false")
    plan = resolve([layer], plugins)
    outcome = execute.execute(plan)
    criteria = {f"metric {key}": plan.metrics[key].code for key in plan.spec.selection.criteria if key in plan.metrics}
    arrays = read_scores(outcome.folder)
    exact = "method.key=exact" in RUNS[name]
    chosen = {key: criterion.snapshot for key, criterion in outcome.result.criteria.items()}
    numbers = {
        key: hashlib.sha256(array.tobytes()).hexdigest() if exact or "scores" not in key else array[:20].tolist()
        for key, array in sorted(arrays.items())
        if exact or "scores" not in key or key == "test_scores_last"
    }
    return {"code": outcome.result.code.parts | criteria, "numbers": numbers | ({"chosen": chosen} if exact else {})}


def changed(stored: dict[str, Any], found: dict[str, Any]) -> list[str]:
    """The numbers of a run that are others now."""
    before, now = stored["numbers"], found["numbers"]
    return [key for key in sorted(before.keys() | now.keys()) if not _same(before.get(key), now.get(key))]


def _same(before: Any, now: Any) -> bool:
    if isinstance(before, list) and isinstance(now, list):
        return len(before) == len(now) and bool(np.abs(np.subtract(before, now)).max() < NEAR * np.std(before))
    return bool(before == now)


def fault(name: str, stored: dict[str, Any], found: dict[str, Any]) -> str:
    """What is wrong with a run; empty if nothing is."""
    parts = stored["code"].keys() | found["code"].keys()
    other = sorted(part for part in parts if stored["code"].get(part) != found["code"].get(part))
    if not other and (numbers := changed(stored, found)):
        return (
            f"run {name} has other numbers than recorded under engine {found['code']['engine']}: {', '.join(numbers)}. "
            "Raise ENGINE_REVISION in pubench_core/engine/identity.py if that is meant"
        )
    again = "record the runs again: python tests/test_engine_revision.py"
    return f"run {name} was recorded by other code of {', '.join(other)}; {again}" if other else ""


@pytest.fixture(scope="module")
def recorded() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(RECORDED.read_text())
    return found


@pytest.mark.parametrize("name", RUNS)
def test_a_reference_run_has_the_numbers_that_its_code_had(name: str, recorded: dict[str, Any], tmp_path: Path) -> None:
    assert fault(name, recorded[name], carried_out(name, tmp_path)) == ""


# -------------------------------------------------------------------- changes that must be seen


def rows_reversed(*args: Any) -> list[Tensor]:
    return [rows.flip(0) for rows in batches.shuffled_pass(*args)]


def without_momentum(*args: Any) -> Optimizer:
    optimizer = optimizers.new_optimizer(*args)
    optimizer.param_groups[0]["momentum"] = 0.0
    return optimizer


def by_method_draws(of: Run[Any], view: Callable[..., Tensor], x: Tensor) -> Tensor:
    return view(x, of.generator)


#: What is put in the place of what, and the run that must see it.
CHANGES: dict[str, tuple[str, Any, str, Any]] = {
    "rows in a batch": ("case-control", training, "shuffled_pass", rows_reversed),
    "the random order of the pool": ("case-control", generator.Split, "permuted", lambda split, seed: split),
    "how many rows are labeled": (
        *("single-training-set", generator, "label_count"),
        lambda c, n_positive: 1 + label_count(c, n_positive),
    ),
    "who is drawn": ("two-sample", sampling, "balanced", lambda data, pool, n: pool[:n]),
    "which epoch is chosen": ("one-sample", Track, "_worth", lambda track, choice: -choice.value),
    "the stream of views": ("case-control", Run, "augment", by_method_draws),
    "initialization": ("adam", training, "torch_seed", lambda seed, *purpose: torch_seed(seed + 1, *purpose)),
    "an option of an optimizer": ("sgd", training, "new_optimizer", without_momentum),
}
label_count = generator.label_count


@pytest.mark.parametrize("change", CHANGES)
def test_a_change_of_the_engine_under_the_same_revision_is_a_fault(
    change: str, recorded: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    name, owner, attribute, other = CHANGES[change]
    monkeypatch.setattr(owner, attribute, other)
    monkeypatch.setattr(execute, "refuse_replaced", lambda packages: None)
    found = carried_out(name, tmp_path)
    assert "Raise ENGINE_REVISION" in fault(name, recorded[name], found)
    monkeypatch.setattr(identity, "ENGINE_REVISION", identity.ENGINE_REVISION + 1)
    raised = carried_out(name, tmp_path / "raised")
    assert fault(name, recorded[name], raised).startswith(f"run {name} was recorded by other code of engine; ")


def record() -> None:
    """Writes the file, unless numbers changed under the same code."""
    stored = json.loads(RECORDED.read_text()) if RECORDED.exists() else {}
    found = {}
    with tempfile.TemporaryDirectory() as scratch:
        for name in RUNS:
            found[name] = carried_out(name, Path(scratch, name))
            if name in stored and stored[name]["code"] == found[name]["code"] and changed(stored[name], found[name]):
                sys.exit(fault(name, stored[name], found[name]))
    RECORDED.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    torch.set_num_threads(1)
    sys.path.insert(0, str(Path(__file__).parent / "doubles"))
    record()
