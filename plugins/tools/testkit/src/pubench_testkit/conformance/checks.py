"""The checks: functions of a :class:`Subject` that raise AssertionError with what is wrong. Names are their keys."""

from __future__ import annotations

import copy
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any, get_args

import numpy as np
import torch
from pubench_models.model_file import model_bytes
from pubench_models.saved_model import load_model
from pydantic import ValidationError

from pubench_core.engine.identity import code_of
from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PubenchError
from pubench_core.method import AnyMethod
from pubench_core.metric import FloatArray
from pubench_core.specs import Scheme

from .register import PATIENCE, TOLERANCE, NotApplicable, check
from .source_text import acting
from .subject import Subject, assert_finite, assert_same


@check("light-info")
def light_info(subject: Subject) -> None:
    """The entry-point module only describes, without torch, scikit-learn, scipy or the implementation."""
    module = subject.info.package
    heavy = ("torch", "sklearn", "scipy", "numba", "pandas", subject.info.load.split(":")[0])
    code = f"import sys, {module}; {module}.pubench_methods(); print(*[m for m in {heavy!r} if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"import {module} fails: {done.stderr.strip().splitlines()[-1:]}"
    assert not done.stdout.split(), f"import {module} imports {', '.join(done.stdout.split())}"
    entry = subject.registry.provider(subject.info).module
    file = getattr(sys.modules.get(entry), "__file__", None)
    found = [] if file is None or entry == subject.info.load.split(":")[0] else acting(Path(file))
    assert not found, f"{entry} only describes, and no hash of code has it: {found[0]}"


@check("hashed-code")
def hashed_code(subject: Subject) -> None:
    """All files of its distribution can be hashed, so that a stored result is never taken for one of other code."""
    code_of([subject.info], subject.registry)


@check("config")
def config(subject: Subject) -> None:
    """Config survives JSON, refuses unknown fields, says what every field means; every preset is valid."""
    kind = method_class(subject.info).Config
    for name, preset in {"(defaults)": None, **subject.info.presets}.items():
        for data in ("", *(preset.per_data if preset else ())):
            values = preset.resolve(data) if preset else {}
            try:
                made = kind.model_validate(values)
            except ValidationError as error:
                raise AssertionError(
                    f"preset {name} {data}: {error.errors()[0]['loc']} {error.errors()[0]['msg']}"
                ) from error
            again = kind.model_validate_json(made.model_dump_json())
            assert again == made, f"preset {name} changes when it is written as JSON and read back"
    try:
        kind.model_validate({"no_such_field": 1})
    except ValidationError:
        pass
    else:
        raise AssertionError("Config accepts the unknown field no_such_field")
    silent = [name for name, field in kind.model_fields.items() if not field.description]
    assert not silent, f"fields without a description: {', '.join(silent)}"


@check("needs")
def needs(subject: Subject) -> None:
    """The info record names exactly what ``requires`` says of the default configuration."""
    kind = method_class(subject.info)
    required = kind.requires(kind.Config())
    said = ", ".join(sorted(subject.info.needs)) or "nothing"
    assert required == subject.info.needs, (
        f"the info record needs {said}, requires(config) says {', '.join(sorted(required)) or 'nothing'}"
    )


@check("two-epochs-in-seconds")
def two_epochs_in_seconds(subject: Subject) -> None:
    """Two epochs on 200 rows."""
    seconds = subject.usual().seconds
    assert seconds < PATIENCE, f"two epochs on 200 rows took {seconds:.0f} s"


@check("finite-scores")
def finite_scores(subject: Subject) -> None:
    """One finite score per row, on every part, under every criterion; not all equal."""
    usual = subject.usual()
    problem, scores = usual.problem, usual.scores
    assert_finite(scores, "scores")
    for name, values in scores.items():
        n = len(problem.split.test_rows) if name.endswith("test") else len(problem.split.validation.rows)
        assert values.shape == (n,), f"{name}: {values.shape} scores for {n} rows"
    assert len(np.unique(scores["last/test"])) > 1, "every test row has the same score"


