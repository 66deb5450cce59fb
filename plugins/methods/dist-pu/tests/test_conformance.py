from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "dist-pu"
