from pubench_testkit.testing import MethodConformance


class TestSarEM(MethodConformance):
    key = "sar-em"


class TestPGlin(MethodConformance):
    key = "pglin"
