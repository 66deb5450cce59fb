from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "lagam-pu"
    sets = ("warm_up=0.5", "clusters=5")  # one epoch of either kind
