from pubench_testkit.testing import MethodConformance


class TestConformance(MethodConformance):
    key = "vae-pu"
    sets = ("pretraining_epochs=1", "epochs=8", "networks=by-shape")  # every stage has an epoch
