"""VPU's losses, a training step and its decisions against numbers of the official code."""

from __future__ import annotations

import numpy as np
import torch
from pubench_testkit.testing import Case, Vectors
from pubench_vpu.method import VPU, decision_logit, mixup_regularizer, variational_loss
from sklearn.metrics import roc_auc_score
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.mixing import mix

#: Unread: pairs of outputs, of which each logit is the difference.
VECTORS = Vectors("vpu", tolerance=1e-9, unread="outputs_.*")


@VECTORS.cases(having="z_mix", regularized=("grad_z_x", "grad_z_x_detached"))
def test_losses_and_gradients(case: Case, regularized: str) -> None:
    z_p, z_x, z_mix = case.leaves("z_p", "z_x", "z_mix")
    variational, own = variational_loss(z_p, z_x), z_x.detach() if "detached" in regularized else z_x
    regularizer = mixup_regularizer(own, z_mix, case.number("lam"))
    loss = variational + case.number("lambda_reg") * regularizer
    case.expect(var_loss=variational, reg_loss=regularizer, loss=loss)
    case.expect_gradients(loss, grad_z_p=z_p, grad_z_mix=z_mix, **{regularized: z_x})


@VECTORS.cases(having="z_mix")
def test_the_target_of_a_mixture(case: Case) -> None:
    z_x, target, coefficient = case.tensor("z_x"), case.tensor("mix_target"), case.number("lam")
    case.expect(mix_target=mix(torch.sigmoid(z_x), torch.ones_like(z_x), coefficient))
    # If the mixture's own φ is the target, nothing is to be regularized.
    reached = torch.log(target) - torch.log1p(-target)
    if (target < 1 - 1e-6).all():
        case.close(mixup_regularizer(z_x, reached, coefficient), 0)


@VECTORS.cases(having="weight")
def test_a_whole_step_of_a_linear_network(case: Case) -> None:
    weight, bias = case.leaves("weight", "bias")
    x_p, x_x = case.tensors("x_p", "x_x")

    def net(x: Tensor) -> Tensor:
        outputs = x @ weight.T + bias
        return outputs[:, 1] - outputs[:, 0]

    x_mix = mix(x_x, x_p[case.tensor("perm")], case.number("lam"))
    z_p, z_x = net(x_p), net(x_x)
    case.expect(x_mix=x_mix, phi_p_mean=torch.sigmoid(z_p).mean(), phi_x_mean=torch.sigmoid(z_x).mean())
    variational = variational_loss(z_p, z_x)
    regularizer = mixup_regularizer(z_x, net(x_mix), case.number("lam"))
    loss = variational + case.number("lambda_reg") * regularizer
    case.expect(var_loss=variational, reg_loss=regularizer, loss=loss)
    case.expect_gradients(loss, grad_weight=weight, grad_bias=bias)


def scorer(case: Case) -> VPU:
    """The method after ``finalize``, with a network that returns its input."""
    method = VPU(VPU.Config())
    method.net = torch.nn.Identity()  # type: ignore[assignment]
    method.threshold = float(decision_logit(case.tensor("z_train_x")))
    return method


@VECTORS.cases(having="z_test")
def test_decisions_accuracy_and_auc(case: Case) -> None:
    score, y = scorer(case).decision_function(case.tensor("z_test")), case["y_test"]
    positive = (score > 0).numpy()
    case.expect(pred=positive, test_acc=(positive == y).mean(), test_auc=roc_auc_score(y, score))
    case.expect(pred_unnormalised=case["z_test"] > 0)


@VECTORS.cases(having="z_test")
def test_the_score_is_the_logit_of_the_normalized_posterior(case: Case) -> None:
    method = scorer(case)
    log_max = F.logsigmoid(case.tensor("z_train_x")).max()
    score = method.decision_function(case.tensor("z_test"))
    case.expect(log_phi_normalised=F.logsigmoid(score + method.threshold) - log_max)
    # A row with exactly half the largest φ lies on the boundary.
    half = log_max - np.log(2)
    case.close(method.decision_function(half - torch.log1p(-half.exp())), 0)


@VECTORS.cases(having="z_test")
def test_the_validation_criterion(case: Case) -> None:
    case.expect(val_var=variational_loss(*case.tensors("z_val_p", "z_val_x")))
