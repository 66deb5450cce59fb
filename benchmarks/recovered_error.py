"""How far the recovered AUC is from the true one, as in Jain, White & Radivojac (AAAI 2017), Table 1.

    PUBENCH_DATA=... OMP_NUM_THREADS=1 nice -n 19 python benchmarks/recovered_error.py \\
        --out benchmarks/results/recovered-error.csv --data pima wine spambase

Per data set and repetition, 1,000 rows (100 of a small set) are labeled, a share β of them positive; the rest, at most
10,000 of it, is unlabeled. A bag of networks with 5 hidden units is trained by resilient propagation to tell labeled
from unlabeled rows, a quarter of each bag kept for early stopping. Every row gets the mean score of the networks that
have not seen it. Their source has 100 networks and 50 repetitions; here it is 25 and 5. Its true AUC is that of a model
with all true labels; here it is that of the same scores on the hidden labels, so that a model's own loss is no error.

A row per repetition: the true AUC on unlabeled rows, that of labeled against unlabeled rows, and the recovered ones,
with the real α and β and, where the estimator is installed, with those of two-sided AlphaMax. Rows that are there
already are not measured again. ``--summary`` prints means beside the published ones.
"""

from __future__ import annotations

import argparse
import csv
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import raw_rows
import torch
from pubench_metrics_evaluation.recovered import Mixture, auc, direct_auc, indirect_curve, pu_points
from torch.nn import functional

from pubench_core.data.paths import data_root
from pubench_core.data.store import open_dataset
from pubench_core.engine.layers import Layer
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import PriorInfo
from pubench_core.plugins.registry import load, registry

SETS: tuple[str, ...] = ("bank", "concrete", "gas", "housing", "landsat", "mushroom", "pageblock", "pendigit", "pima")
SETS += ("shuttle", "spambase", "wine")
SMALL = frozenset({"concrete", "housing", "pageblock", "pima"})
PURITIES = (1.0, 0.95, 0.75)
HIDDEN, BAGS, EPOCHS, PATIENCE = 5, 25, 300, 25
ESTIMATOR = "alphamax-two-sided"
Array = npt.NDArray[Any]


def table_of(key: str) -> tuple[Array, Array]:
    """(n, d) standardized features and (n,) whether each row is positive."""
    plan = resolve([Layer.of(f"data.key={key}", "method.key=upu")], registry())
    root = data_root(plan.spec.execution, print)
    assert plan.data.source is not None
    data = open_dataset(plan.data.source, root, preprocess=plan.spec.data.preprocess).data
    known = np.isin(data.y, [*plan.spec.data.positive, *plan.spec.data.negative])
    x = np.asarray(data.x)[known].reshape(int(known.sum()), -1).astype(np.float64)
    deviation = x.std(axis=0)
    x = (x - x.mean(axis=0)) / np.where(deviation > 0, deviation, 1.0)
    return x.astype(np.float32), np.isin(data.y[known], plan.spec.data.positive)


def drawn(positive: Array, n_labeled: int, purity: float, rng: np.random.Generator) -> tuple[Array, Array]:
    """Rows that are labeled, and rows that are not."""
    n_pure = round(n_labeled * purity)
    labeled = np.concatenate(
        [
            rng.choice(np.flatnonzero(positive), n_pure, replace=False),
            rng.choice(np.flatnonzero(~positive), n_labeled - n_pure, replace=False),
        ]
    )
    rest = rng.permutation(np.setdiff1d(np.arange(len(positive)), labeled))
    return labeled, rest[:10_000]


def out_of_bag(x: Array, labeled: Array, rng: np.random.Generator) -> Array:
    """(n,) mean score of the networks that have not seen a row. All are trained at once, on weights per row."""
    n, d = x.shape
    counts = np.zeros((n, BAGS), dtype=np.float32)
    held_out = np.zeros_like(counts)
    for bag in range(BAGS):
        rows = rng.integers(n, size=n)
        quarter = n // 4
        np.add.at(held_out[:, bag], rows[:quarter], 1)
        np.add.at(counts[:, bag], rows[quarter:], 1)
    unseen = (counts == 0) & (held_out == 0)
    held_out[counts > 0] = 0  # a row is trained on or held out, not both
    features, target = torch.from_numpy(x), torch.from_numpy(labeled.astype(np.float32))[:, None].expand(n, BAGS)
    weights, stopping = (torch.from_numpy(w / w.sum(axis=0)) for w in (counts, held_out))
    generator = torch.Generator().manual_seed(int(rng.integers(2**31)))
    first = (torch.randn(d, BAGS * HIDDEN, generator=generator) / d**0.5).requires_grad_()
    bias = torch.zeros(BAGS * HIDDEN, requires_grad=True)
    second = (torch.randn(BAGS, HIDDEN, generator=generator) / HIDDEN**0.5).requires_grad_()
    offset = torch.zeros(BAGS, requires_grad=True)
    optimizer = torch.optim.Rprop([first, bias, second, offset], lr=0.01)
    best, best_scores, since = torch.full((BAGS,), torch.inf), torch.zeros(n, BAGS), torch.zeros(BAGS)
    for _ in range(EPOCHS):
        scores = (torch.tanh(features @ first + bias).view(n, BAGS, HIDDEN) * second).sum(dim=2) + offset
        losses = functional.binary_cross_entropy_with_logits(scores, target, reduction="none")
        with torch.no_grad():
            now = (losses * stopping).sum(dim=0)
            better = now < best
            best = torch.where(better, now, best)
            best_scores[:, better] = scores.detach()[:, better]
            since = torch.where(better, 0.0, since + 1)
        if bool((since > PATIENCE).all()):
            break
        optimizer.zero_grad()
        (losses * weights).sum().backward()
        optimizer.step()
    found = torch.sigmoid(best_scores).numpy()
    seen_by_all = unseen.sum(axis=1) == 0  # of 25 bags, about one row in a hundred thousand
    unseen[seen_by_all] = True
    mean: Array = (found * unseen).sum(axis=1) / unseen.sum(axis=1)
    return mean


