"""PU bagging and Elkan-Noto next to pulearn's, on three data sets: accuracy and AUC on test rows, five seeds.

    uv venv /tmp/pulearn && uv pip install --python /tmp/pulearn pulearn
    python -m benchmarks.studies.pulearn_agreement --python /tmp/pulearn/bin/python --out benchmarks/results/pulearn.csv

Single-training-set, SCAR, c = .3. Both get the same rows, labels and base. Bagging: 100 decision trees that look at
the square root of the features, draws of |P| rows of U, decided at 1/2. Elkan-Noto: logistic regression on standardized
features with the same penalty, decided at a posterior of 1/2 from e1; pulearn holds out a fifth of the rows for it,
ours scores them out of fold. ``correlation`` is Spearman's, of the scores of test rows.
"""

from __future__ import annotations

import argparse
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import torch
from scipy import stats
from sklearn.metrics import roc_auc_score

from benchmarks import raw_rows
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.engine.train import train
from pubench_core.plugins.registry import registry

OURS = {
    "bagging": ("method.key=pu-bagging", "n_estimators=100", "base=forest", "threshold=half"),
    "elkan-noto": ("method.key=elkan-noto", "base=logistic", "calibrate=none", "threshold=posterior", "frequency=e1"),
}
THEIRS = """
import sys, numpy as np
from pulearn import BaggingPuClassifier, ElkanotoPuClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier
a = np.load(sys.argv[1]); x, y, new, seed = a["x"], a["y"], a["new"], int(a["seed"])
bag = BaggingPuClassifier(DecisionTreeClassifier(max_features="sqrt"), n_estimators=100, max_samples=int(y.sum()),
                          random_state=seed).fit(x, y)
en = ElkanotoPuClassifier(make_pipeline(StandardScaler(), LogisticRegression(C=0.01, max_iter=1000)),
                          hold_out_ratio=0.2, random_state=seed).fit(x, y)
np.savez(sys.argv[2], **{"bagging": bag.predict_proba(new)[:, 1] - 0.5,
                         "elkan-noto": en.estimator.predict_proba(new)[:, 1] / en.c - 0.5})
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--python", required=True, help="interpreter that has pulearn")
    parser.add_argument("--data", nargs="+", default=["breast-cancer", "digits", "spambase"])
    parser.add_argument("--seeds", nargs="+", type=int, default=[2, 25, 42, 52, 99])
    parser.add_argument("--out", type=Path, required=True, help="the CSV file to append to")
    options = parser.parse_args()
    for data in options.data:
        for seed in options.seeds:
            shared = (f"data.key={data}", "data.scheme=single-training-set", "mechanism.c=0.3", f"seed={seed}")
            plans = {name: resolve([assigned(*shared, *mine)], registry()) for name, mine in OURS.items()}
            problem = build_problem(plans["bagging"])
            table, truth = problem.view(frozenset()), problem.truth_test
            assert truth is not None
            new = problem.features_test.take(torch.arange(len(truth))).flatten(1).numpy()
            with tempfile.TemporaryDirectory() as folder:
                given, found = Path(folder, "given.npz"), Path(folder, "found.npz")
                np.savez(given, x=table.x.flatten(1).numpy(), y=table.labeled.numpy().astype(int), new=new, seed=seed)
                subprocess.run([options.python, "-c", THEIRS, str(given), str(found)], check=True)
                theirs = dict(np.load(found))
            for name, plan in plans.items():
                ours = train(plan, problem).scores["last"]["test"]
                row = {
                    "method": name,
                    "data": data,
                    "seed": seed,
                    "ours_accuracy": round(100 * ((ours > 0) == truth).mean(), 2),
                    "theirs_accuracy": round(100 * ((theirs[name] > 0) == truth).mean(), 2),
                    "ours_auc": round(100 * roc_auc_score(truth, ours), 2),
                    "theirs_auc": round(100 * roc_auc_score(truth, theirs[name]), 2),
                    "correlation": round(float(stats.spearmanr(ours, theirs[name]).statistic), 4),
                    "commit": raw_rows.commit(),
                    "machine": raw_rows.machine(),
                }
                raw_rows.append(options.out, row)
                print(row, flush=True)


if __name__ == "__main__":
    main()
