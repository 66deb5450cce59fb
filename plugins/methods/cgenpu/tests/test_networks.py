"""Generator and discriminator: PU-Bench's where it has them, and of the shape of the rows everywhere."""

from __future__ import annotations

import pytest
import torch
from pubench_cgenpu.networks import Shape, new_discriminator, new_generator
from pubench_testkit.testing import layer_names
from torch import nn

#: Channels in and out, and the side of the kernel, of every convolution; the discriminator's, then the generator's.
PU_BENCH: dict[Shape, tuple[list[tuple[int, int, int]], list[tuple[int, int, int]]]] = {
    (3, 32, 32): (
        [(3, 64, 4), (64, 128, 4), (128, 256, 4), (256, 1, 4)],
        [(256, 128, 4), (128, 64, 4), (64, 3, 4)],
    ),
    (1, 28, 28): (
        [(1, 64, 4), (64, 128, 4), (128, 256, 3), (256, 1, 4)],
        [(256, 128, 4), (128, 64, 4), (64, 1, 3)],
    ),
    (1, 128, 128): (
        [(1, 64, 4), (64, 128, 4), (128, 256, 4), (256, 512, 4), (512, 512, 4), (512, 1, 4)],
        [(512, 512, 4), (512, 256, 4), (256, 128, 4), (128, 64, 4), (64, 1, 4)],
    ),
}
#: What the generator's linear layer makes.
STARTS: dict[Shape, int] = {(3, 32, 32): 256 * 4 * 4, (1, 28, 28): 256 * 7 * 7, (1, 128, 128): 512 * 4 * 4}


@pytest.mark.parametrize("shape", [(1, 8, 8), (5,)], ids=str)
def test_bounded_rows_lie_between_0_and_1_and_others_anywhere(shape: Shape) -> None:
    noise = 1e3 * torch.randn(64, 6, generator=torch.Generator().manual_seed(0))
    bounded, free = (new_generator(shape, 6, bounded=bounded).eval()(noise) for bounded in (True, False))
    assert 0 <= bounded.min() <= bounded.max() <= 1
    assert free.min() < 0
    assert free.max() > 1


@pytest.mark.parametrize("shape", PU_BENCH, ids=str)
def test_networks_of_images_are_pu_benchs(shape: Shape) -> None:
    networks = new_discriminator(shape), new_generator(shape, 6, bounded=True)
    for network, expected in zip(networks, PU_BENCH[shape], strict=True):
        layers = [m for m in network.modules() if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d))]
        assert [(m.in_channels, m.out_channels, m.kernel_size[0]) for m in layers] == expected
    discriminator, generator = (
        [m.num_features for m in network.modules() if isinstance(m, nn.BatchNorm2d)] for network in networks
    )
    of_discriminator, of_generator = PU_BENCH[shape]
    assert discriminator == [channels for _, channels, _ in of_discriminator[1:-1]]  # none behind the first
    assert generator == [channels for channels, _, _ in of_generator]
    (start,) = [m.out_features for m in networks[1].modules() if isinstance(m, nn.Linear)]
    assert start == STARTS[shape]


@pytest.mark.parametrize(
    ("features", "hidden"),
    [(2, [256, 128, 64]), (513, [512, 256, 128]), (768, [512, 256, 128]), (9000, [1024, 512, 256])],
)
def test_networks_of_vectors_are_pu_benchs_without_norm(features: int, hidden: list[int]) -> None:
    """The first layer: the power of two from half the features on, within [256, 1024]."""
    networks = (
        (new_discriminator((features,)), 1, ["Flatten"]),
        (new_generator((features,), 6, bounded=False), features, ["Unflatten", "Identity"]),
    )
    for network, outputs, last in networks:
        layers = [m for m in network.modules() if isinstance(m, nn.Linear)]
        assert [m.out_features for m in layers] == [*hidden, outputs]
        assert layer_names(network) == ["Flatten", *["Linear", "ReLU"] * 3, "Linear", *last]


def test_images_have_the_layers_of_pu_bench_between_their_convolutions() -> None:
    shape, normed = (3, 32, 32), ["Conv2d", "BatchNorm2d", "LeakyReLU 0.2"]
    assert layer_names(new_discriminator(shape)) == ["Conv2d", "LeakyReLU 0.2", *normed, *normed, "Conv2d", "Flatten"]
    between = ["BatchNorm2d", "ReLU", "ConvTranspose2d"]
    generator = new_generator(shape, 6, bounded=True)
    assert layer_names(generator) == ["Linear", "Unflatten", *between * 3, "_Crop", "Sigmoid"]
