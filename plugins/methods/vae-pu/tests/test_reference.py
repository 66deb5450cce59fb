"""VAE-PU's bound, virtual rows, losses, gradients and risk against numbers of the official code on linear networks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
import torch
from pubench_testkit.testing import reference_arrays
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

from pubench.method import Backbone
from pubench_core.training.run import Run
from pubench_core.training.views import Features, PUData, PUPart
from pubench_formulas.losses import sigmoid_loss

pytestmark = pytest.mark.reference

TOLERANCE = 1e-9

ARRAYS = reference_arrays("vae-pu")
GROUPS = {
    kind: sorted({name.partition("_")[0] for name in ARRAYS if name.startswith(kind)})
    for kind in ("c", "prior", "risk")
}
#: Weights of the encoder, the decoder and the observer, which a step of the generator moves.
MOVED = ("ymu", "yls", "omu", "ols", "dec", "cl")
TERMS = ("elbo1", "elbo2", "elbo3", "elbo4", "elbo5", "elbo6", "elbo7")
#: What is tested of every case, by kind.
TESTED = {
    "c": {
        *("x_p", "x_u", *(f"w_{name}" for name in (*MOVED, "disc", "pn"))),
        *("eps_y", "eps_o", "eps_gy", "eps_go", "eps_gox", "gmm_mu", "gmm_var"),
        *("pi_pl", "pi_pu", "pi_u", "alpha_gen", "alpha_disc", "alpha_gen2", "bce"),
        *("resp", "resp_single_prior", *TERMS, "vade_loss", "x_pu", "nearest", "gan_loss", "gan2_loss"),
        *(f"{when}_grad_w_{name}" for when in ("early", "late") for name in MOVED),
        *("disc_loss", "disc_grad", "pn_true", "pn_neg", "pn_back", "pn_grad", "pretrain_loss", "pretrain_grad_w_dec"),
    },
    "prior": {"h_labeled", "mu", "var", "weights", "frac0", "swap", "mu_ordered", "p_hat"},
    "risk": {
        *("f_p", "f_gen", "f_u", "pi_pl", "pi_pu", "pi_u"),
        *("true", "neg", "back", "grad_f_p", "grad_f_gen", "grad_f_u"),
    },
}


def close(ours: Any, theirs: Any) -> None:
    assert ours is not None
    ours = ours.detach().numpy() if isinstance(ours, Tensor) else ours
    np.testing.assert_allclose(ours, theirs, rtol=TOLERANCE, atol=TOLERANCE)


def of(case: str, *names: str) -> list[Tensor]:
    return [torch.from_numpy(ARRAYS[f"{case}_{name}"]) for name in names]


def number(case: str, name: str) -> float:
    return float(ARRAYS[f"{case}_{name}"])


def masses(case: str) -> Masses:
    return Masses(*(number(case, name) for name in ("pi_pl", "pi_pu", "pi_u")))


def test_every_array_is_tested() -> None:
    expected = {f"{case}_{name}" for kind, cases in GROUPS.items() for case in cases for name in TESTED[kind]}
    assert set(ARRAYS) == expected | {"meta"}


# ---------------------------------------------------------------- a method with linear networks and given noise


class Linear(nn.Module):
    def __init__(self, weight: Tensor, *, flat: bool = False) -> None:
        super().__init__()
        self.weight, self.flat = nn.Parameter(weight.clone()), flat

    def forward(self, x: Tensor) -> Tensor:
        found = x @ self.weight
        return found.flatten() if self.flat else found


class LinearEncoder(nn.Module):
    def __init__(self, case: str) -> None:
        super().__init__()
        self.ymu, self.yls, self.omu, self.ols = (Linear(*of(case, f"w_{name}")) for name in MOVED[:4])

    def forward(self, x: Tensor, labeled: Tensor) -> Encoded:
        both = torch.cat([x, torch.stack([labeled, 1 - labeled], dim=1)], dim=1)
        return Encoded(self.ymu(x), self.yls(x), self.omu(both), self.ols(both))


class Case:
    """The method of one case, with its networks, its rows, and a run whose normal draws are the case's noise."""

    def __init__(self, name: str, **config: Any) -> None:
        p, u, means, variances = of(name, "x_p", "x_u", "gmm_mu", "gmm_var")
        self.x, self.n = torch.cat([p, u]), len(p)
        self.labeled = (torch.arange(len(self.x)) < self.n).double()
        weights = {
            "weight_adversarial": number(name, "alpha_gen"),
            "weight_discriminator": number(name, "alpha_disc"),
            "weight_consistency": number(name, "alpha_gen2"),
        }
        self.config = Config.model_validate({"optimizer": "sgd", "lr": 1.0, "momentum": 0.0, **weights, **config})
        self.run = run_of(self.config, self.x, self.n)
        self.method = VAEPU(self.config)
        self.method.masses = masses(name)
        self.method.mixture = Mixture(means, variances, 0.5)
        # The official code generates with a sigmoid whatever the likelihood is; here the two go together.
        self.bernoulli = bool(ARRAYS[f"{name}_bce"])
        sizes = means.shape[1], len(ARRAYS[f"{name}_w_cl"])
        self.generator = Generator((self.x.shape[1],), "mlp", *sizes, bernoulli=self.bernoulli)
        self.generator.encoder = LinearEncoder(name)
        self.generator.decoder = Linear(*of(name, "w_dec"))
        self.generator.observer = Linear(*of(name, "w_cl"), flat=True)
        self.method.generator = self.generator
        self.method.discriminator = Linear(*of(name, "w_disc"), flat=True)  # type: ignore[assignment]
        self.method.net = Linear(*of(name, "w_pn"), flat=True)  # type: ignore[assignment]
        self.name = name

    def noise(self, *names: str) -> list[Tensor]:
        """Noise by name; ``go`` is that of the rows of P and of U in one."""
        arrays = {name: torch.from_numpy(ARRAYS[f"{self.name}_eps_{name}"]) for name in ("y", "o", "gy", "go", "gox")}
        return [torch.cat([arrays["go"], arrays["gox"]]) if name == "go" else arrays[name] for name in names]

    def moved(self) -> dict[str, Tensor]:
        """Gradients of the weights of the generator."""
        encoder = self.generator.encoder
        modules = [*(getattr(encoder, name) for name in MOVED[:4]), self.generator.decoder, self.generator.observer]
        return {name: module.weight.grad for name, module in zip(MOVED, modules, strict=True)}


