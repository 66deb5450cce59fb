from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "lbe-pu"
    sets = ("pre_training=2",)
