"""The table at the end of a run."""

from __future__ import annotations

from pathlib import Path

from rich.table import Table

from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import Registry
from pubench_core.results import CriterionResult, Result

from .console import out

#: Order of the columns that every result table has; further headline metrics follow.
FIRST = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")


def print_result(result: Result, folder: Path | None, registry: Registry) -> None:
    """Test measures in percent under each criterion, the chosen one marked; costs; where the record is."""
    console = out()
    console.print(_title(result), style="bold", markup=False)
    console.print(_table(result, {m.key: m for m in registry.infos(MetricInfo)}))
    seconds, memory = result.seconds, result.peak_memory
    test = "test measures in percent" if result.test else "no true labels, so nothing is measured on them"
    console.print(
        f"{test}. {result.epochs} epochs, {seconds.total:.1f} s in all, "
        f"{seconds.per_epoch:.2f} s per epoch ({seconds.per_epoch_training:.2f} s training)\n"
        f"{memory.bytes / 2**20:.0f} MiB {memory.what}; {result.device}, {result.threads} threads"
    )
    if result.oracle:
        console.print("oracle: this method was granted the true labels", style="yellow")
    console.print(f"record: {folder}" if folder is not None else "record: none could be written", markup=False)


def _table(result: Result, infos: dict[str, MetricInfo]) -> Table:
    measured = list(result.test)
    headline = [key for key in FIRST if key in measured]
    headline += [key for key in measured if key not in FIRST and key in infos and infos[key].headline]
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("selected by", no_wrap=True)
    table.add_column("epoch", justify="right")
    table.add_column("value", justify="right")
    for key in headline:
        table.add_column(infos[key].name if key in infos else key, justify="right")
    for name, criterion in result.criteria.items():
        chosen = name == result.selected
        label = f"{'>' if chosen else ' '} {name}{' (oracle)' if criterion.oracle else ''}"
        if criterion.undefined:
            table.add_row(label, "", f"undefined: {criterion.undefined}", *[""] * len(headline), style="dim")
            continue
        value = "" if criterion.value is None else f"{criterion.value:.4f}"
        cells = [_percent(criterion, key) for key in headline]
        table.add_row(label, str(criterion.epoch), value, *cells, style="bold" if chosen else None)
    return table


def _title(result: Result) -> str:
    spec, train, prior = result.spec, result.data.train, result.data.prior
    mechanism = spec.mechanism
    labeling = mechanism.key if mechanism.c is None else f"{mechanism.key}, c = {mechanism.c:g}"
    oracle = " (oracle)" if result.oracle else ""
    other = prior.true is not None and prior.true != prior.given
    given = f"{prior.given:.3f}" if prior.given is not None else "unknown"
    return (
        f"{spec.method.key}{oracle} on {spec.data.key}: {spec.data.scheme}, {labeling}, "
        f"seed {spec.seed}; {train.labeled} labeled, {train.unlabeled} unlabeled, prior {given}"
        + (f" (true {prior.true:.3f})" if other else "")
    )


def _percent(criterion: CriterionResult, key: str) -> str:
    measure = criterion.measures.get("test", {}).get(key)
    return "-" if measure is None or measure.value is None else f"{100 * measure.value:.2f}"
