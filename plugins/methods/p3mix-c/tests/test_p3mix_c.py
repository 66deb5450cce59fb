"""P3Mix-C in the engine: stages, refusals, and that what is mixed is the input."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from pubench_backbones.networks import lenet, mlp
from pubench_p3mix_c.method import P3MixC
from pubench_testkit.testing import Trainer

from pubench_core.errors import RequestError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_formulas.mixing import forward_mixed

pytestmark = pytest.mark.usefixtures("one_thread")


trained = Trainer("p3mix-c", sets=("steps_per_epoch=3",))


def test_the_warm_up_is_never_cut_short_and_patience_counts_from_its_end() -> None:
    result = trained("epochs=30", "warm_up=6", "patience=2", "selection.criterion=pauc", "selection.criteria=[pauc]")
    stages = [event.stage for event in result.epochs]
    assert stages[:6] == ["mixup"] * 6
    heuristic = stages[6:]
    assert 2 <= len(heuristic) <= 24
    assert set(heuristic) == {"heuristic mixup"}


@pytest.mark.parametrize(("epochs", "warm_up", "stages"), [(2, 5, {"mixup"}), (2, 0, {"heuristic mixup"})])
def test_all_epochs_may_be_of_one_stage(epochs: int, warm_up: int, stages: set[str]) -> None:
    result = trained(f"epochs={epochs}", f"warm_up={warm_up}")
    assert len(result.epochs) == epochs
    assert {event.stage for event in result.epochs} == stages


def test_a_layer_that_the_network_lacks_is_refused() -> None:
    with pytest.raises(RequestError, match="mix_layer 3: this backbone has stages 0 to 2; -1 mixes inputs"):
        trained("mix_layer=3")


def test_every_layer_that_the_network_has_gives_another_result() -> None:
    scores = [trained("epochs=2", "warm_up=1", f"mix_layer={layer}").scores["last"]["test"] for layer in (-1, 0, 1, 2)]
    for i, first in enumerate(scores):
        for second in scores[i + 1 :]:
            assert not np.allclose(first, second)


@pytest.mark.parametrize("build", [lambda: mlp((64,), 1), lambda: lenet((1, 28, 28), 1)], ids=["mlp", "lenet"])
def test_mixing_inputs_is_one_pass_and_without_mixing_the_row_itself(build: object) -> None:
    net = build().eval()  # type: ignore[operator]
    x, partner = torch.rand(2, 5, *((64,) if net.feature_dim == 64 else (1, 28, 28)))
    with torch.no_grad():
        mixed = forward_mixed(net, x, partner, 0.7, -1)
        torch.testing.assert_close(mixed, net(0.7 * x + 0.3 * partner))
        torch.testing.assert_close(forward_mixed(net, x, partner, 1.0, -1), net(x))
        for layer in range(len(net.stages)):
            torch.testing.assert_close(forward_mixed(net, x, partner, 1.0, layer), net(x))


@pytest.mark.parametrize(("data", "batch_size"), [("cifar10", 64), ("imagenette", 64), ("usps", 128), ("letter", 128)])
def test_wang_et_als_lengths_are_passes_over_u(data: str, batch_size: int) -> None:
    (info,) = [info for info in registry().infos(MethodInfo) if info.key == "p3mix-c"]
    values = info.presets["wang"].resolve(data)
    assert (values["batch_size"], values["epochs"] * values["steps_per_epoch"]) == (batch_size, 20_000)
    # Their counter of epochs is at 20, 40, ... when 19, 39, ... passes are over.
    assert (values["counted_in"], values["warm_up"], values["milestones"]) == ("passes", 5, (19, 39, 59, 79, 99))
    P3MixC.Config(**values)


@pytest.mark.parametrize("batch_size", [16, 64])
def test_passes_are_longer_with_smaller_batches(batch_size: int) -> None:
    result = trained("epochs=30", "warm_up=2", "counted_in=passes", f"batch_size={batch_size}", "steps_per_epoch=10")
    stages = [event.stage for event in result.epochs]
    assert stages.count("mixup") == round(
        2 * (result.evaluator.problem.view(frozenset()).n_unlabeled // batch_size) / 10
    )


def test_few_labeled_positives_are_enough() -> None:
    result = trained("mechanism.c=0.01", "validation.fraction=0.5", "epochs=3", "warm_up=1", "pool_size=100")
    assert np.isfinite(result.scores["last"]["test"]).all()
