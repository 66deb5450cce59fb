"""Nothing mixes host and device, and every wait within a training step is known and has a reason.

On a machine without a GPU the device is pretended; with one, methods run on it.
"""

from __future__ import annotations

import re
import warnings
from collections import Counter
from functools import cache
from pathlib import Path

import numpy as np
import pytest
import torch
from fake_device import DeviceError, pretended_device, train_on, two_steps
from pubench_testkit.conformance import Subject
from pubench_testkit.conformance.register import check_one
from pubench_testkit.conformance.subject import SAMPLES, registry_with_samples
from registries import registry_with
from waits import Wait, Watch, trained_on_device, watched

from pubench.method import TrainingConfig
from pubench_core.engine.resolve_method import method_class
from pubench_core.engine.train import Trained
from pubench_core.errors import RunFailed
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Registry

PAGE = Path(__file__).parents[4] / "docs" / "pages" / "devices.md"
METHODS = [entry.key for entry in registry_with_samples().entries("method") if entry.status == "ok"]
#: What makes every stage of a method short, and gives each of them several steps.
SHORT = {
    "cvir": ("warm_up=1",),
    "mpe-pu": ("warm_up=1",),
    "lbe-pu": ("pre_training=2", "pre_training_batch_size=64"),
    "p3mix-c": ("warm_up=1",),
    "p3mix-e": ("warm_up=1",),
    "holistic-pu": ("trend_epochs=2", "trend_steps=3"),
    "pubn": ("first_epochs=2",),
    "pue": ("warm_up=1",),
    "pul-cpbf": ("fence=2", "fence_epochs=1"),
    "robust-pu": ("pre_training=2", "inner_epochs=2"),
    "vae-pu": ("pretraining_epochs=1", "epochs=8"),
}
#: How the waits of a method are counted: modality and scheme.
PROBLEMS = (("image", "case-control"), ("tabular", "single-training-set"))
A_GPU_IS_HERE = torch.cuda.is_available()

# -------------------------------------------------------------------- doubles that break a rule each


@pytest.fixture(scope="module")
def doubles() -> Registry:
    return registry_with(SAMPLES.value, "pubench_undisciplined")


def double(doubles: Registry, key: str) -> Subject:
    return Subject(doubles.find(MethodInfo, key), doubles)


def refusal(subject: Subject) -> str:
    with pretended_device() as device, pytest.raises((RunFailed, DeviceError)) as refused:
        train_on(device, subject, modality="image")
    return str(refused.value)


@pytest.mark.parametrize(
    ("key", "words", "line"),
    [
        ("mixes", "mul is given tensors on the device and one of shape (32,) on the host", "Mixes.learn"),
        ("indexesfromhost", "on the host is the index of one on the device", "IndexesFromHost.learn"),
        ("indexesfromdevice", "on the device is the index of one on the host", "IndexesFromDevice.learn"),
        ("takesfromhost", "on the host is the index of one on the device", "TakesFromHost.learn"),
        ("drawsonhost", "draws from a generator of the host", "DrawsOnHost.learn"),
        ("converts", ".numpy() of a tensor on the device", "Converts.learn"),
        ("scoresonhost", "sub is given tensors on the device", "ScoresOnHost.decision_function"),
    ],
)
@pytest.mark.skipif(A_GPU_IS_HERE, reason="the words are those of the pretended device")
def test_a_training_that_mixes_names_operation_and_line(doubles: Registry, key: str, words: str, line: str) -> None:
    reason = refusal(double(doubles, key))
    assert words in reason
    assert re.search(rf"doubles/pubench_undisciplined\.py:\d+ \({line}\)", reason)


@pytest.mark.skipif(A_GPU_IS_HERE, reason="the words are those of the pretended device")
def test_a_place_in_core_names_the_line_that_led_there(doubles: Registry) -> None:
    reason = refusal(double(doubles, "takesfromhost"))
    assert re.search(r"at pubench_core/training/views\.py:\d+ \(\w+\.take\), called from doubles/pubench_undis", reason)


def test_a_sound_double_is_trained(doubles: Registry) -> None:
    with pretended_device() as device:
        assert train_on(device, double(doubles, "disciplined"), modality="image").scores


