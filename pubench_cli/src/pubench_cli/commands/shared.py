"""Arguments and options that several commands have."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ..choices import Format, criteria, runs

PrintFormat = Annotated[Format, typer.Option("--format", help="How to print it.")]
#: Of tables of results, and the criterion that chose the epochs in them.
TestMeasure = Annotated[str, typer.Option(help="Measure on test rows.")]
NamingCriterion = Annotated[
    str | None,
    typer.Option(help="Selection criterion. (default: the one that names the results)", autocompletion=criteria),
]
Results = Annotated[Path, typer.Option(help="Folder of records.")]
RecordedRun = Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.", autocompletion=runs)]
