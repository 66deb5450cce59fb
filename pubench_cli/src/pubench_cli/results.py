"""The table at the end of a run."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from pubench_core.errors import counted
from pubench_core.plugins.info import MetricInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import predictions_in
from pubench_core.results import CriterionResult, DecisionRule, Measure, Result, at_prior_name
from pubench_core.specs.run import TEST

from .columns import PrintedColumn, print_table
from .console import out
from .few_labels import few_held_out

#: Test measures that are shown unless all are asked for.
SHORT = ("accuracy", "f1", "auc")
#: What is said of a result without true labels, where there is nothing else to go by.
WITHOUT_TRUTH = ("recovered-auc", "recovered-precision", "recovered-recall")


def print_result(
    result: Result, folder: Path | None, more: Callable[[], None] = lambda: None, *, full: bool = False
) -> None:
    """Test measures in percent at the chosen epoch, the last one and an oracle's; time; where the record is.

    The first line warns if the selected state decides every row alike. ``more``: prints what comes before the record's
    name. ``full``: every criterion and measure, and costs.
    """
    console = out()
    if alike := result.chosen.alike_warning:
        other = "" if full else "; --full shows what other criteria chose"
        console.print(f"warning: {alike}{other}", style="bold yellow", markup=False)
    console.print(_title(result), style="bold", markup=False)
    infos = {m.key: m for m in registry().infos(MetricInfo)}
    keys = [key for key in registry().headline() if key in result.test]
    _print_criteria(result, infos, keys if full else [key for key in keys if key in SHORT], full=full)
    seconds, memory, threshold = result.seconds, result.peak_memory, result.chosen.threshold
    test = "test measures in percent" if result.test else "no true labels, so nothing is measured on them"
    costs = "; --full: every criterion and measure"
    if full:
        if threshold is not None and result.test:
            test += f"; at the prior: the share of U above {threshold:.4g} is the prior's (selected state)"
        costs = (
            f", {seconds.per_epoch:.2f} s per epoch ({seconds.per_epoch_training:.2f} s training)\n"
            f"{memory.bytes / 2**20:.0f} MiB {memory.what}; {result.device}, {result.threads} threads"
        )
    console.print(f"{test}. {counted(result.epochs, 'epoch')}, {seconds.total:.1f} s in all{costs}")
    if few := few_held_out(result):
        console.print(f"{few} (--folds 5)", style="yellow", markup=False)
    if not result.test and (line := recovered_line(result, infos)):
        console.print(line, markup=False)
    if result.oracle:
        granted = "the test part's share of positives" if result.spec.prior == TEST else "the true labels"
        console.print(f"oracle: this method was granted {granted}", style="yellow")
    more()
    if folder is not None and (path := predictions_in(folder, result.selected)).exists():
        console.print(f"scores and ranks: {path}", markup=False, soft_wrap=True)
    # a path is one line, to be copied as one
    console.print(f"record: {folder or 'none could be written'}", markup=False, soft_wrap=True)


def _print_criteria(result: Result, infos: dict[str, MetricInfo], keys: list[str], *, full: bool) -> None:
    """A row per criterion, unless ``full`` of the selected one, f1 and last; why one has no value follows below."""
    columns = [PrintedColumn("selected by"), PrintedColumn("epoch", right=True), PrintedColumn("value", right=True)]
    columns += [PrintedColumn(infos[key].name, right=True) for key in keys]
    named = result.criteria if full else (result.selected, "f1", "last")[: 3 if result.epochs > 1 else 1]
    shown = {name: result.criteria[name] for name in dict.fromkeys(named) if name in result.criteria}
    twice = any(criterion.at_prior.get("test") for criterion in shown.values())
    if twice:
        columns.insert(3, PrintedColumn("decided"))
    rows, styles = [], []
    for name, criterion in shown.items():
        chosen = name == result.selected
        label = f"{'>' if chosen else ' '} {name}{' (oracle)' if criterion.oracle else ''}"
        value = "" if criterion.value is None else f"{criterion.value:.4f}"
        decided = _decided(criterion, keys, result.decision)
        for k, cells in enumerate(decided if twice else [decided[0][1:]]):
            rows.append([label, str(criterion.epoch or ""), value, *cells] if not k else ["", "", "", *cells])
            styles.append("dim" if criterion.undefined else "bold" if chosen and not k else "")
    print_table(out(), columns, rows, styles, surplus="below")
    for name, criterion in shown.items():
        if criterion.undefined:
            out().print(f"{name} is undefined: {criterion.undefined}", style="dim", markup=False)


def _decided(criterion: CriterionResult, keys: list[str], first: DecisionRule) -> list[list[str]]:
    """Test measures by each decision, that of ``first`` first; what needs no decision is the same in both."""
    if criterion.undefined:
        return [["", *("" for _ in keys)]]
    measured = criterion.measured("test")
    by_rule = {"zero": ["at 0", *(_percent(measured.get(key)) for key in keys)]}
    if criterion.threshold is not None and criterion.at_prior.get("test"):
        found = [measured.get(at_prior_name(key), measured.get(key)) for key in keys]
        by_rule["prior"] = ["at the prior", *map(_percent, found)]
    return [cells for _, cells in sorted(by_rule.items(), key=lambda row: row[0] != first)]


#: How a metric's warning begins where labels and prior cannot both be right.
CONTRADICTED = "infeasible"


def recovered_line(result: Result, infos: dict[str, MetricInfo]) -> str:
    """Line on true labels recovered from held-out labeled and unlabeled rows; empty if nothing was recovered."""
    measured = result.chosen.measures.get("validation", {})
    parts, doubts = [], []
    for key in WITHOUT_TRUTH:
        measure = measured.get(key)
        if measure is None or measure.value is None or key not in infos:
            continue
        doubts += [f"{infos[key].name}: {text}" for text in measure.warnings if text.startswith(CONTRADICTED)]
        interval = f" ({measure.interval[0]:.2f} to {measure.interval[1]:.2f})" if measure.interval is not None else ""
        parts.append(f"{infos[key].name} {measure.value:.2f}{interval}")
    if not parts:
        return ""
    if doubts:
        own = result.spec.data.own is not None
        causes = "labels that prefer some positives (not SCAR), which 60 rows checked by a person show (pubench audit)"
        leak = ", or a column that tells who is labeled (filled in for them alone, say)" if own else ""
        return (
            f"what the held-out rows imply of the true labels contradicts the given prior: {'; '.join(doubts)}. "
            f"Likely causes: {causes}, a wrong prior{leak}"
        )
    return (
        f"from {result.data.validation.labeled} held-out labeled rows, if they are a random draw of all positives and "
        f"the prior holds: {', '.join(parts)}"
    )


def _title(result: Result) -> str:
    spec, train, prior = result.spec, result.data.train, result.data.prior
    mechanism = spec.mechanism
    labeling = ", ".join(filter(None, (mechanism.key, mechanism.amount_in_words)))
    oracle = " (oracle)" if result.oracle else ""
    other = prior.true is not None and prior.true != prior.given
    given = f"{prior.given:.3f}" if prior.given is not None else "unknown"
    return (
        f"{spec.method.key}{oracle} on {spec.data.key}: {spec.data.scheme}, {labeling}, "
        f"seed {spec.seed}; {train.labeled} labeled, {train.unlabeled} unlabeled, prior {given}"
        + (f" (true {prior.true:.3f})" if other else "")
    )


def _percent(measure: Measure | None) -> str:
    return "-" if measure is None or measure.value is None else f"{100 * measure.value:.2f}"