@check("order-of-rows")
def order_of_rows(subject: Subject) -> None:
    """A row's score depends neither on its position nor on the rows next to it."""
    trained = subject.usual().trained
    features, rows, _ = subject.usual().problem.part("test")
    fn, place = next(iter(trained.method.candidates().values())), {"stage": "check"}
    straight = trained.evaluator.scores(fn, features, rows, place)
    order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0)).to(rows.device)
    permuted = trained.evaluator.scores(fn, features, rows[order], place)
    apart = np.concatenate([trained.evaluator.scores(fn, features, rows[k : k + 1], place) for k in range(12)])
    size = np.abs(straight).max() + 1e-12
    gap = np.abs(permuted - straight[order.cpu().numpy()]).max() / size
    assert gap < TOLERANCE, f"scores of permuted rows are not the permuted scores (relative difference {gap:.1e})"
    gap = np.abs(apart - straight[:12]).max() / size
    assert gap < TOLERANCE, f"a row scored alone has another score than next to others (relative difference {gap:.1e})"


@check("same-seed-same-scores")
def same_seed_same_scores(subject: Subject) -> None:
    """Bit for bit."""
    assert_same(subject.usual().scores, subject.again().scores, "the same seed twice")


@check("other-seed-other-scores")
def other_seed_other_scores(subject: Subject) -> None:
    """On one split, two seeds do not give one result."""
    usual = subject.usual()
    other = subject.scores(subject.plan(seed=25), usual.problem)
    assert not np.array_equal(usual.scores["last/test"], other["last/test"]), "seeds 2 and 25 give the same scores"


@check("scoring-changes-nothing")
def scoring_changes_nothing(subject: Subject) -> None:
    """Scoring leaves the method as it is, and all outputs come from what ``scored_by`` names."""
    trained = subject.usual().trained
    method, place = trained.method, {"stage": "check"}
    features, rows, _ = subject.usual().problem.part("test")

    def outputs(candidate: str) -> dict[str, FloatArray]:
        scorer = {"": method.candidates()[candidate]}
        scores, auxiliary = trained.evaluator.outputs(scorer, features, rows, place, auxiliary=True)
        return {**scores, **auxiliary}

    candidate = next(iter(method.candidates()))
    before = copy.deepcopy(_states(method))
    first = outputs(candidate)
    changed = [name for name, value in _states(method).items() if not _equal(value, before.get(name))]
    assert not changed, f"scoring changed {', '.join(changed)}"
    unnamed = {name: value for name, value in vars(method).items() if name not in (*method.scored_by, "config")}
    for name in unnamed:
        delattr(method, name)
    try:
        again = outputs(candidate)
    except AttributeError as error:
        raise AssertionError(f"an output reads what scored_by does not name: {error}") from error
    finally:
        for name, value in unnamed.items():
            setattr(method, name, value)  # other checks look at it too
    assert_same(first, again, "outputs without the attributes that scored_by does not name")


def _states(method: AnyMethod) -> dict[str, Any]:
    """The state of every attribute that can be compared: modules by tensor, tensors, arrays and numbers."""
    found: dict[str, Any] = {}
    for name, value in vars(method).items():
        if hasattr(value, "state_dict"):
            found |= {f"{name}.{key}": item for key, item in value.state_dict().items()}
        elif isinstance(value, (torch.Tensor, np.ndarray, bool, int, float, str, list, dict, tuple)):
            found[name] = value
    return found


def _equal(one: Any, other: Any) -> bool:
    if isinstance(one, torch.Tensor):
        return isinstance(other, torch.Tensor) and torch.equal(one, other)
    if isinstance(one, np.ndarray):
        return np.array_equal(one, other)
    return bool(one == other) if isinstance(one, (bool, int, float, str)) else True


@check("save-and-load")
def save_and_load(subject: Subject) -> None:
    """A saved model scores as the method that was saved."""
    usual = subject.usual()
    plan, problem, trained = usual.plan, usual.problem, usual.trained
    rows = problem.split.test_rows
    with tempfile.TemporaryDirectory(prefix="pubench-check-") as folder:
        path = Path(folder, "model.safetensors")
        try:
            path.write_bytes(model_bytes(plan, problem, trained.method, next(iter(trained.method.candidates()))))
            scores = load_model(path, subject.registry).scores(np.asarray(problem.data.x[rows]))
        except PubenchError as error:
            raise AssertionError(str(error)) from error
    gap = np.abs(scores - trained.scores["last"]["test"]).max()
    allowed = TOLERANCE * (np.abs(scores).max() + 1e-12)  # batches of other rows may differ in the last bits
    assert gap <= allowed, f"the loaded model's scores differ by up to {gap:.1e}"


