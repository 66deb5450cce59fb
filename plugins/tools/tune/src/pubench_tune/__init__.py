"""A search of hyper-parameters without negatives.

``space`` says what is tuned; ``sampler`` proposes trials by Optuna and keeps them; ``search`` carries them out as runs
of a study; ``result`` is what was found.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="tune",
            panel="Run and compare",
            load="pubench_tune.cli:tune",
            example="pubench tune nnpu --data digits --select pa --trials 50 --out best.yaml",
        ),
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="Trial", load="pubench_tune.result:Trial"),
        ApiInfo(name="Tuned", load="pubench_tune.result:Tuned"),
        ApiInfo(name="tune", load="pubench_tune.api:tune"),
    ]
