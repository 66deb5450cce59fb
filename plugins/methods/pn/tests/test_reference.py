"""PN's risk against numbers of PU-Bench's oracle trainer and of acmi-lab's two-output one."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_pn.method import PN, pn_risk
from pubench_testkit.testing import reference_cases
from torch import Tensor

from pubench_core.metric import Scored

pytestmark = pytest.mark.reference

TOLERANCE = 1e-10
CASES = reference_cases("pn")
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def close(ours: Tensor | None, theirs: Any) -> None:
    assert ours is not None
    assert ours.dtype == torch.float64
    np.testing.assert_allclose(ours.detach().numpy(), theirs, rtol=TOLERANCE, atol=TOLERANCE)


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_the_risk_and_its_gradient_are_those_of_the_oracle_trainer(name: str, case: Case) -> None:
    logits = torch.from_numpy(case["logits"]).requires_grad_()
    risk = pn_risk(logits, torch.from_numpy(case["labels"]))
    close(risk, case["loss"])
    risk.backward()
    close(logits.grad, case["grad_logits"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_two_outputs_are_the_same_risk_of_their_difference(name: str, case: Case) -> None:
    outputs = torch.from_numpy(case["two_logit_outputs"]).requires_grad_()
    risk = pn_risk(outputs[:, 0] - outputs[:, 1], torch.from_numpy(case["labels"]))
    close(risk, case["two_logit_loss"])
    risk.backward()
    close(outputs.grad, case["two_logit_grad"])


@pytest.mark.parametrize(("name", "case"), CASES, ids=named)
def test_the_decision_is_the_engines(name: str, case: Case) -> None:
    np.testing.assert_array_equal(Scored.of(case["logits"]).decisions, case["pred"])


def test_the_method_needs_the_truth_and_nothing_else() -> None:
    assert PN.requires(PN.Config()) == {"truth"}