@check("schemes")
def schemes(subject: Subject) -> None:
    """case-control, single-training-set, one-sample and two-sample all give finite scores."""
    for scheme in get_args(Scheme):
        assert_finite(subject.usual(scheme).scores, scheme)


@check("image-text-tabular")
def image_text_tabular(subject: Subject) -> None:
    """Images, text vectors and tables all give finite scores."""
    assert_finite(subject.usual().scores, "tabular")
    for modality in ("image", "text"):
        assert_finite(subject.scores(subject.plan(modality=modality)), modality)


@check("calibration")
def calibration(subject: Subject) -> None:
    """Under one-sample data, ``calibrate`` decides whether U holds the labeled rows, and the method can take both.

    Either way a two-sample method is to believe that π is the share of positives in U.
    """
    if subject.is_oracle:
        raise NotApplicable("an oracle: it does not read who is labeled")
    found = {}
    for calibrate in ("on", "off"):
        plan = subject.plan(f"method.calibrate={calibrate}", scheme="single-training-set")
        problem = subject.problem(plan)
        view = problem.view(frozenset({"prior"}))
        if subject.info.setting == "two-sample":
            assert view.unlabeled_prior == view.prior, f"calibrate {calibrate}: U is to have {view.unlabeled_prior}"
        expected = len(problem.split.train.rows) - (0 if calibrate == "on" else view.n_labeled)
        assert view.n_unlabeled == expected, f"calibrate {calibrate}: U has {view.n_unlabeled} rows, not {expected}"
        usual = subject.usual("single-training-set")  # one of the two, as ``auto`` is resolved
        found[calibrate] = usual.scores if plan.run_id == usual.plan.run_id else subject.scores(plan, problem)
        assert_finite(found[calibrate], f"calibrate {calibrate}")
    assert not np.array_equal(found["on"]["last/test"], found["off"]["last/test"]), "calibrate on and off score alike"


@check("small-batches")
def small_batches(subject: Subject) -> None:
    """Batches of two rows and batches larger than the data: a result, or one clear error."""
    if "batch_size" not in method_class(subject.info).Config.model_fields:
        raise NotApplicable("it has no batches")
    for size, steps in ((2, 8), (512, 2)):
        subject.runs_or_refuses(subject.plan(f"batch_size={size}", f"steps_per_epoch={steps}"), f"batch_size {size}")


@check("one-label")
def one_label(subject: Subject) -> None:
    """A c so small that one positive is labeled: a result, or one clear error."""
    for scheme in ("case-control", "single-training-set"):
        plan = subject.plan("mechanism.c=0.03", "validation.fraction=0.4", scheme=scheme)
        labeled = subject.problem(plan).split.train.n_labeled
        assert labeled == 1, f"the sample problem labels {labeled} rows"
        subject.runs_or_refuses(plan, f"one labeled positive, {scheme}")


@check("prior-near-0-and-1")
def prior_near_0_and_1(subject: Subject) -> None:
    """Given priors of .001 and .999: a result, or one clear error."""
    for prior in (0.001, 0.999):
        subject.runs_or_refuses(subject.plan(f"prior={prior}"), f"prior {prior}")


@check("cuda")
def cuda(subject: Subject) -> None:
    """On a GPU: host and device are not mixed, finite scores, the same seed the same scores."""
    if "cuda" not in subject.info.devices:
        raise NotApplicable("declared for the CPU only")
    if not torch.cuda.is_available():
        raise NotApplicable("no CUDA device is here")
    there = subject.on(torch.device("cuda", 0))
    plan = there.plan(modality="image")
    try:
        one = there.scores(plan)
    except RuntimeError as error:  # of torch in scoring; in training the engine makes it RunFailed
        raise AssertionError(str(error)) from error
    assert_finite(one, "cuda")
    assert_same(one, there.scores(plan), "the same seed twice on cuda")
