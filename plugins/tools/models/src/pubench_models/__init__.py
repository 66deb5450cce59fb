"""Models: written by runs, read again to score new rows; methods as scikit-learn classifiers.

``model_file`` writes a model's file, ``saved_model`` reads it, ``predict`` scores a table with it. ``decisions`` says
what a run decided about the unlabeled rows of a table. ``estimator`` is
``PUClassifier``, ``model_selection`` its scorers and folds for labeled and unlabeled rows.
"""

from pubench_core import ApiInfo, CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="predict",
            panel="Your own data",
            load="pubench_models.commands:predict",
            example="pubench predict 783e61fad537fd47 new.csv > predictions.csv",
        ),
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="PUClassifier", load="pubench_models.estimator:PUClassifier"),
        ApiInfo(name="PUKFold", load="pubench_models.model_selection:PUKFold"),
        ApiInfo(name="TrainedModel", load="pubench_models.predict:TrainedModel"),
        ApiInfo(name="decisions", load="pubench_models.decisions:decisions"),
        ApiInfo(name="load_model", load="pubench_models.predict:load_model"),
        ApiInfo(name="pa_scorer", load="pubench_models.model_selection:pa_scorer"),
        ApiInfo(name="pauc_scorer", load="pubench_models.model_selection:pauc_scorer"),
        ApiInfo(name="predictions", load="pubench_models.decisions:predictions"),
        ApiInfo(name="pulp_scorer", load="pubench_models.model_selection:pulp_scorer"),
        ApiInfo(name="recovered_auc_scorer", load="pubench_models.model_selection:recovered_auc_scorer"),
    ]


@hookimpl
def pubench_model_writer() -> str:
    return "pubench_models.model_file:model_bytes"


@hookimpl
def pubench_decisions() -> str:
    return "pubench_models.decisions:decisions_in"
