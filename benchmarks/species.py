"""Results on species with surveys as truth: rows of stored runs, and the tables of ``docs/pages/species.md``.

    python benchmarks/species.py rows /work/rows/disdat/results
    python benchmarks/species.py page

A row is a run under its selected criterion, PAUC. AUC, average precision, AUC-PRG and COR are of the survey's sites.
``pauc`` and ``spies`` are of the validation part, which holds out a fifth of the records: ``spies`` is the share of
these whose score is above 95 % of those of the held-out background. Rows of uncommitted code are left out. A row takes
the place of the file's row of the same method, species, background and seed; the file's other rows stay.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from findings import table as markdown_table
from pubench_report.over_tasks import OverTasks, over_tasks
from scipy import stats

from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.data.source import source_of
from pubench_core.metric import MetricPlugin, Scored, measure
from pubench_core.plugins.info import DatasetInfo, MetricInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.records.files import ENVIRONMENT
from pubench_core.records.record import Record
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment
from pubench_core.specs import ExecutionSpec

FILE = Path(__file__).parent / "results" / "species.csv"
PAGE = Path(__file__).parents[1] / "docs" / "pages" / "species.md"
MEASURES = ("auc", "average-precision", "auc-prg", "correlation")
#: Short training: ten epochs, or the preset `quick`.
NETWORKS = ("nnpu", "upu", "dist-pu", "vpu", "pusb", "pue", "lbe-pu")
RUN = ["method", "source", "species", "seed"]
REGIONS = ("awt", "can", "nsw", "nz", "sa", "swi")


# -------------------------------------------------------------------- rows


def rows(results: Path) -> Iterator[dict[str, Any]]:
    """A row for each record of a species, in the order of their names."""
    facts = {task.name: task.facts for task in source_of(registry().find(DatasetInfo, "disdat")).tasks(_root())}
    infos = {info.key: info for info in registry().infos(MetricInfo) if info.key in MEASURES}
    metrics = {key: MetricPlugin(info, load(info), "") for key, info in infos.items()}
    found = RecordStore(results).all()
    for record in sorted(found.readable, key=lambda one: (one.result.spec.data.key, _row_name(one))):
        source, _, species = record.result.spec.data.key.partition("/")
        environment = Environment.model_validate_json((record.folder / ENVIRONMENT).read_bytes())
        if not source.startswith("disdat") or environment.git_dirty:
            continue
        result, chosen = record.result, record.result.chosen
        arrays = np.load(record.folder / "scores.npz")
        scored = Scored.of(arrays[f"test_scores_{chosen.snapshot}"].astype(float), truth=arrays["test_labels"])
        held, labeled = arrays[f"validation_scores_{chosen.snapshot}"], arrays["validation_labeled"]
        yield {
            "method": _row_name(record),
            "source": source,
            "species": species,
            "region": facts[species]["region"],
            "presences": facts[species]["presences"],
            "seed": result.spec.seed,
            "settings": _settings(record),
            "told_prior": result.data.prior.given,
            "share_present": round(float(arrays["test_labels"].mean()), 5),
            "epoch": chosen.epoch,
            "epochs": result.epochs,
            **{key: round(measure(m.function, m.info, scored).value, 6) for key, m in metrics.items()},
            "pauc": round(chosen.value or float("nan"), 6),
            "spies": round(float((held[labeled] > np.quantile(held[~labeled], 0.95)).mean()), 6),
            "seconds": round(result.seconds.total, 2),
            "run_id": result.run_id,
            "commit": (environment.git_commit or "")[:12],
        }


def _root() -> DataRoot:
    return data_root(ExecutionSpec())


def _row_name(record: Record) -> str:
    spec = record.result.spec
    base = spec.method.config.get("base", "")
    return f"{spec.method.key} {base}" if spec.method.key in ("naive", "pu-bagging") else spec.method.key


def _settings(record: Record) -> str:
    """The preset, and epochs where there are several."""
    spec, epochs = record.result.spec, record.result.spec.method.config.get("epochs")
    return ", ".join([*([spec.method.preset] if spec.method.preset else []), *([f"epochs={epochs}"] if epochs else [])])


# -------------------------------------------------------------------- tables


def compared(frame: pd.DataFrame, methods: list[str], reference: str, measure: str = "auc") -> OverTasks:
    """Methods over the species that all of them were run on, each the mean of its seeds."""
    wide = frame[frame.method.isin(methods)].pivot_table(index="species", columns="method", values=measure)[methods]
    complete = wide.dropna()
    region = dict(zip(frame.species, frame.region, strict=True))
    return over_tasks({m: complete[m].to_dict() for m in methods}, region, reference)


def table_of(found: OverTasks, reference: str) -> str:
    """Mean by region and overall, average rank, and the paired difference to the reference."""
    regions = [region for region in REGIONS if region in found.means]
    ranks = dict(zip(found.ranks["overall"].methods, found.ranks["overall"].average_ranks, strict=True))
    pairs = {pair.method: pair for pair in found.pairs}
    lines = []
    for method in sorted(ranks, key=lambda one: ranks[one]):
        pair = pairs.get(method)
        paired = f"{pair.difference:+.3f} ({pair.wins} of {pair.tasks}; p {pair.p:.2g})" if pair else "reference"
        means = [found.means[group][method] for group in (*regions, "overall")]
        lines.append((f"`{method}`", *(f"{mean:.3f}".lstrip("0") for mean in means), f"{ranks[method]:.2f}", paired))
    head = ("method", *(region.upper() for region in regions), "all", "rank", f"against `{reference}` (wins; Holm)")
    difference = found.ranks["overall"].critical_difference
    return f"{markdown_table(head, lines)}\n\nNemenyi's critical difference of ranks: {difference:.2f}."


def predicted(frame: pd.DataFrame, methods: list[str]) -> str:
    """Whether measures of held-out records order the methods as the survey's AUC does, for each species and seed."""
    lines = []
    for guide in ("pauc", "spies"):
        taus, gains, means = [], [], []
        for _, one in frame[frame.method.isin(methods)].groupby(["species", "seed"]):
            if len(one) == len(methods):
                tau = stats.kendalltau(one[guide], one["auc"]).statistic
                taus.append(0.0 if np.isnan(tau) else tau)
                gains.append(one.sort_values([guide, "method"]).iloc[-1]["auc"])
                means.append(one["auc"].mean())
        lines.append(
            (f"`{guide}`", f"{len(taus)}", f"{np.mean(taus):+.2f}", f"{np.mean(gains):.3f}", f"{np.mean(means):.3f}")
        )
    head = ("guide", "species x seeds", "Kendall's tau, mean", "AUC of its choice", "AUC of a method at random")
    return markdown_table(head, lines)


