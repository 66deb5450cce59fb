from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "self-pu"
    # The third epoch has clean rows, calibrated weights, teachers and the other student.
    sets = ("epochs=3", "paced_from=1", "choose_every=1", "ramp_from=0", "ramp_epochs=1", "taught_from=1")
