"""Reports of results made by hand."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import Any

from made_studies import stored
from pubench_report.report.gather import gather
from pubench_report.report.model import Model, Significance, comparisons_of, model_of
from pubench_report.report.write import all_figures

from pubench_core.results import Result


def made_model(folder: Path, results: Iterable[Result]) -> Model:
    """Accuracies of these results, whose records are in the folder afterwards."""
    return model_of(gather(str(stored(folder, results)), Path("r"), None), "accuracy", None)


def compared_in(folder: Path, results: Iterable[Result], baseline: str) -> Significance:
    """Tests of these results, which are of one setting."""
    (found,) = comparisons_of(made_model(folder, results), baseline)
    return found


def drawn_of(model: Model) -> dict[str, Any]:
    """Every figure of a report by its key; nnpu is the baseline."""
    return {**all_figures(model, comparisons_of(model, "nnpu"))}
