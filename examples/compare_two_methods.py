"""Two methods on two data sets, three seeds each: a table, and whether the difference is more than chance.

    python examples/compare_two_methods.py

Records go to ./results. Run it a second time, or interrupt it and start it again: what has run is not run again.
"""

import pubench

# Every run is resolved before the first one trains, so a misspelled name is refused at once. The progress of the runs
# goes to stderr. The hyper-parameters in config hold for both methods; ten epochs are for the example's sake.
results = pubench.compare(
    ["nnpu", "vpu"],
    data=["digits", "breast-cancer"],
    seeds=3,
    mechanism="scar",
    c=0.1,
    config={"epochs": 10},
    tracking=False,
)
print(results)

# Mean and sample standard deviation of the test accuracy, the epoch chosen by PA, which needs no true label. The notes
# below the table say which runs a reader should look at: a network that calls every row negative, for instance.
print()
print(results.table())

# The same runs, without training anything, by what is chosen with true labels (an oracle, and marked as one), and by
# another measure.
print()
print(results.table(criterion="f1"))
print(results.table("auc"))

# Paired over seeds, because a seed is the same split and the same labels for both methods.
print()
print(results.significance("auc"))

# Everything as a pandas frame: one row per run, or per run and criterion.
frame = results.to_frame(criteria="all", config=["lr"])
print()
print(frame.groupby(["data", "name", "criterion"], sort=False)["test_accuracy"].mean().unstack().round(3))

# Two settings of one method are compared under names of your own; what was stored above is used again.
settings = {"nnpu": {}, "nnpu, small steps": {"method": "nnpu", "config": {"lr": 1e-4}}}
print()
print(pubench.compare(settings, data="digits", seeds=3, c=0.1, config={"epochs": 10}, tracking=False).table("auc"))