def tables() -> dict[str, str]:
    """The tables of the page by the names of their marks."""
    frame = pd.read_csv(FILE)
    random, target = frame[frame.source == "disdat"], frame[frame.source == "disdat-target-group"]
    counts = random.groupby("method").species.nunique()
    everywhere = [method for method, n in counts.items() if n >= 160]
    found = {
        f"all {name}": table_of(compared(random, everywhere, "naive logistic", name), "naive logistic")
        for name in MEASURES
    }
    found["bagging"] = table_of(compared(random, everywhere, "pu-bagging trees"), "pu-bagging trees")
    found["all predicted"] = predicted(random, everywhere)
    found["classics predicted"] = predicted(random, [method for method in everywhere if method not in NETWORKS])
    found["target group"] = backgrounds(random, target)
    return found


def backgrounds(random: pd.DataFrame, target: pd.DataFrame) -> str:
    """Mean AUC by region with both backgrounds, over the species that have both; each is the mean of its seeds."""
    lines = []
    one, other = (
        frame.groupby(["method", "region", "species"], as_index=False).auc.mean() for frame in (target, random)
    )
    pairs = one.merge(other, on=["method", "region", "species"], suffixes=("_target", "_random"))
    for method, both in pairs.groupby("method"):
        p = stats.wilcoxon(both.auc_target, both.auc_random).pvalue
        better = f"{int((both.auc_target > both.auc_random).sum())} of {len(both)}; p {p:.2g}"
        for name, column in (("random sites", "auc_random"), ("target group", "auc_target")):
            means = [both[both.region == region][column].mean() for region in REGIONS]
            numbers = [f"{mean:.3f}".lstrip("0") for mean in (*means, both[column].mean())]
            lines.append((f"`{method}`", name, *numbers, better if column == "auc_target" else ""))
    head = ("method", "background", *(region.upper() for region in REGIONS), "all", "target group better (Wilcoxon)")
    return markdown_table(head, lines)


def filled(page: str, found: Mapping[str, str]) -> str:
    """The page with the table of each mark, ``<!-- table NAME -->`` to ``<!-- end -->``."""
    return re.sub(
        r"(<!-- table ([\w -]+?) -->\n).*?(<!-- end -->)",
        lambda mark: f"{mark[1]}\n{found[mark[2]]}\n\n{mark[3]}",
        page,
        flags=re.DOTALL,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    commands.add_parser("rows").add_argument("results", type=Path, help="folder of records")
    commands.add_parser("page")
    options = parser.parse_args()
    if options.command == "page":
        PAGE.write_text(filled(PAGE.read_text(encoding="utf-8"), tables()), encoding="utf-8")
        return
    found = list(rows(options.results))
    if not found:
        sys.exit(f"{options.results}: no record of a species of committed code")
    merged = pd.concat([pd.read_csv(FILE), pd.DataFrame(found)])
    merged = merged.drop_duplicates(RUN, keep="last").sort_values(["source", "species", "method", "seed"])
    merged.to_csv(FILE, index=False, lineterminator="\n")
    print(f"{len(found)} rows of {len(merged)} in {FILE}", file=sys.stderr)


if __name__ == "__main__":
    main()
