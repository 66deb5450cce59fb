"""Models: written by runs, read again to score new rows; methods as scikit-learn classifiers.

``model_file`` writes a model's file, ``saved_model`` reads it, ``predict`` scores a table with it. ``estimator`` is
``PUClassifier``, ``model_selection`` its scorers and folds for labeled and unlabeled rows.
"""

from pubench_core import ApiInfo, CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="predict",
        panel="Your own data",
        load="pubench_models.commands:predict",
        help="Score new rows with the model that a run kept (--save-model): row and ids, score, rank, decision.",
        example="pubench predict 783e61fad537fd47 new.csv > predictions.csv",
    ),
]
NAMES = {
    "estimator": ["PUClassifier"],
    "model_selection": ["PUKFold", "pa_scorer", "pauc_scorer", "pulp_scorer", "recovered_auc_scorer"],
}


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [ApiInfo(name=name, load=f"pubench_models.{module}:{name}") for module in NAMES for name in NAMES[module]]


@hookimpl
def pubench_model_writer() -> str:
    return "pubench_models.model_file:model_bytes"
