"""The commands that look at records and methods again: ``reproduce``, ``compare-methods``, ``scores``.

What they do is in :mod:`pubench_cli.reproduce`, :mod:`pubench_cli.compare_methods` and :mod:`pubench_cli.scores`.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Annotated

import typer

from .choices import Format, PairedTest, any_key, criteria, runs
from .options import Given, takes
from .study_app import Over

PrintFormat = Annotated[Format, typer.Option("--format", help="How to print it.")]
Results = Annotated[Path, typer.Option(help="Folder of records.")]


def reproduce(
    run: Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.", autocompletion=runs)],
    results: Results = Path("results"),
    data_root: Annotated[
        Path | None, typer.Option("--data-root", help="Folder of data files. (default: the record's, where it is here)")
    ] = None,
    device: Annotated[str | None, typer.Option(help="auto, cpu or cuda:0. (default: the record's)")] = None,
    threads: Annotated[int | None, typer.Option(help="CPU threads. (default: the record's)", min=1, max=1024)] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.

    The record stays as it is. Exit codes: 0 identical, 1 not, 2 a wrong request.
    """
    from .reproduce import reproduce_run

    as_json = format is Format.json
    if not reproduce_run(run, results, data_root=data_root, device=device, threads=threads, as_json=as_json):
        raise Over(1)


@takes(
    *("--mech", "--c", "--scheme", "--positive-rate", "--total"),
    *("--prior", "--preset", "--select", "--device", "--threads", "--results"),
    *("--data-root", "--offline", "--no-tracking"),
)
def compare_methods(
    given: Given,
    methods: Annotated[list[str], typer.Argument(help="Keys of two methods or more.", autocompletion=any_key)],
    data: Annotated[str, typer.Option(metavar="KEYS", help="Data sets, with commas between.", autocompletion=any_key)],
    seeds: Annotated[str, typer.Option(metavar="NUMBER|LIST", help="How many seeds, or which: 3 or 2,25,42.")] = "3",
    baseline: Annotated[
        str | None, typer.Option(help="Method that the others are tested against. (default: the first)")
    ] = None,
    measure: Annotated[str, typer.Option(help="Measure on test rows.")] = "accuracy",
    test: Annotated[PairedTest, typer.Option(help="Paired test over seeds.")] = PairedTest.t,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="As for pubench run, for every method. Repeatable."),
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Run several methods on several data sets and seeds, and say which differences are more than chance.

    Stored runs are reused. Exit codes: 0 done, 1 a run failed, 2 a wrong request.
    """
    from .compare_methods import Asked
    from .compare_methods import compare_methods as run_all

    asked = Asked(tuple(methods), data, seeds, tuple(set_ or ()), baseline, measure, test.value)
    if not run_all(asked, given, as_json=format is Format.json):
        raise Over(1)


def scores(
    run: Annotated[str, typer.Argument(help="Run id, its first digits, or the run's folder.", autocompletion=runs)],
    results: Results = Path("results"),
    criterion: Annotated[
        str | None,
        typer.Option(
            help="Criterion whose epoch is shown. (default: the one that names the result)", autocompletion=criteria
        ),
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="File that ends in .png or .svg. (default: RUN-scores.png)", dir_okay=False)
    ] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Draw histograms of a record's scores: labeled positives, unlabeled positives, negatives, on every part.

    Training scores are there where the run had --artifacts scores,trace,training-scores.
    """
    from .scores import print_scores

    print_scores(run, results, criterion, out, as_json=format is Format.json)


#: Command -> an example of it.
COMMANDS: dict[Callable[..., None], str] = {
    compare_methods: "pubench compare-methods my-method nnpu vpu --data digits,breast-cancer --seeds 3",
    scores: "pubench scores 783e61fad537fd47 --out scores.png",
    reproduce: "pubench reproduce 783e61fad537fd47 --results results",
}
