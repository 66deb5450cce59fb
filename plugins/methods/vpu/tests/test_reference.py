"""VPU's losses, a training step and its decisions against numbers of the official code."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from pubench_testkit.testing import reference_cases
from pubench_vpu.method import VPU, decision_logit, mixup_regularizer, variational_loss
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.mixing import mix

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9

CASES = reference_cases("vpu")
LOSSES = [(name, case) for name, case in CASES if "z_mix" in case]
STEPS = [(name, case) for name, case in CASES if "weight" in case]
((_, EVALUATION),) = [(name, case) for name, case in CASES if "z_test" in case]
Case = dict[str, Any]


def named(value: Any) -> str:
    return value if isinstance(value, str) else ""


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def test_every_case_is_of_a_kind_that_is_tested() -> None:
    assert LOSSES
    assert STEPS
    assert len(CASES) == len(LOSSES) + len(STEPS) + 1


@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_one_logit_is_the_difference_of_two_outputs(name: str, case: Case) -> None:
    for side in ("p", "x", "mix"):
        outputs = torch.from_numpy(case[f"outputs_{side}"])
        close(outputs[:, 1] - outputs[:, 0], case[f"z_{side}"])
        close(F.logsigmoid(torch.from_numpy(case[f"z_{side}"])), outputs.log_softmax(1)[:, 1])


@pytest.mark.parametrize("detached", [False, True], ids=["attached", "detached"])
@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_losses_and_gradients(name: str, case: Case, detached: bool) -> None:
    z_p, z_x, z_mix = (torch.from_numpy(case[f"z_{side}"]).requires_grad_() for side in ("p", "x", "mix"))
    variational = variational_loss(z_p, z_x)
    regularizer = mixup_regularizer(z_x.detach() if detached else z_x, z_mix, float(case["lam"]))
    loss = variational + float(case["lambda_reg"]) * regularizer
    close(variational, case["var_loss"])
    close(regularizer, case["reg_loss"])
    close(loss, case["loss"])
    loss.backward()
    close(z_p.grad, case["grad_z_p"])
    close(z_x.grad, case["grad_z_x_detached" if detached else "grad_z_x"])
    close(z_mix.grad, case["grad_z_mix"])


@pytest.mark.parametrize(("name", "case"), LOSSES, ids=named)
def test_the_target_of_a_mixture(name: str, case: Case) -> None:
    z_x, target = torch.from_numpy(case["z_x"]), torch.from_numpy(case["mix_target"])
    coefficient = float(case["lam"])
    # Where the mixture's own φ is the target, nothing is to be regularized.
    close(mix(torch.sigmoid(z_x), torch.ones_like(z_x), coefficient), target)
    reached = torch.log(target) - torch.log1p(-target)
    if (target < 1 - 1e-6).all():
        close(mixup_regularizer(z_x, reached, coefficient), 0)


@pytest.mark.parametrize(("name", "case"), STEPS, ids=named)
def test_a_whole_step_of_a_linear_network(name: str, case: Case) -> None:
    weight, bias, x_p, x_x = (torch.from_numpy(case[array]) for array in ("weight", "bias", "x_p", "x_x"))
    weight.requires_grad_()
    bias.requires_grad_()

    def net(x: Tensor) -> Tensor:
        outputs = x @ weight.T + bias
        return outputs[:, 1] - outputs[:, 0]

    coefficient = float(case["lam"])
    x_mix = mix(x_x, x_p[torch.from_numpy(case["perm"])], coefficient)
    close(x_mix, case["x_mix"])
    z_p, z_x = net(x_p), net(x_x)
    close(torch.sigmoid(z_p).mean(), case["phi_p_mean"])
    close(torch.sigmoid(z_x).mean(), case["phi_x_mean"])
    variational = variational_loss(z_p, z_x)
    regularizer = mixup_regularizer(z_x, net(x_mix), coefficient)
    loss = variational + float(case["lambda_reg"]) * regularizer
    close(variational, case["var_loss"])
    close(regularizer, case["reg_loss"])
    close(loss, case["loss"])
    loss.backward()
    close(weight.grad, case["grad_weight"])
    close(bias.grad, case["grad_bias"])


def scorer() -> VPU:
    """The method after ``finalize``, with a network that returns its input."""
    method = VPU(VPU.Config())
    method.net = torch.nn.Identity()  # type: ignore[assignment]
    method.threshold = float(decision_logit(torch.from_numpy(EVALUATION["z_train_x"])))
    return method


def test_decisions_accuracy_and_auc() -> None:
    score = scorer().decision_function(torch.from_numpy(EVALUATION["z_test"]))
    positive, y = (score > 0).numpy(), EVALUATION["y_test"]
    np.testing.assert_array_equal(positive, EVALUATION["pred"])
    close((positive == y).mean(), EVALUATION["test_acc"])
    close(roc_auc_score(y, score), EVALUATION["test_auc"])
    np.testing.assert_array_equal(EVALUATION["z_test"] > 0, EVALUATION["pred_unnormalised"])


def test_the_score_is_the_logit_of_the_normalized_posterior() -> None:
    method, z_test = scorer(), torch.from_numpy(EVALUATION["z_test"])
    normalized = torch.from_numpy(EVALUATION["log_phi_normalised"])
    log_max = F.logsigmoid(torch.from_numpy(EVALUATION["z_train_x"])).max()
    close(F.logsigmoid(method.decision_function(z_test) + method.threshold) - log_max, normalized)
    # A row with exactly half the largest φ lies on the boundary.
    half = log_max - np.log(2)
    close(method.decision_function(half - torch.log1p(-half.exp())), 0)


def test_the_validation_criterion() -> None:
    z_p, z_x = (torch.from_numpy(EVALUATION[f"z_val_{side}"]) for side in "px")
    close(variational_loss(z_p, z_x), EVALUATION["val_var"])
