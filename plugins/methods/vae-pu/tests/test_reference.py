"""VAE-PU's bound, virtual rows, losses, gradients and risk against numbers of the official code on linear networks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pytest
import torch
from pubench_testkit.testing import Case, Vectors, pu_table, run_on
from pubench_vae_pu.course import Masses
from pubench_vae_pu.method import VAEPU, Config, Optimizers, virtual_risk
from pubench_vae_pu.networks import Generator
from pubench_vae_pu.variational import (
    Encoded,
    Mixture,
    bound,
    drawn,
    nearest,
    ordered,
    reconstruction,
    responsibility,
    share_of_first,
    virtual_codes,
)
from torch import Tensor, nn

from pubench_formulas.losses import sigmoid_loss

VECTORS = Vectors("vae-pu", tolerance=1e-9, case="[^_]+")
#: Weights of the encoder, the decoder and the observer, which a step of the generator moves.
MOVED = ("ymu", "yls", "omu", "ols", "dec", "cl")
TERMS = ("elbo1", "elbo2", "elbo3", "elbo4", "elbo5", "elbo6", "elbo7")


def masses(case: Case) -> Masses:
    return Masses(*(case.number(name) for name in ("pi_pl", "pi_pu", "pi_u")))


# ---------------------------------------------------------------- a method with linear networks and given noise


class Linear(nn.Module):
    def __init__(self, weight: Tensor, *, flat: bool = False) -> None:
        super().__init__()
        self.weight, self.flat = nn.Parameter(weight.clone()), flat

    def forward(self, x: Tensor) -> Tensor:
        found = x @ self.weight
        return found.flatten() if self.flat else found


class LinearEncoder(nn.Module):
    def __init__(self, case: Case) -> None:
        super().__init__()
        self.ymu, self.yls, self.omu, self.ols = (Linear(case.tensor(f"w_{name}")) for name in MOVED[:4])

    def forward(self, x: Tensor, labeled: Tensor) -> Encoded:
        both = torch.cat([x, torch.stack([labeled, 1 - labeled], dim=1)], dim=1)
        return Encoded(self.ymu(x), self.yls(x), self.omu(both), self.ols(both))


class Setup:
    """The method of one case, with its networks, its rows, and a run."""

    def __init__(self, case: Case, **config: Any) -> None:
        p, u, means, variances = case.tensors("x_p", "x_u", "gmm_mu", "gmm_var")
        self.case, self.x, self.n = case, torch.cat([p, u]), len(p)
        self.labeled = (torch.arange(len(self.x)) < self.n).double()
        weights = {
            "weight_adversarial": case.number("alpha_gen"),
            "weight_discriminator": case.number("alpha_disc"),
            "weight_consistency": case.number("alpha_gen2"),
        }
        self.config = Config.model_validate({"optimizer": "sgd", "lr": 1.0, "momentum": 0.0, **weights, **config})
        self.run = run_on(pu_table(self.x, self.n), self.config)
        self.method = VAEPU(self.config)
        self.method.masses = masses(case)
        self.method.mixture = Mixture(means, variances, 0.5)
        # The official code generates with a sigmoid whatever the likelihood is; here the two go together.
        self.bernoulli = bool(case["bce"])
        sizes = means.shape[1], len(case["w_cl"])
        self.generator = Generator((self.x.shape[1],), "mlp", *sizes, bernoulli=self.bernoulli)
        self.generator.encoder = LinearEncoder(case)
        self.generator.decoder = Linear(case.tensor("w_dec"))
        self.generator.observer = Linear(case.tensor("w_cl"), flat=True)
        self.method.generator = self.generator
        self.method.discriminator = Linear(case.tensor("w_disc"), flat=True)  # type: ignore[assignment]
        self.method.net = Linear(case.tensor("w_pn"), flat=True)  # type: ignore[assignment]

    def noise(self, *names: str) -> list[Tensor]:
        """Noise by name; ``go`` is that of the rows of P and of U in one."""
        joined = {"go": ("go", "gox")}
        return [torch.cat([self.case.tensor(f"eps_{part}") for part in joined.get(name, (name,))]) for name in names]

    def encoded(self) -> tuple[Encoded, Tensor, Tensor]:
        """What the encoder gives, and a draw of both codes."""
        encoded, (of_class, of_observation) = self.generator(self.x, self.labeled), self.noise("y", "o")
        return (
            encoded,
            drawn(encoded.y_mean, encoded.y_log_variance, of_class),
            drawn(encoded.o_mean, encoded.o_log_variance, of_observation),
        )

    def likelihood(self, h_y: Tensor, h_o: Tensor) -> Tensor:
        decoded = self.generator.decoder(torch.cat([h_y, h_o], dim=1))
        return reconstruction(decoded, self.x, bernoulli=self.bernoulli)

    def moved(self) -> dict[str, Tensor]:
        """Weights of the generator."""
        encoder = self.generator.encoder
        modules = [*(getattr(encoder, name) for name in MOVED[:4]), self.generator.decoder, self.generator.observer]
        return {name: module.weight for name, module in zip(MOVED, modules, strict=True)}


@dataclass(frozen=True)
class Step:
    """Arguments of one call of ``run.step``; ``gradient``: by the weights that it is about."""

    objective: Tensor
    report: dict[str, Tensor]
    gradient: dict[str, Tensor]


def steps_of(setup: Setup, noise: list[Tensor], train: str, **options: Any) -> dict[str, Step]:
    """The steps of ``method._train_<train>``, by name, given these normal draws in this order; no weight is moved."""
    steps: dict[str, Step] = {}
    method, left = setup.method, iter(noise)

    def normal(*shape: int) -> Tensor:
        given = next(left)
        assert given.shape == shape
        return given

    def step(objective: Tensor, optimizer: None, *, name: str, report: dict[str, Tensor] | None = None) -> None:
        weights = {
            "discriminator": {"": method.discriminator.weight},
            "generator": setup.moved(),
            "classifier": {"": method.net.weight},
        }[name]
        found = torch.autograd.grad(objective, tuple(weights.values()), retain_graph=True, materialize_grads=True)
        steps[name] = Step(objective, report or {}, dict(zip(weights, found, strict=True)))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(setup.run, "normal", normal)
        patch.setattr(setup.run, "step", step)
        if not setup.bernoulli:
            patch.setattr(setup.generator, "rows", Tensor.sigmoid)
        optimizers: Any = Optimizers(None, None, None) if train == "generator" else None  # type: ignore[arg-type]
        getattr(method, f"_train_{train}")(setup.x, setup.labeled, setup.n, optimizers, setup.run, **options)
    return steps


# ---------------------------------------------------------------- the bound, virtual rows, the generator's step


@VECTORS.cases("c.")
def test_responsibilities_with_the_prior_once_and_once_per_dimension(case: Case) -> None:
    setup = Setup(case)
    _, h, _ = setup.encoded()
    mixture, prior = setup.method.mixture, masses(case).prior
    once, per_dimension = (responsibility(h, mixture, prior, how) for how in ("once", "per-dimension"))
    case.expect(resp_single_prior=once[:, None], resp=per_dimension[:, None])


@VECTORS.cases("c.")
def test_virtual_rows_and_the_observations_that_they_take(case: Case) -> None:
    setup = Setup(case)
    encoded = setup.generator(setup.x, setup.labeled)
    of_class, of_observation = setup.noise("gy", "go")
    h_o = drawn(encoded.o_mean, encoded.o_log_variance, of_observation)
    codes = virtual_codes(encoded, of_class, of_observation)
    case.expect(nearest=nearest(h_o[: setup.n], h_o[setup.n :]), x_pu=setup.generator.decoder(codes).sigmoid())


@VECTORS.cases("c.", consistency=(False, True))
def test_steps_of_discriminator_and_generator(case: Case, consistency: bool) -> None:
    setup = Setup(case, responsibilities="per-dimension")
    steps = steps_of(setup, setup.noise("y", "o", "gy", "go"), "generator", consistency=consistency)
    discriminator, step = steps["discriminator"], steps["generator"]
    case.expect(disc_loss=discriminator.objective, disc_grad=discriminator.gradient[""])
    case.expect(gan_loss=step.report["adversarial"] * setup.config.weight_adversarial)
    case.expect(elbo3=-step.report["reconstruction"])
    agreed = case.number("gan2_loss") if consistency else 0.0
    case.close(step.objective, case.number("vade_loss") + case.number("gan_loss") + agreed)
    if consistency:
        case.expect(gan2_loss=step.report["consistency"] * setup.config.weight_consistency)
    when = "late" if consistency else "early"
    case.expect(**{f"{when}_grad_w_{weight}": gradient for weight, gradient in step.gradient.items()})


@VECTORS.cases("c.")
def test_the_terms_of_the_bound(case: Case) -> None:
    setup = Setup(case)
    encoded, h_y, h_o = setup.encoded()
    prior, mixture = masses(case).prior, setup.method.mixture
    c = responsibility(h_y, mixture, prior, "per-dimension")
    observed = setup.generator.observer(h_o)
    terms = bound(encoded, c, mixture, prior, setup.likelihood(h_y, h_o), observed, setup.labeled)
    case.expect(**dict(zip(TERMS, terms, strict=True)), vade_loss=-terms.total)


@VECTORS.cases("c.")
def test_reconstruction_alone(case: Case) -> None:
    setup = Setup(case)
    _, h_y, h_o = setup.encoded()
    loss = -setup.likelihood(h_y, h_o)
    case.expect(pretrain_loss=loss)
    case.expect_gradients(loss, pretrain_grad_w_dec=setup.moved()["dec"])


# ---------------------------------------------------------------- the classifier's risk


@VECTORS.cases("c.")
def test_the_step_of_the_classifier(case: Case) -> None:
    setup = Setup(case)
    step = steps_of(setup, setup.noise("gy", "go"), "classifier")["classifier"]
    case.expect(pn_back=step.objective, pn_true=step.report["risk"], pn_grad=step.gradient[""])
    f_virtual, f_u = setup.method.net(case.tensor("x_pu")), setup.method.net(setup.x[setup.n :])
    m = masses(case)
    of_u, of_virtual = m.unlabeled * sigmoid_loss(-f_u).mean(), m.unlabeled_positive * sigmoid_loss(-f_virtual).mean()
    case.expect(pn_neg=of_u - of_virtual)


def test_the_risk_is_reported_if_its_negative_part_is_minimized_instead() -> None:
    case = VECTORS.select("c.")[0]
    setup = Setup(case)
    setup.method.masses = Masses(0.01, 0.9, 0.1)  # a risk of negatives below 0
    step = steps_of(setup, setup.noise("gy", "go"), "classifier")["classifier"]
    net = setup.method.net
    with torch.no_grad():
        f_p, f_u = net(setup.x).split([setup.n, len(setup.x) - setup.n])
        expected = virtual_risk(f_p, net(case.tensor("x_pu")), f_u, setup.method.masses)
    assert float(expected.value) < float(expected.objective)
    case.close(step.objective, expected.objective)
    case.close(step.report["risk"], expected.value)


@VECTORS.cases("risk.")
def test_the_risk_and_its_gradients(case: Case) -> None:
    f_p, f_virtual, f_u = case.leaves("f_p", "f_gen", "f_u")
    risk = virtual_risk(f_p, f_virtual, f_u, masses(case))
    case.expect(true=risk.value, back=risk.objective)
    case.expect_gradients(risk.objective, grad_f_p=f_p, grad_f_gen=f_virtual, grad_f_u=f_u)
    falls = case.number("neg") < 0
    assert falls == (case.number("back") != case.number("true"))
    case.expect(back=-case["neg"] if falls else case["true"])


# ---------------------------------------------------------------- the order of the components


@VECTORS.cases("prior.")
def test_the_positive_component_has_most_labeled_positives(case: Case) -> None:
    h, means, variances, weights = case.tensors("h_labeled", "mu", "var", "weights")
    found = ordered(h, means, variances, weights)
    case.expect(frac0=share_of_first(h, means, variances), mu_ordered=found.means, p_hat=found.positive_share)
    case.close(found.variances, variances.flip(0) if case["swap"] else variances)
