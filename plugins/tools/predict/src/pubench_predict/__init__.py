"""New rows scored with the model that a run kept.

``saved_model`` reads a model's file; ``predict`` scores a table with it.
"""

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="predict",
        load="pubench_predict.commands:predict",
        help="Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision.",
        example="pubench predict 783e61fad537fd47 new.csv > predictions.csv",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS
