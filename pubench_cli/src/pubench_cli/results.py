"""The table at the end of a run."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.table import Table

from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import Registry

from .console import out

#: Order of the columns that every result table has; further headline metrics follow.
FIRST = ("accuracy", "precision", "recall", "f1", "macro-f1", "auc")


def print_result(result: Mapping[str, Any], folder: Path | None, registry: Registry) -> None:
    """Test measures in percent under each criterion, the chosen one marked; costs; where the record is."""
    infos = {m.key: m for m in registry.infos(MetricInfo)}
    spec, criteria = result["spec"], result["criteria"]
    measured = list(result.get("test", {}))
    headline = [k for k in FIRST if k in measured]
    headline += [k for k in measured if k not in FIRST and k in infos and infos[k].headline]

    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("selected by", no_wrap=True)
    table.add_column("epoch", justify="right")
    table.add_column("value", justify="right")
    for key in headline:
        table.add_column(infos[key].name if key in infos else key, justify="right")
    for name, entry in criteria.items():
        chosen = name == result["selected"]
        label = f"{'>' if chosen else ' '} {name}{' (oracle)' if entry['oracle'] else ''}"
        if "undefined" in entry:
            table.add_row(label, "", f"undefined: {entry['undefined']}", *[""] * len(headline), style="dim")
            continue
        value = "" if entry["value"] is None else f"{entry['value']:.4f}"
        cells = [_percent(entry["test"][key]) for key in headline]
        table.add_row(label, str(entry["epoch"]), value, *cells, style="bold" if chosen else None)
    console = out()
    console.print(_title(spec, result), style="bold", markup=False)
    console.print(table)
    seconds = result["seconds"]
    memory = result["peak_memory"]
    test = "test measures in percent" if measured else "no true labels, so nothing is measured on them"
    console.print(
        f"{test}. {result['epochs']} epochs, {seconds['total']:.1f} s in all, "
        f"{seconds['per_epoch']:.2f} s per epoch ({seconds['per_epoch_training']:.2f} s training)\n"
        f"{memory['bytes'] / 2**20:.0f} MiB {memory['what']}; {result['device']}, {result['threads']} threads"
    )
    if result["oracle"]:
        console.print("oracle: this method was granted the true labels", style="yellow")
    console.print(f"record: {folder}" if folder is not None else "record: none could be written", markup=False)


def _title(spec: Mapping[str, Any], result: Mapping[str, Any]) -> str:
    train, prior = result["data"]["train"], result["data"]["prior"]
    mechanism = spec["mechanism"]
    labeling = mechanism["key"] if mechanism["c"] is None else f"{mechanism['key']}, c = {mechanism['c']:g}"
    true = prior.get("true", prior["told"])
    oracle = " (oracle)" if result["oracle"] else ""
    return (
        f"{spec['method']['key']}{oracle} on {spec['data']['key']}: {spec['data']['scheme']}, {labeling}, "
        f"seed {spec['seed']}; {train['labeled']} labeled, "
        f"{train['unlabeled']} unlabeled, prior {prior['told']:.3f}"
        + ("" if prior["told"] == true else f" (true {true:.3f})")
    )


def _percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.2f}"
