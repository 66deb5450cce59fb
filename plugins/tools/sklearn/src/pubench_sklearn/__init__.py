"""pubench for users of scikit-learn: methods as classifiers, scorers and folds for labeled and unlabeled rows."""

from pubench_core import ApiInfo, hookimpl


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="PUClassifier", load="pubench_sklearn.estimator:PUClassifier"),
        ApiInfo(name="PUKFold", load="pubench_sklearn.model_selection:PUKFold"),
        ApiInfo(name="pa_scorer", load="pubench_sklearn.model_selection:pa_scorer"),
        ApiInfo(name="pauc_scorer", load="pubench_sklearn.model_selection:pauc_scorer"),
        ApiInfo(name="pulp_scorer", load="pubench_sklearn.model_selection:pulp_scorer"),
        ApiInfo(name="recovered_auc_scorer", load="pubench_sklearn.model_selection:recovered_auc_scorer"),
    ]
