from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "pul-cpbf"
    sets = ("fence=3", "fence_epochs=1")
