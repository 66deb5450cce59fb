from pubench_core.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "holistic-pu"
    sets = ("trend_epochs=2", "trend_steps=5", "steps_per_epoch=10")  # both stages, each of a few steps
