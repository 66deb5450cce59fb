from pubench_core.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "pul-cpbf"
    sets = ("fence=3", "fence_epochs=1")
