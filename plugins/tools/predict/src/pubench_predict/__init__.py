"""Saved models: written by runs, read again to score new rows.

``model_file`` writes a model's file, ``saved_model`` reads it, ``predict`` scores a table with it.
"""

from pubench_core import CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="predict",
        panel="Your own data",
        load="pubench_predict.commands:predict",
        help="Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision.",
        example="pubench predict 783e61fad537fd47 new.csv > predictions.csv",
    ),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS


@hookimpl
def pubench_model_writer() -> str:
    return "pubench_predict.model_file:model_bytes"
