from pubench_core.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "lbe-pu"
    sets = ("pre_training=2",)