def test_the_check_on_a_gpu_names_the_operation(doubles: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the kit has without this device: ``cuda``, which is tried if there is a GPU."""
    with pretended_device():
        monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
        finding = check_one(double(doubles, "mixes"), "cuda")
        on_cpu = check_one(double(doubles, "mixes-on-cpu"), "cuda")
    assert finding.verdict == "failed"
    assert "mul is given tensors on the device" in finding.reason
    assert (on_cpu.verdict, on_cpu.reason) == ("not applicable", "declared for the CPU only")


@pytest.mark.skipif(A_GPU_IS_HERE, reason="a GPU's own warning does not say which operation waits")
def test_waits_within_steps_are_told_from_those_once_per_epoch(doubles: Registry) -> None:
    def found(key: str) -> tuple[list[str], Watch]:
        watch, _ = trained_on_device(double(doubles, key))
        steps = list(watch.within_steps().values())
        assert len(steps) == 2  # two epochs of two steps; the first of each belongs to no measure
        assert all([w.operation for w in step] == [w.operation for w in steps[0]] for step in steps)
        return [f"{w.operation}: {w.place.code}" for w in steps[0]], watch

    assert found("disciplined")[0] == []
    within, watch = found("reads")
    assert within == ["item: self.seen += risk.item()"]
    once = [w for w in watch.waits if w.operation == "item" and "norm()" in w.place.code]
    assert [(w.epoch.total if w.epoch else None, w.step) for w in once] == [(0, 0), (1, 0)]
    assert found("selects")[0] == [
        "index by a mask: on_positives = z[batch.labeled]",
        "index_put by a mask (gradient): on_positives = z[batch.labeled]",
    ]


def test_on_a_gpu_what_torch_warns_of_is_noted_where_it_happens(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand-ins for the driver: the mode is set for the block only, and other warnings are left to others."""
    modes: list[object] = []
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(torch.cuda, "synchronize", lambda device=None: modes.append(f"synchronized {device}"))
    monkeypatch.setattr(torch.cuda, "get_sync_debug_mode", lambda: 0)
    monkeypatch.setattr(torch.cuda, "set_sync_debug_mode", modes.append)
    with warnings.catch_warnings(record=True) as others, watched() as watch:
        warnings.filterwarnings("always", "something else")
        warnings.warn("called a synchronizing CUDA operation (Triggered internally)", stacklevel=1)
        torch.cuda.synchronize(watch.device)
        warnings.warn("something else", stacklevel=1)
    assert [str(other.message) for other in others] == ["something else"]
    assert [(w.operation, w.place.file) for w in watch.waits] == [
        ("wait", "tests/test_device_discipline.py"),
        ("torch.cuda.synchronize", "tests/test_device_discipline.py"),
    ]
    assert modes == ["warn", f"synchronized {watch.device}", 0]


# -------------------------------------------------------------------- every method


@cache
def trained(key: str) -> list[tuple[Watch, Trained]]:
    """Every stage of the method, in every problem. Raises what is raised where host and device are mixed."""
    subject = Subject.of(key, SHORT.get(key, ()))
    return [trained_on_device(subject, modality=m, scheme=s) for m, s in PROBLEMS]


def kind_of(wait: Wait) -> tuple[str, str]:
    """(for what, where), as in the table."""
    place = wait.place
    return wait.operation, f"`{place.file}`, `{place.function}`: `{place.code.split('  #')[0]}`"


def waits_per_step(key: str) -> Counter[tuple[str, str]]:
    """(for what, where) -> how often in one step, at most."""
    most: Counter[tuple[str, str]] = Counter()
    for watch, _ in trained(key):
        for waits in watch.within_steps().values():
            most |= Counter(map(kind_of, waits))
    return most


def table() -> list[list[str]]:
    """method, waits per step, for what, where, why: the rows of the page."""
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", row)[1:-1]] for row in rows]


def test_the_page_has_every_published_method() -> None:
    """Others, which are being written, must be in it as soon as they wait."""
    named = [key.strip("`") for key in dict.fromkeys(row[0] for row in table())]
    assert named == [key for key in METHODS if key in named]
    assert all(key in named for key in METHODS if Subject.of(key).info.reference is not None)


@pytest.mark.parametrize("key", METHODS)
def test_every_wait_within_a_training_step_is_in_the_table_with_its_reason(key: str) -> None:
    rows = [row[1:] for row in table() if row[0] == f"`{key}`"]
    on_cpu_only = "cuda" not in Subject.of(key).info.devices
    if not rows and Subject.of(key).info.reference is None:
        rows = [["", "", "", "CPU only"]] if on_cpu_only else [["0", "", "", ""]]
    if on_cpu_only:
        (row,) = rows
        assert row[:3] == ["", "", ""]
        assert "CPU" in row[3]
        return
    found = waits_per_step(key)
    if A_GPU_IS_HERE:  # it says that there is a wait, not for what; and kernels wait as often as they like
        assert (not found) == (rows == [["0", "", "", ""]])
        return
    wanted = [[str(n), what, where.replace("|", "\\|")] for (what, where), n in found.items()] or [["0", "", ""]]
    as_rows = "\n".join(f"| `{key}` | {' | '.join(row)} | (why) |" for row in wanted)
    assert sorted(row[:3] for row in rows) == sorted(wanted), f"docs/pages/devices.md should have\n{as_rows}"
    assert all(row[3] for row in rows if row[0] != "0"), "a wait without a reason"


def test_nnpu_never_waits_within_a_step() -> None:
    assert not waits_per_step("nnpu")


@pytest.mark.parametrize("key", METHODS)
def test_every_stage_had_steps_to_look_at(key: str) -> None:
    if "cuda" not in Subject.of(key).info.devices:
        pytest.skip(f"{key} is declared for the CPU only")
    for watch, _ in trained(key):
        stages = {epoch.stage for epoch in watch.epochs.values()}
        assert {stage for stage, _, _ in watch.within_steps()} == stages
    if key in ("p3mix-c", "p3mix-e"):
        assert stages == {"mixup", "heuristic mixup"}


@pytest.mark.skipif(A_GPU_IS_HERE, reason="a GPU rounds otherwise")
@pytest.mark.parametrize("key", ["nnpu", "self-pu", "cgenpu", "holistic-pu"])
def test_a_method_scores_the_same_there_bit_for_bit(key: str) -> None:
    """The pretended device computes on the CPU: what differs would be the device's own, not the method's."""
    subject = Subject.of(key, SHORT.get(key, ()))
    for (modality, scheme), (_, there) in zip(PROBLEMS, trained(key), strict=True):
        here = subject.train(subject.plan(*two_steps(subject), modality=modality, scheme=scheme))
        assert there.scores.keys() == here.scores.keys()
        for criterion, parts in here.scores.items():
            for part, scores in parts.items():
                np.testing.assert_array_equal(there.scores[criterion][part], scores)


def switches(key: str, preset: str) -> tuple[tuple[str, object], ...]:
    """Fields of the method's own that choose what its code does: words, flags, and which numbers are 0."""
    info = Subject.of(key).info
    config = method_class(info).Config
    values = config(**(info.presets[preset].values if preset in info.presets else {})).model_dump()
    own = {name: values[name] for name in sorted(values.keys() - TrainingConfig.model_fields.keys())}
    return tuple((name, x if isinstance(x, str | bool | None) else bool(x)) for name, x in own.items())


def other_paths(key: str) -> list[str]:
    """A preset for each set of switches that the runs above (``quick``, if there is one) do not have."""
    first = {switches(key, "quick"): "quick"}
    for preset in sorted(Subject.of(key).info.presets):
        first.setdefault(switches(key, preset), preset)
    return [preset for preset in first.values() if preset != "quick"]


PRESETS = [
    pytest.param(key, preset, id=f"{key}-{preset}")
    for key in METHODS
    if "cuda" in Subject.of(key).info.devices
    for preset in other_paths(key)
]


@pytest.mark.parametrize(("key", "preset"), PRESETS)
def test_no_preset_mixes_host_and_device(key: str, preset: str) -> None:
    """With one hidden layer: the runs above have a network for images. Stages of several epochs have a step in each."""
    subject = Subject.of(key, SHORT.get(key, ("epochs=1",)))
    sets = ("backbone.key=mlp-wang", *(("steps_per_epoch=1",) if key in SHORT else ()))
    watch, _ = trained_on_device(subject, f"method.preset={preset}", *sets, modality="image")
    assert watch.steps.total() >= 2
