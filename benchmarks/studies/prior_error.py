"""Error of the class-prior estimators on known priors, and how often their intervals hold the true share.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies.prior_error --out benchmarks/results/prior-error.csv

A row is one estimate on the training part of one split (case-control, SCAR) of one data set at one label frequency c,
from one scorer. ``error`` is signed; ``covered`` says whether the interval has the true share, where there is one.
What stands in the file is not estimated again. ``--summary`` prints mean absolute errors and coverage instead. Biased
labels (``--mechanism sar-lbe-a``, ``sar-lbe-b``, ``sar-pusb``) are in ``prior-error-biased.csv``.
"""

from __future__ import annotations

import argparse
import csv
import statistics
from collections import defaultdict
from pathlib import Path

import torch

from benchmarks import raw_rows
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

DATA = ("digits", "breast-cancer", "spambase", "wine", "pima", "mushroom", "landsat", "pageblock", "pendigit")
ESTIMATORS = ("bbe", "alphamax", "alphamax-two-sided", "elkan-noto", "dedpul", "tice")
FREQUENCIES = (0.05, 0.1, 0.5)


def estimated(data: str, c: float, seed: int, key: str, scorer: str, mechanism: str = "scar") -> dict[str, object]:
    """One estimate next to the truth; the reason, where it was refused."""
    wanted = (f"data.key={data}", f"mechanism.c={c}", f"seed={seed}", "method.key=vpu", f"prior=estimated:{key}")
    wanted = (*wanted, f"mechanism.key={mechanism}")
    row: dict[str, object] = {"mechanism": mechanism} if mechanism != "scar" else {}
    row |= {"data": data, "c": c, "seed": seed, "scorer": scorer, "estimator": key}
    empty = dict.fromkeys(("labeled", "unlabeled", "true", "share", "raw", "error", "low", "high", "covered"), "")
    row |= {**empty, "seconds": "", "warnings": "", "refused": ""}
    try:
        facts = build_problem(resolve([assigned(*wanted, f"prior_scorer={scorer}")], registry())).facts()
    except RequestError as error:
        return {**row, "refused": str(error)}
    found = facts.prior.estimate
    assert found is not None
    assert found.true_share is not None
    row |= {"labeled": facts.train.labeled, "unlabeled": facts.train.unlabeled, "true": round(found.true_share, 4)}
    row |= {"share": round(found.share, 4), "raw": round(found.diagnostics["raw"], 4)}
    row |= {"error": round(found.share - found.true_share, 4), "seconds": found.seconds}
    row["warnings"] = len(found.diagnostics["warnings"])
    if found.interval is not None:
        low, high = found.interval
        row |= {"low": round(low, 4), "high": round(high, 4), "covered": int(low <= found.true_share <= high)}
    return row


def summary(rows: list[dict[str, str]]) -> None:
    """Per estimator, scorer and c: estimates, mean absolute and mean signed error, share of intervals that cover."""
    groups = defaultdict(list)
    for row in rows:
        groups[row.get("mechanism", "scar"), row["scorer"], row["estimator"], row["c"]].append(row)
    for key, group in sorted(groups.items()):
        errors = [float(row["error"]) for row in group if row["error"]]
        covered = [int(row["covered"]) for row in group if row["covered"]]
        shown = f"{statistics.mean(map(abs, errors)):.3f} {statistics.mean(errors):+.3f}" if errors else "-"
        holds = f"{sum(covered)}/{len(covered)}" if covered else "no interval"
        print(*key, f"{len(errors)} of {len(group)}", shown, holds)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", nargs="*", default=DATA)
    parser.add_argument("--estimators", nargs="*", default=ESTIMATORS)
    parser.add_argument("--scorers", nargs="*", default=("logistic",))
    parser.add_argument("--seeds", type=int, nargs="*", default=(2, 25, 42))
    parser.add_argument("--frequencies", type=float, nargs="*", default=FREQUENCIES)
    parser.add_argument("--mechanism", default="scar", help="other than scar: in a file of its own")
    parser.add_argument("--summary", action="store_true")
    options = parser.parse_args()
    torch.set_num_threads(1)
    rows = list(csv.DictReader(options.out.open())) if options.out.exists() else []
    if options.summary:
        return summary(rows)
    names = ("data", "c", "seed", "scorer", "estimator")
    done = {(row.get("mechanism", "scar"), *(row[name] for name in names)) for row in rows}
    for seed in options.seeds:
        for data in options.data:
            for c in options.frequencies:
                for scorer in options.scorers:
                    for key in options.estimators:
                        if (options.mechanism, data, str(c), str(seed), scorer, key) in done:
                            continue
                        row = estimated(data, c, seed, key, scorer, options.mechanism)
                        raw_rows.append(options.out, row)
                        print(*row.values(), flush=True)
    return None


if __name__ == "__main__":
    main()
