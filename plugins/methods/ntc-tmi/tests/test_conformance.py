from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "ntc-tmi"