def no_backbone(outputs: int) -> Backbone:
    raise AssertionError("the networks of a case are linear")


def run_of(config: Config, x: Tensor, n_labeled: int) -> Run[Config]:
    rows, labeled = torch.arange(len(x)), torch.arange(len(x)) < n_labeled
    part = PUPart(Features(x), rows, labeled, "single-training-set")
    data = PUData(
        Features(x), rows, labeled, "single-training-set", validation=part, granted=frozenset(), prior=None, truth=None
    )
    return Run(config=config, data=data, seed=2, device=torch.device("cpu"), threads=1, build=no_backbone)


def draw_in_turn(run: Run[Config], noise: list[Tensor], monkeypatch: pytest.MonkeyPatch) -> None:
    """``run.normal`` gives these arrays, in this order, each asked for by its shape."""
    left = iter(noise)

    def normal(*shape: int) -> Tensor:
        given = next(left)
        assert given.shape == shape
        return given

    monkeypatch.setattr(run, "normal", normal)


@dataclass(frozen=True)
class Step:
    """What one call of ``run.step`` was given; ``gradient``: of the weights that it is about."""

    objective: Tensor
    report: dict[str, Tensor]
    gradient: Any


def steps_of(case: Case, monkeypatch: pytest.MonkeyPatch, act: Callable[[], None]) -> dict[str, Step]:
    """The steps that ``act`` makes, by name; no weight is moved."""
    steps: dict[str, Step] = {}
    method = case.method

    def step(objective: Tensor, optimizer: None, *, name: str, report: dict[str, Tensor] | None = None) -> None:
        method.discriminator.zero_grad()
        method.net.zero_grad()
        objective.backward()
        gradients = {
            "discriminator": method.discriminator.weight.grad,
            "generator": case.moved(),
            "classifier": method.net.weight.grad,
        }
        steps[name] = Step(objective, report or {}, gradients[name])

    monkeypatch.setattr(case.run, "step", step)
    act()
    return steps


# ---------------------------------------------------------------- the bound, virtual rows, the generator's step


