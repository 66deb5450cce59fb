"""Error of the class-prior estimators on known priors, and how often their intervals hold the true share.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies.prior_error data=[digits,wine] seeds=[2]

A row is one estimate on the training part of one split (case-control, SCAR) of one data set at one label frequency c,
from one scorer. ``error`` is signed; ``covered`` says whether the interval has the true share, where there is one.
Biased labels (``mechanism=sar-lbe-a``, ``sar-lbe-b``, ``sar-pusb``) are in a file of their own: ``--out FILE``.

``NAME=VALUE`` sets an argument of :func:`measure`, in YAML. Estimates that are in the file are not made again.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product
from pathlib import Path

import torch

from benchmarks.raw_rows import RESULTS, append, keys, parser_of
from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

DATA = ("digits", "breast-cancer", "spambase", "wine", "pima", "mushroom", "landsat", "pageblock", "pendigit")
ESTIMATORS = ("bbe", "alphamax", "alphamax-two-sided", "elkan-noto", "dedpul", "tice")
FREQUENCIES = (0.05, 0.1, 0.5)


def estimated(data: str, c: float, seed: int, scorer: str, estimator: str, mechanism: str) -> dict[str, object]:
    """One estimate next to the truth; the reason, where it was refused."""
    wanted = (f"data.key={data}", f"mechanism.c={c}", f"seed={seed}", "method.key=vpu", f"prior=estimated:{estimator}")
    wanted = (*wanted, f"mechanism.key={mechanism}")
    row: dict[str, object] = {"mechanism": mechanism} if mechanism != "scar" else {}
    row |= {"data": data, "c": c, "seed": seed, "scorer": scorer, "estimator": estimator}
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


def measure(
    out: Path,
    data: Sequence[str] = DATA,
    estimators: Sequence[str] = ESTIMATORS,
    scorers: Sequence[str] = ("logistic",),
    seeds: Sequence[int] = (2, 25, 42),
    frequencies: Sequence[float] = FREQUENCIES,
    mechanism: str = "scar",
) -> None:
    """Adds every estimate that a file has no row of."""
    names, kept = ("data", "c", "seed", "scorer", "estimator"), ("mechanism",) * (mechanism != "scar")
    for seed, key, c, scorer, estimator in product(seeds, data, frequencies, scorers, estimators):
        found = dict(zip(names, (key, c, seed, scorer, estimator), strict=True)) | {"mechanism": mechanism}
        of_row = (*kept, *names)
        if tuple(str(found[name]) for name in of_row) not in keys(out, of_row):
            append(out, row := estimated(**found))
            print(*row.values(), sep=", ", flush=True)


if __name__ == "__main__":
    given = parser_of(__doc__).parse_args()
    torch.set_num_threads(1)
    measure(given.out or RESULTS / "prior-error.csv", **dict(given.parameters))
