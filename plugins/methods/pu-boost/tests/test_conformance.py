from pubench_core.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "pu-boost"