@pytest.mark.parametrize("name", GROUPS["c"])
def test_responsibilities_with_the_prior_once_and_once_per_dimension(name: str) -> None:
    case = Case(name)
    encoded = case.generator(case.x, case.labeled)
    (noise,) = case.noise("y")
    h = drawn(encoded.y_mean, encoded.y_log_variance, noise)
    prior = masses(name).prior
    close(responsibility(h, case.method.mixture, prior, "once")[:, None], ARRAYS[f"{name}_resp_single_prior"])
    close(responsibility(h, case.method.mixture, prior, "per-dimension")[:, None], ARRAYS[f"{name}_resp"])


@pytest.mark.parametrize("name", GROUPS["c"])
def test_virtual_rows_and_the_observations_that_they_take(name: str) -> None:
    case = Case(name)
    encoded = case.generator(case.x, case.labeled)
    of_class, of_observation = case.noise("gy", "go")
    h_o = drawn(encoded.o_mean, encoded.o_log_variance, of_observation)
    assert nearest(h_o[: case.n], h_o[case.n :]).tolist() == ARRAYS[f"{name}_nearest"].tolist()
    close(case.generator.decoder(virtual_codes(encoded, of_class, of_observation)).sigmoid(), ARRAYS[f"{name}_x_pu"])


@pytest.mark.parametrize("consistency", [False, True])
@pytest.mark.parametrize("name", GROUPS["c"])
def test_steps_of_discriminator_and_generator(name: str, consistency: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(name, responsibilities="per-dimension")
    if not case.bernoulli:
        monkeypatch.setattr(case.generator, "rows", Tensor.sigmoid)
    draw_in_turn(case.run, case.noise("y", "o", "gy", "go"), monkeypatch)
    optimizers: Any = Optimizers(None, None, None)  # type: ignore[arg-type]  # no weight is moved
    arguments = (case.x, case.labeled, case.n, optimizers, case.run)
    steps = steps_of(case, monkeypatch, lambda: case.method._train_generator(*arguments, consistency=consistency))
    close(steps["discriminator"].objective, ARRAYS[f"{name}_disc_loss"])
    close(steps["discriminator"].gradient, ARRAYS[f"{name}_disc_grad"])
    step, adversarial = steps["generator"], number(name, "gan_loss")
    agreed = number(name, "gan2_loss") if consistency else 0.0
    close(step.objective, number(name, "vade_loss") + adversarial + agreed)
    close(step.report["adversarial"] * case.config.weight_adversarial, adversarial)
    close(step.report["reconstruction"], -number(name, "elbo3"))
    if consistency:
        close(step.report["consistency"] * case.config.weight_consistency, agreed)
    when = "late" if consistency else "early"
    for weight, gradient in step.gradient.items():
        close(gradient, ARRAYS[f"{name}_{when}_grad_w_{weight}"])


@pytest.mark.parametrize("name", GROUPS["c"])
def test_the_terms_of_the_bound(name: str) -> None:
    case = Case(name)
    encoded = case.generator(case.x, case.labeled)
    h_y, h_o = (
        drawn(mean, log_variance, noise)
        for mean, log_variance, noise in zip(encoded[::2], encoded[1::2], case.noise("y", "o"), strict=True)
    )
    prior, mixture = masses(name).prior, case.method.mixture
    c = responsibility(h_y, mixture, prior, "per-dimension")
    decoded = case.generator.decoder(torch.cat([h_y, h_o], dim=1))
    likelihood = reconstruction(decoded, case.x, bernoulli=case.bernoulli)
    terms = bound(encoded, c, mixture, prior, likelihood, case.generator.observer(h_o), case.labeled)
    for term, ours in zip(TERMS, terms, strict=True):
        close(ours, ARRAYS[f"{name}_{term}"])
    close(-terms.total, ARRAYS[f"{name}_vade_loss"])


@pytest.mark.parametrize("name", GROUPS["c"])
def test_reconstruction_alone(name: str) -> None:
    case = Case(name)
    encoded = case.generator(case.x, case.labeled)
    of_class, of_observation = case.noise("y", "o")
    h_y = drawn(encoded.y_mean, encoded.y_log_variance, of_class)
    h_o = drawn(encoded.o_mean, encoded.o_log_variance, of_observation)
    decoded = case.generator.decoder(torch.cat([h_y, h_o], dim=1))
    loss = -reconstruction(decoded, case.x, bernoulli=case.bernoulli)
    close(loss, ARRAYS[f"{name}_pretrain_loss"])
    loss.backward()
    close(case.moved()["dec"], ARRAYS[f"{name}_pretrain_grad_w_dec"])


# ---------------------------------------------------------------- the classifier's risk


@pytest.mark.parametrize("name", GROUPS["c"])
def test_the_step_of_the_classifier(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(name)
    if not case.bernoulli:
        monkeypatch.setattr(case.generator, "rows", Tensor.sigmoid)
    draw_in_turn(case.run, case.noise("gy", "go"), monkeypatch)
    optimizer: Any = None
    arguments = (case.x, case.labeled, case.n, optimizer, case.run)
    step = steps_of(case, monkeypatch, lambda: case.method._train_classifier(*arguments))["classifier"]
    close(step.objective, ARRAYS[f"{name}_pn_back"])
    close(step.report["risk"], ARRAYS[f"{name}_pn_true"])
    close(step.gradient, ARRAYS[f"{name}_pn_grad"])
    (virtual,) = of(name, "x_pu")
    f_virtual, f_u = case.method.net(virtual), case.method.net(case.x[case.n :])
    m = masses(name)
    close(
        m.unlabeled * sigmoid_loss(-f_u).mean() - m.unlabeled_positive * sigmoid_loss(-f_virtual).mean(),
        number(name, "pn_neg"),
    )


def test_the_risk_is_reported_where_its_negative_part_is_minimized_instead(monkeypatch: pytest.MonkeyPatch) -> None:
    case = Case(name := GROUPS["c"][0])
    case.method.masses = Masses(0.01, 0.9, 0.1)  # a risk of negatives below 0
    draw_in_turn(case.run, case.noise("gy", "go"), monkeypatch)
    optimizer: Any = None
    arguments = (case.x, case.labeled, case.n, optimizer, case.run)
    step = steps_of(case, monkeypatch, lambda: case.method._train_classifier(*arguments))["classifier"]
    with torch.no_grad():
        (virtual,) = of(name, "x_pu")
        f_p, f_u = case.method.net(case.x).split([case.n, len(case.x) - case.n])
        expected = virtual_risk(f_p, case.method.net(virtual), f_u, case.method.masses)
    assert float(expected.value) < float(expected.objective)
    close(step.objective, expected.objective)
    close(step.report["risk"], expected.value)


@pytest.mark.parametrize("name", GROUPS["risk"])
def test_the_risk_and_its_gradients(name: str) -> None:
    f_p, f_virtual, f_u = scores = [f.requires_grad_() for f in of(name, "f_p", "f_gen", "f_u")]
    risk = virtual_risk(f_p, f_virtual, f_u, masses(name))
    close(risk.value, ARRAYS[f"{name}_true"])
    close(risk.objective, ARRAYS[f"{name}_back"])
    risk.objective.backward()
    for f, side in zip(scores, ("f_p", "f_gen", "f_u"), strict=True):
        close(f.grad if f.grad is not None else torch.zeros_like(f), ARRAYS[f"{name}_grad_{side}"])
    falls = number(name, "neg") < 0
    assert falls == (number(name, "back") != number(name, "true"))
    close(number(name, "back"), -number(name, "neg") if falls else number(name, "true"))


def test_the_risk_of_negatives_falls_below_zero_in_one_case() -> None:
    assert {number(name, "neg") < 0 for name in GROUPS["risk"]} == {True, False}


# ---------------------------------------------------------------- the order of the components


@pytest.mark.parametrize("name", GROUPS["prior"])
def test_the_positive_component_is_the_one_that_most_labeled_positives_have(name: str) -> None:
    h, means, variances, weights = of(name, "h_labeled", "mu", "var", "weights")
    close(share_of_first(h, means, variances), ARRAYS[f"{name}_frac0"])
    found = ordered(h, means, variances, weights)
    close(found.means, ARRAYS[f"{name}_mu_ordered"])
    close(found.variances, ARRAYS[f"{name}_var"][:: -1 if ARRAYS[f"{name}_swap"] else 1])
    close(found.positive_share, ARRAYS[f"{name}_p_hat"])


def test_the_components_are_swapped_in_one_case() -> None:
    assert {int(ARRAYS[f"{name}_swap"]) for name in GROUPS["prior"]} == {0, 1}
