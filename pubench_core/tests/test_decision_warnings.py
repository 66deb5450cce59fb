"""Positive decisions far from the given prior are a line in the record; those that are not far are none.

This module is also the plugin that offers the method: it decides a configured share of the rows positive.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch
from torch import Tensor

from pubench.method import Field, Method, MethodConfig, PUData, Run
from pubench_core import MethodInfo, hookimpl
from pubench_core.engine.decision_warnings import FAR, STANDARD_ERRORS, _far_from_prior
from pubench_core.results import RunResult

pytestmark = pytest.mark.usefixtures("one_thread")


class Config(MethodConfig):
    share: float = Field(0.5, description="share of U to decide positive")
    reads_prior: bool = Field(False, description="whether the prior is asked for")


class Share(Method[Config]):
    """Whatever its first feature says, a fixed share of U is decided positive."""

    scored_by = ("threshold",)

    @classmethod
    def requires(cls, config: Config) -> frozenset[str]:
        return frozenset({"prior"} if config.reads_prior else ())

    def fit(self, data: PUData, run: Run[Config]) -> None:
        for _ in run.epochs(1):
            sums = data.take(data.unlabeled_rows).flatten(1).double().sum(dim=1)
            share = self.config.share
            self.threshold = float(torch.quantile(sums, 1 - share)) if share < 1 else -1e9

    def decision_function(self, x: Tensor) -> Tensor:
        return x.flatten(1).double().sum(dim=1) - self.threshold


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [MethodInfo(key="share", name="share", summary="s", load=f"{__name__}:Share", devices=("cpu",))]


Warned = Callable[..., tuple[str, ...]]


@pytest.fixture
def warned(do: Callable[..., RunResult]) -> Warned:
    """``warned("share=0.9")``: what the selected criterion of such a run says of its decisions."""
    return lambda *sets: do(*sets, of=("method.key=share",)).result.chosen.warnings


class TestDataSet:
    """Digits: 360 test rows, of which 178 are positive."""

    @pytest.mark.parametrize("share", [0.25, 0.8])
    def test_a_share_far_from_the_prior_told_is_a_line(self, warned: Warned, share: float) -> None:
        (line,) = warned("data.key=digits", "prior=0.5", f"share={share}")
        decided = float(line.split(" %")[0])
        assert decided == pytest.approx(100 * share, abs=7)
        assert "of 360 test rows are decided positive; by the given prior (0.5) 50 % are: " in line
        assert f"if it is right, at least {abs(decided - 50):.3g} % of the decisions are wrong" in line

    def test_one_that_is_near_is_none(self, warned: Warned) -> None:
        assert warned("data.key=digits", "prior=0.5", "share=0.42") == ()

    def test_it_is_the_prior_told_that_counts_and_not_the_true_one(self, warned: Warned) -> None:
        assert warned("data.key=digits", "prior=0.2", "share=0.2") == ()
        (line,) = warned("data.key=digits", "prior=0.2", "share=0.5")
        assert "by the given prior (0.2) 20 % are" in line

    def test_where_nobody_was_told_a_prior_there_is_none(self, warned: Warned) -> None:
        """The true prior of a simulation is known to the evaluator alone, until a method asks for it."""
        far = ("data.key=digits", "share=0.9")
        assert warned(*far) == ()
        (line,) = warned(*far, "reads_prior=true")
        assert "by the given prior (0.4961) 49.6 % are" in line

    def test_decisions_that_are_all_alike_have_a_line_of_their_own(self, warned: Warned) -> None:
        (line,) = warned("data.key=digits", "prior=0.5", "share=1")
        assert line.startswith("all 360 test rows are decided positive")


class TestTable:
    """400 rows, of which 80 are labeled; with a prior of .3, 40 of the 320 unlabeled rows are positive: 12.5 %."""

    @pytest.fixture
    def table(self, tmp_path: Path) -> tuple[str, ...]:
        rng = np.random.default_rng(0)
        frame = pd.DataFrame({"a": rng.normal(size=400), "b": rng.normal(size=400), "s": np.arange(400) < 80})
        frame.to_csv(tmp_path / "my.csv", index=False)
        return (f"data.own.path={tmp_path / 'my.csv'}", "data.own.label_col=s", "prior=0.3")

    def test_under_one_sample_it_is_what_the_labels_left(self, warned: Warned, table: tuple[str, ...]) -> None:
        assert warned(*table, "share=0.125") == ()
        (line,) = warned(*table, "share=0.3")
        assert "of 320 unlabeled rows are decided positive; by the given prior (0.3) 12.5 % are" in line

    def test_under_two_samples_it_is_the_prior(self, warned: Warned, table: tuple[str, ...]) -> None:
        two = (*table, "data.scheme=two-sample")
        assert warned(*two, "share=0.3") == ()
        (line,) = warned(*two, "share=0.125")
        assert "by the given prior (0.3) 30 % are" in line


class TestRule:
    """Either class is decided 1.5 times as often as the prior says or as seldom, beyond three standard errors."""

    @staticmethod
    def far(decided: int, n: int, expected: float) -> bool:
        return bool(list(_far_from_prior("test", np.r_[np.ones(decided), -np.ones(n - decided)], expected, expected)))

    @pytest.mark.parametrize(
        ("expected", "near", "beyond"),
        [
            (0.19, (0.13, 0.28), (0.12, 0.29, 0.38)),
            (0.5, (0.34, 0.66), (0.33, 0.67)),
            (0.8, (0.71, 0.86), (0.69, 0.87)),
            (0.01, (0.007, 0.0149), (0.0066, 0.0151)),
        ],
    )
    def test_with_many_rows_the_factor_decides(
        self, expected: float, near: tuple[float, ...], beyond: tuple[float, ...]
    ) -> None:
        n = 100_000
        assert not any(self.far(round(share * n), n, expected) for share in near)
        assert all(self.far(round(share * n), n, expected) for share in beyond)

    def test_with_few_rows_sampling_does(self) -> None:
        """.2 of 50 rows is 10 on average, with a deviation of 2.8: 16 are 1.6 times as many, and 19 are beyond 3."""
        assert FAR == 1.5
        assert STANDARD_ERRORS == 3
        assert not self.far(16, 50, 0.2)
        assert not self.far(18, 50, 0.2)
        assert self.far(19, 50, 0.2)

    @pytest.mark.parametrize(("decided", "n"), [(0, 500), (500, 500), (0, 0)])
    def test_one_class_alone_is_not_its_concern(self, decided: int, n: int) -> None:
        assert not self.far(decided, n, 0.3)

    @pytest.mark.parametrize("expected", [-0.1, 0.0, 1.0])
    def test_a_prior_that_contradicts_the_counts_is_not_its_concern(self, expected: float) -> None:
        assert not self.far(50, 100, expected)
