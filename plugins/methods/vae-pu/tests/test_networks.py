"""The sizes of VAE-PU's networks: those of the published codes at their shapes, and any other shape of row."""

from __future__ import annotations

import itertools
import math

import pytest
import torch
from pubench_testkit.testing import layer_names
from pubench_vae_pu.networks import Design, Generator, _averages, _Crop, _narrowing, new_discriminator
from torch import Tensor, nn
from torch.nn import functional as F


def generator(shape: tuple[int, ...], design: Design = "by-shape", sizes: tuple[int, int] = (6, 3)) -> Generator:
    return Generator(shape, design, *sizes, bernoulli=False)


def widths(network: nn.Module, *kinds: type[nn.Module]) -> list[tuple[int, int]]:
    """(inputs, outputs) of the layers of these kinds."""
    return [
        (m.in_features, m.out_features) if isinstance(m, nn.Linear) else (m.in_channels, m.out_channels)
        for m in network.modules()
        if isinstance(m, (nn.Linear, nn.Conv2d, nn.ConvTranspose2d)) and isinstance(m, kinds or nn.Module)
    ]


@pytest.mark.parametrize(
    ("shape", "transposed"),
    [
        ((1, 28, 28), [(256, 128), (128, 64), (64, 1)]),
        ((3, 32, 32), [(256, 128), (128, 64), (64, 3)]),
        ((1, 128, 128), [(512, 512), (512, 256), (256, 128), (128, 64), (64, 1)]),
        ((1, 8, 8), [(64, 1)]),
        ((3, 64, 64), [(512, 256), (256, 128), (128, 64), (64, 3)]),
    ],
    ids=str,
)
def test_images_have_the_convolutions_of_pu_bench(shape: tuple[int, ...], transposed: list[tuple[int, int]]) -> None:
    made = generator(shape, sizes=(128, 128))
    down = [(shape[0], 64), (64, 128), (128, 256)]
    assert widths(made.encoder, nn.Conv2d) == down
    assert widths(made.encoder, nn.Linear) == [(256 * 4 * 4, 512), (512, 256), (512 + 2, 256)]
    assert widths(made.decoder, nn.Linear) == [(256, transposed[0][0] * 4 * 4)]
    assert widths(made.decoder, nn.ConvTranspose2d) == transposed
    discriminator = new_discriminator(shape, "by-shape")
    assert widths(discriminator, nn.Conv2d) == down
    assert widths(discriminator, nn.Linear) == [(256, 1)]


@pytest.mark.parametrize(
    ("d", "hidden"),
    [(57, [256, 128, 64]), (384, [256, 128, 64]), (784, [512, 256, 128]), (9000, [1024, 512, 256])],
)
def test_vectors_have_the_widths_and_layers_of_pu_bench(d: int, hidden: list[int]) -> None:
    """No norm anywhere; the discriminator drops units."""
    assert _narrowing(d) == hidden
    made, discriminator = generator((d,), sizes=(64, 64)), new_discriminator((d,), "by-shape")
    down = [*itertools.pairwise([d, *hidden])]
    assert widths(made.encoder.trunk) == down  # type: ignore[arg-type]
    assert widths(made.decoder) == [*itertools.pairwise([128, *hidden[::-1], d])]
    assert widths(discriminator) == [*down, (hidden[-1], 1)]
    assert layer_names(made.encoder.trunk) == ["Flatten", *(["Linear", "LeakyReLU 0.2"] * 3)]  # type: ignore[arg-type]
    assert layer_names(made.decoder) == [*(["Linear", "LeakyReLU 0.2"] * 3), "Linear", "Unflatten"]
    dropped = ["Linear", "LeakyReLU 0.2", "Dropout 0.3"]
    assert layer_names(discriminator) == ["Flatten", *(dropped * 3), "Linear", "Flatten"]


