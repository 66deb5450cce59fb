"""Labeled, hidden and negative rows of each class, as a labeling mechanism decides it for a run.

    python examples/who_is_labeled.py digits s3 0.1

The arguments are a data set, a mechanism and c, the label frequency. The counts are of the training pool of seed 2.
"""

import sys

import numpy as np

from pubench_cli.yaml_layers import assigned
from pubench_core.data.dataset import data_root
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry

data, mechanism, c = sys.argv[1:] or ("digits", "s3", "0.1")
layer = assigned("method.key=naive", f"data.key={data}", f"mechanism.key={mechanism}", f"mechanism.c={c}")
plan = resolve([layer], registry())
problem = build_problem(plan, root=data_root(plan.spec.execution, print))
train, y, positive = problem.split.train, problem.data.classes, problem.data.y
assert y is not None
assert positive is not None
for k, name in enumerate(plan.data.info.classes):
    rows, labeled = np.sum(y[train.rows] == k), np.sum(y[train.rows[train.labeled]] == k)
    kind = "positive" if np.all(positive[y == k] == 1) else "negative"
    print(f"{name}: {kind}, {rows} rows, {labeled} of them labeled")
