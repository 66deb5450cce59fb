"""Tables that cannot be answered, or only in part: one line that says what to do, or an answer with its limits."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from html import unescape
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from pubench_evaluate.advice import advise as steps
from pubench_evaluate.advice import fits
from pubench_evaluate.advice.choice import DEFAULT, OTHERS

import pubench
from pubench_core.errors import PubenchError

N = 300
#: Bagged trees, of which there are few: what is said of a table is no matter of how well it is ranked.
TREES = replace(DEFAULT, config={"n_estimators": 5})


@pytest.fixture(autouse=True)
def cheap(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(steps, "DEFAULT", TREES)
    monkeypatch.setattr(steps, "OTHERS", OTHERS[:1])
    monkeypatch.setattr(steps, "estimates", lambda *a: None)
    monkeypatch.setattr(fits, "FOLDS", 2)


def table(n: int = N, labeled: int = 40, **columns: Any) -> pd.DataFrame:
    """Two features, of which the first rises with being positive; every second row is positive."""
    rng = np.random.default_rng(0)
    truth = np.arange(n) % 2 == 0
    known = np.zeros(n, int)
    known[np.flatnonzero(truth)[:labeled]] = 1
    frame = pd.DataFrame({"a": rng.normal(truth * 2.0), "b": rng.normal(size=n), "labeled": known})
    order = rng.permutation(n)
    return frame.assign(**columns).iloc[order].reset_index(drop=True)


def changed(name: str, change: Callable[[pd.DataFrame], Any]) -> pd.DataFrame:
    frame = table()
    return frame.assign(**{name: change(frame)})


#: Table, arguments, and what the one line says; bad columns and priors: test_user_table.py, test_evaluation.py.
REFUSED: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, Any], str]] = {
    "5 labeled": (lambda: table(labeled=5), {}, "5 labeled rows cannot train"),
    "1 labeled": (lambda: table(labeled=1), {}, "1 labeled row cannot train"),
    "20 unlabeled": (lambda: table(n=60, labeled=30).query("labeled == 1 or b > 0.4").head(45), {}, "too few to rank"),
    "prior of words": (table, {"prior": "many"}, "must be a number"),
    "prior below the labels": (table, {"prior": 0.05}, "prior=0.05: 40 of 300 rows are labeled positives"),
    "goal of words": (table, {"goal": "win"}, "must be rank, classify or review:200"),
    "a review of all rows": (table, {"goal": "review:260"}, "expected fewer rows than the"),
    "no time": (table, {"time": "soon"}, "must be a time such as"),
    "a sheet that is not there": (table, {"audited": "nowhere.csv"}, "nowhere.csv"),
}
#: Table, arguments, and a line that the answer has to have.
ANSWERED: dict[str, tuple[Callable[[], pd.DataFrame], dict[str, Any], str]] = {
    "12 labeled": (lambda: table(labeled=12), {}, "Use bagged trees"),
    "known negatives": (
        lambda: changed("labeled", lambda f: f["labeled"] - (np.arange(N) > N - 40) * (f["labeled"] == 0)),
        {},
        "known negatives for methods that learn from them",
    ),
    "a leak that is not exact": (
        lambda: changed("c", lambda f: f["labeled"] * 5 + np.arange(N) / N),
        {},
        "'c' alone tells labeled rows",
    ),
    "a leak of gaps": (
        lambda: changed("c", lambda f: np.where((f["labeled"] == 1) | (f["b"] > 2), np.arange(N) / N, np.nan)),
        {},
        "'c' alone tells labeled rows",
    ),
    "P again in U": (
        lambda: pd.concat([table(), table().query("labeled == 1").assign(labeled=0)], ignore_index=True),
        {},
        "in the table a second time",
    ),
    "no prior": (table, {}, "needs a prior"),
    "features of noise": (lambda: table().assign(a=np.random.default_rng(1).normal(size=N)), {"prior": 0.5}, "Use"),
    "labeled mostly": (lambda: table(labeled=149).query("labeled == 1 or b > -0.5"), {}, "right way round"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_bad_table_is_refused_in_one_line(name: str, tmp_path: Path) -> None:
    make, arguments, said = REFUSED[name]
    make().to_csv(tmp_path / "bad.csv", index=False)
    with pytest.raises(PubenchError) as error:
        pubench.advise(tmp_path / "bad.csv", "labeled", **{"out": tmp_path / "out", **arguments})
    assert error.value.exit_code == 2
    assert said in str(error.value)
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("name", ANSWERED)
def test_a_doubtful_table_is_answered_with_a_warning(name: str, tmp_path: Path) -> None:
    make, arguments, said = ANSWERED[name]
    make().to_csv(tmp_path / "bad.csv", index=False)
    found = pubench.advise(tmp_path / "bad.csv", "labeled", **{"out": tmp_path / "out", **arguments})
    page = unescape((tmp_path / "out" / "advice.html").read_text("utf-8"))
    assert said in page
    assert len(found.ranked()) == found.look.unlabeled
    assert found.sheet is None or set(pd.read_csv(found.sheet)["row"]) <= set(found.ranked()["row"])
