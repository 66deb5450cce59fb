"""P3Mix-C in the engine: stages, refusals, and that what is mixed is the input."""

from __future__ import annotations

import pytest
from pubench_testkit.testing import MethodFacts, Trainer

from pubench_core.errors import RequestError

trained = Trainer("p3mix-c", short=("epochs=2", "warm_up=1"), sets=("steps_per_epoch=3",))


class TestFacts(MethodFacts):
    trained = trained
    options = ("mix_layer=0", "mix_layer=1", "mix_layer=2")
    stages = (
        ("epochs=2 warm_up=5", ["mixup"] * 2),
        ("epochs=2 warm_up=0", ["heuristic mixup"] * 2),
        # 2 passes of 71 batches over the 1,149 rows of U
        (
            "epochs=16 warm_up=2 counted_in=passes steps_per_epoch=10 batch_size=16",
            ["mixup"] * 14 + ["heuristic mixup"] * 2,
        ),
    )


def test_the_warm_up_is_never_cut_short_and_patience_counts_from_its_end() -> None:
    result = trained("epochs=30", "warm_up=6", "patience=2", "selection.criterion=pauc", "selection.criteria=[pauc]")
    stages = [event.stage for event in result.epochs]
    assert stages[:6] == ["mixup"] * 6
    heuristic = stages[6:]
    assert 2 <= len(heuristic) <= 24
    assert set(heuristic) == {"heuristic mixup"}


def test_a_layer_that_the_network_lacks_is_refused() -> None:
    with pytest.raises(RequestError, match="mix_layer 3: this backbone has stages 0 to 2; -1 mixes inputs"):
        trained("mix_layer=3")
