"""nnPU-GA in the engine: that it learns, and inputs at the edge of what is possible."""

from __future__ import annotations

from pubench_testkit.testing import MethodFacts, Trainer

trained = Trainer("nnpu-ga", short=("epochs=2",))


class TestFacts(MethodFacts):
    trained = trained
    learns = (("epochs=12 lr=3e-3 mechanism.c=0.3", 0.8),)
    presets_in = ("epochs=1", "steps_per_epoch=3")
    extremes = (
        *("mechanism.c=0.002 batch_size=2 steps_per_epoch=30", "mechanism.c=0.002 batching=paired"),
        *(f"prior={prior} surrogate={loss}" for prior in (0.01, 0.99) for loss in ("sigmoid", "logistic")),
    )