def repetition(key: str, x: Array, positive: Array, purity: float, seed: int) -> dict[str, Any]:
    """One row of the result."""
    rng = np.random.default_rng([seed, round(100 * purity)])
    started = time.perf_counter()
    labeled, unlabeled = drawn(positive, 100 if key in SMALL else 1000, purity, rng)
    rows, is_labeled = np.concatenate([labeled, unlabeled]), np.arange(len(labeled) + len(unlabeled)) < len(labeled)
    scores = out_of_bag(x[rows], is_labeled, rng).astype(np.float64)
    ours, theirs, hidden = scores[is_labeled], scores[~is_labeled], positive[unlabeled]
    real = Mixture(float(hidden.mean()), float(positive[labeled].mean()))
    mixtures = {"real": real}
    if (estimated := estimate(ours, theirs, rng)) is not None:
        mixtures["estimated"] = estimated
    auc_pu = auc(ours, theirs)
    row: dict[str, Any] = {
        "data": key,
        "beta": purity,
        "seed": seed,
        "labeled": len(labeled),
        "unlabeled": len(unlabeled),
        "alpha": round(real.alpha, 6),
        "auc": round(auc(theirs[hidden], theirs[~hidden]), 6),
        "pu_auc": round(auc_pu, 6),
    }
    for name in ("real", "estimated"):
        mixture = mixtures.get(name)
        usable = mixture is not None and mixture.gap > 0
        curve = indirect_curve(pu_points(ours, theirs), mixture) if mixture is not None and usable else None
        row |= {
            f"{name}_alpha": round(mixture.alpha, 6) if mixture is not None else "",
            f"{name}_beta": round(mixture.beta, 6) if mixture is not None else "",
            f"{name}_direct": round(direct_auc(auc_pu, mixture), 6) if mixture is not None and usable else "",
            f"{name}_indirect": round(curve.auc, 6) if curve is not None else "",
            f"{name}_removed": curve.removed if curve is not None else "",
        }
    return row | {"seconds": round(time.perf_counter() - started, 1)}


def estimate(labeled: Array, unlabeled: Array, rng: np.random.Generator) -> Mixture | None:
    """α and β by two-sided AlphaMax; None where it is not installed or has no answer."""
    infos = {info.key: info for info in registry().infos(PriorInfo)}
    if ESTIMATOR not in infos:
        return None
    try:
        found = load(infos[ESTIMATOR])().estimate(labeled, unlabeled, rng)
    except PubenchError as error:  # it says so where both samples look alike
        print(error)
        return None
    return Mixture(float(found.share), float(found.diagnostics["positive_purity"]))


def summary(path: Path, published: Path | None) -> None:
    """Mean absolute errors per data set and β, ours beside theirs."""
    errors: dict[tuple[str, float], dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for row in csv.DictReader(path.open()):
        truth, cell = float(row["auc"]), errors[row["data"], float(row["beta"])]
        columns = {"PU": "pu_auc", "IR": "real_indirect", "DR": "real_direct"}
        columns |= {"IE": "estimated_indirect", "DE": "estimated_direct"}
        for name, column in columns.items():
            if row[column]:
                cell[name].append(abs(float(row[column]) - truth))
    theirs = {}
    if published is not None:
        for row in csv.DictReader(published.open()):
            if row["table"] == "1":
                theirs[row["dataset"].lower(), float(row["beta"])] = row
    print("data", "beta", "repetitions", *(f"{name} (published)" for name in ("PU", "IR", "DR", "IE", "DE")), sep="\t")
    for (data, beta), cell in sorted(errors.items()):
        known = theirs.get((data, beta), {})
        values = [
            f"{np.mean(cell[name]):.3f} ({known.get(f'err_{name}', '')})" if cell[name] else ""
            for name in ("PU", "IR", "DR", "IE", "DE")
        ]
        print(data, beta, len(cell["PU"]), *values, sep="\t")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--data", nargs="*", choices=SETS, default=[])
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument("--summary", action="store_true")
    parser.add_argument("--published", type=Path, help="the published table as a CSV file, for --summary")
    options = parser.parse_args()
    torch.set_num_threads(1)
    done = set()
    if options.out.exists():
        with options.out.open() as file:
            done = {(row["data"], float(row["beta"]), int(row["seed"])) for row in csv.DictReader(file)}
    for key in options.data:
        x, positive = table_of(key)
        for seed in range(options.repetitions):
            for purity in PURITIES:
                if (key, purity, seed) not in done:
                    raw_rows.append(options.out, repetition(key, x, positive, purity, seed))
    if options.summary:
        summary(options.out, options.published)


if __name__ == "__main__":
    main()
