"""On a table of a user, of which one row in ten is positive."""

from typing import Any

import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from pubench import PUClassifier


@pytest.fixture(scope="module")
def table() -> tuple[Any, Any, Any]:
    """(1000, 10) rows, who is positive, and who of them is labeled."""
    rng = np.random.default_rng(0)
    positive = np.arange(1000) < 100
    x = rng.normal(size=(1000, 10)) + 1.0 * positive[:, None]
    return x, positive, positive & (np.arange(1000) % 3 == 0)


def auc(table: tuple[Any, Any, Any], **given: Any) -> float:
    """Of the unlabeled rows, after the last epoch."""
    x, positive, labeled = table
    model = PUClassifier("nnpu", prior=0.1, epochs=15, criterion="last", random_state=2, threads=1, **given)
    model.fit(x, labeled)
    return float(roc_auc_score(positive[~labeled], model.decision_function(x)[~labeled]))


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")
def test_the_default_preset_ranks_well_if_the_published_one_fails(table: tuple[Any, Any, Any]) -> None:
    default = auc(table)
    assert default == auc(table, preset="table")
    assert default > 0.9
    assert auc(table, preset="pubench") < 0.6
