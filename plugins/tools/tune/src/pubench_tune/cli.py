"""``pubench tune``: options become a search, and what it found a table and a file."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Annotated

import typer
from pubench_study.durations import seconds_of
from pubench_study.seeds import seeds_of

from pubench_cli.choices import Format, PrintFormat, any_key
from pubench_cli.console import out as output
from pubench_cli.machine import print_json
from pubench_cli.messages import say
from pubench_cli.options import OPTIONS, Given, takes
from pubench_cli.out_file import refuse_unwritable
from pubench_cli.process import Over
from pubench_cli.yaml_layers import assigned, read_yaml
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry


# A search has these options of ``pubench run`` in other words, or not at all.
@takes(*(o.flag for o in OPTIONS if o.flag not in ("--method", "--seed", "--no-tracking", "--tracking-uri")))
def tune(
    given: Given,
    method: Annotated[str, typer.Argument(help="Method key.", autocompletion=any_key)],
    trials: Annotated[int, typer.Option(help="Number of trials, earlier ones included.", min=1)] = 50,
    space: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUES",
            help="Hyper-parameters to tune: lr=1e-5..1e-2:log, gamma=0..1, batch_size=32,64, or default. Repeatable. "
            "(default: the ranges that the method declares)",
        ),
    ] = None,
    seeds: Annotated[
        str | None,
        typer.Option(metavar="NUMBER|LIST", help="A trial's value is the mean over these: 3, or 2,25,42. (default: 2)"),
    ] = None,
    set_: Annotated[
        list[str] | None,
        typer.Option("--set", metavar="NAME=VALUE", help="As for pubench run; what is set is not tuned."),
    ] = None,
    config: Annotated[Path | None, typer.Option(help="YAML file with any part of the spec; flags win.")] = None,
    search_seed: Annotated[int, typer.Option(help="Seed of the proposals.", min=0)] = 0,
    no_prune: Annotated[bool, typer.Option("--no-prune", help="Run every trial to its end.")] = False,
    jobs: Annotated[int, typer.Option("-j", "--jobs", help="Runs at once.", min=1, max=1024)] = 1,
    max_time: Annotated[str | None, typer.Option(metavar="TIME", help="Start no run after: 90s, 30m, 2h.")] = None,
    out: Annotated[Path | None, typer.Option(help="File for the best configuration, for pubench run --config.")] = None,
    format: PrintFormat = Format.table,
) -> None:
    """Search hyper-parameters without negatives: by a criterion on validation rows, with Optuna.

    Every trial is an ordinary run with a record; the first is the configuration as it is. The same command again
    resumes. Exit codes: 0 done, 1 trials are left or none has a value, 2 a wrong request, 130 interrupted.
    """
    from .search import BEST, search

    if out is not None:
        refuse_unwritable(out, device=False)
    flags, set_here = given.layer(), assigned(*(set_ or ()), prefix="--set ")
    flags.put(("method", "key"), method, method)
    if "seed" in set_here.values:
        raise RequestError("--set seed: a search takes --seeds, such as --seeds 2,25", field="seed")
    found = search(
        [*([] if config is None else [read_yaml(config)]), flags, set_here],
        registry(),
        say,
        trials=trials,
        space=space or None,
        seeds=() if seeds is None else seeds_of(seeds),
        jobs=jobs,
        search_seed=search_seed,
        prune=not no_prune,
        max_seconds=None if max_time is None else seconds_of(max_time, "--max-time"),
        word="--space ",
        files=0 if config is None else 1,
    )
    has_best = found.count("done") > 0
    written = found.write(out) if out is not None and has_best else found.folder / BEST
    if format is Format.json:
        print_json(found.to_dict())
    else:
        output().print(str(found), markup=False, soft_wrap=True)
        if has_best:
            output().print(f"\n{found.config_file()}", markup=False, soft_wrap=True, end="")
            say(f"pubench run --config {written} --results {found.results} is answered from its record")
    if found.interrupted:
        say(f"{found.interrupted}; the same command again goes on with what is left")
    if found.interrupted == "interrupted":
        raise Over(128 + (found.signal or signal.SIGINT))
    raise Over(1 if found.interrupted or not has_best else 0)
