from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "holistic-pu"
    sets = ("trend_epochs=2",)
