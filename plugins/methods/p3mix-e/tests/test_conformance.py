from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "p3mix-e"
    sets = ("warm_up=1", "steps_per_epoch=10")  # both stages, each of a few steps