def test_the_official_networks_have_two_normed_layers_of_500_for_each_code() -> None:
    made, discriminator = generator((1, 28, 28), "mlp", (10, 2)), new_discriminator((1, 28, 28), "mlp")
    assert widths(made.encoder) == [(784, 500), (500, 500), (500, 20), (786, 500), (500, 500), (500, 4)]
    assert widths(made.decoder) == [(12, 500), (500, 500), (500, 784)]
    assert widths(made.observer) == [(2, 1)]
    assert widths(discriminator) == [(784, 256), (256, 1)]
    normed = ["Linear", "BatchNorm1d", "LeakyReLU 0.2"] * 2
    assert layer_names(made.encoder.of_class) == layer_names(made.encoder.of_observation) == [*normed, "Linear"]
    assert layer_names(made.decoder) == [*normed, "Linear", "Unflatten"]
    found = layer_names(discriminator)
    assert found == ["Flatten", "Linear", "LeakyReLU 0.2", "Dropout 0.3", "Linear", "Flatten"]


@pytest.mark.parametrize("side", [1, 2, 3, 4, 8, 16])
def test_pooling_by_products_is_adaptive_pooling(side: int) -> None:
    x = torch.rand(2, 3, side, side, dtype=torch.float64)
    weights = _averages(side).double()
    torch.testing.assert_close(weights @ x @ weights.T, F.adaptive_avg_pool2d(x, 4), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("design", ["by-shape", "mlp"])
@pytest.mark.parametrize("shape", [(1, 8, 8), (57,)], ids=str)
def test_the_observation_code_reads_the_label_and_the_class_code_does_not(
    shape: tuple[int, ...], design: Design
) -> None:
    made, x = generator(shape, design).eval(), torch.rand(4, *shape)
    labeled, unlabeled = made(x, torch.ones(4)), made(x, torch.zeros(4))
    assert torch.equal(labeled.y_mean, unlabeled.y_mean)
    assert torch.equal(labeled.y_log_variance, unlabeled.y_log_variance)
    assert not torch.equal(labeled.o_mean, unlabeled.o_mean)
    assert not torch.equal(labeled.o_log_variance, unlabeled.o_log_variance)


@pytest.mark.parametrize("design", ["by-shape", "mlp"])
def test_the_observation_head_reads_1_0_for_p_and_0_1_for_u(design: Design) -> None:
    made, given = generator((5,), design), []
    made.encoder.of_observation.register_forward_pre_hook(lambda module, args: given.append(args[0]))
    made(torch.rand(2, 5), torch.tensor([1.0, 0.0]))
    assert given[0][:, -2:].tolist() == [[1, 0], [0, 1]]


def test_the_middle_of_what_is_made_is_kept() -> None:
    made = torch.arange(32.0 * 32).reshape(1, 1, 32, 32)
    assert torch.equal(_Crop(28, 30)(made), made[..., 2:30, 1:31])


def test_log_variances_are_cut_so_that_their_exponential_is_finite() -> None:
    encoded = generator((5,))(1e6 * torch.randn(8, 5), torch.ones(8))
    found: Tensor = torch.cat([encoded.y_log_variance.flatten(), encoded.o_log_variance.flatten()])
    assert found.abs().max() == 10
    assert math.isfinite(float(found.detach().exp().sum()))


def test_images_have_the_layers_of_pu_bench_between_their_convolutions() -> None:
    """Norm in encoder and decoder, none in the discriminator, which ends in an average over places."""
    made, discriminator = generator((1, 28, 28)), new_discriminator((1, 28, 28), "by-shape")
    assert isinstance(made.encoder.trunk, nn.Sequential)
    assert layer_names(made.encoder.trunk) == [
        *(["Conv2d", "BatchNorm2d", "LeakyReLU 0.2"] * 3), "_Pool", "Flatten", "Linear", "LeakyReLU 0.2",
    ]  # fmt: skip
    assert layer_names(made.decoder) == [
        "Linear",
        "Unflatten",
        *(["BatchNorm2d", "ReLU", "ConvTranspose2d"] * 3),
        "_Crop",
    ]
    assert layer_names(discriminator) == [*(["Conv2d", "LeakyReLU 0.2"] * 3), "_GlobalAverage", "Linear", "Flatten"]
