"""Every backbone has the layers of its table, and its parts fit together."""

from __future__ import annotations

import pytest
import torch
from pubench_backbones import pubench_backbones
from torch import Tensor, nn

from pubench_core.backbone import Backbone, Normalize
from pubench_core.errors import RequestError
from pubench_core.plugins.info import BackboneInfo
from pubench_core.plugins.registry import load

INFOS = {info.key: info for info in pubench_backbones()}


def build(key: str, shape: tuple[int, ...], outputs: int = 1) -> Backbone:
    network = load(INFOS[key])(shape, outputs)
    assert isinstance(network, Backbone)
    return network


# ---------------------------------------------------------------- layer tables


def linear(inputs: int, outputs: int) -> int:
    return inputs * outputs + outputs


def conv(inputs: int, outputs: int, size: int) -> int:
    return inputs * outputs * size * size + outputs


def conv_bn(inputs: int, outputs: int, size: int = 3) -> int:
    """A convolution with bias, and the scale and shift of its batch norm."""
    return conv(inputs, outputs, size) + 2 * outputs


#: Rows of the published tables: key, shape of a row, parameters with one output, probabilities of dropout in order.
TABLES: list[tuple[str, tuple[int, ...], int, list[float]]] = [
    (
        "mlp",
        (384,),
        linear(384, 512) + linear(512, 256) + linear(256, 128) + linear(128, 64) + linear(64, 1),
        [0.3, 0.3, 0.2],
    ),
    ("mlp-wang", (256,), linear(256, 500) + linear(500, 1), []),
    ("lenet", (1, 28, 28), conv(1, 10, 5) + conv(10, 20, 5) + linear(320, 50) + linear(50, 1), []),
    (
        "cnn-cifar",
        (3, 32, 32),
        conv_bn(3, 96)
        + 2 * conv_bn(96, 96)
        + conv_bn(96, 192)
        + 2 * conv_bn(192, 192)
        + linear(12288, 1000)
        + linear(1000, 1000)
        + linear(1000, 1),
        [0.2, 0.5, 0.5],
    ),
    (
        "cnn-mri",
        (1, 128, 128),
        conv_bn(1, 32)
        + conv_bn(32, 32)
        + conv_bn(32, 64)
        + conv_bn(64, 64)
        + conv_bn(64, 128)
        + conv_bn(128, 128)
        + conv_bn(128, 256)
        + conv_bn(256, 256)
        + linear(256, 64)
        + linear(64, 1),
        [0.1, 0.1, 0.2, 0.3, 0.3],
    ),
    ("cnn", (3, 20, 17), conv_bn(3, 32) + conv_bn(32, 64) + conv_bn(64, 128) + linear(128, 1), []),
    # 11,173,962 is the published size of the CIFAR-style ResNet-18 with ten outputs.
    ("resnet18", (3, 32, 32), 11_173_962 - 10 * 513 + 513, []),
    # 464,154 with ten outputs and shortcuts without parameters (He et al.: 0.46M); two shortcuts are convolutions here.
    ("resnet32", (3, 32, 32), 464_154 - 10 * 65 + 65 + (16 * 32 + 64) + (32 * 64 + 128), []),
    ("linear", (57,), linear(57, 1), []),
]


def test_every_backbone_has_a_table_here() -> None:
    assert {key for key, *_ in TABLES} == set(INFOS)


@pytest.mark.parametrize(("key", "shape", "parameters", "dropout"), TABLES, ids=[key for key, *_ in TABLES])
def test_the_layers_are_those_of_the_table(
    key: str, shape: tuple[int, ...], parameters: int, dropout: list[float]
) -> None:
    network = build(key, shape)
    assert sum(p.numel() for p in network.parameters()) == parameters
    assert [m.p for m in network.modules() if isinstance(m, nn.Dropout)] == dropout


# ---------------------------------------------------------------- parts that fit together

#: One shape that each takes; the resnets and cnn take any, so theirs is small.
SHAPES = {key: shape for key, shape, *_ in TABLES} | {"resnet18": (1, 8, 11), "resnet32": (1, 8, 11), "cnn": (2, 8, 9)}


@pytest.fixture(scope="module", params=list(INFOS))
def network(request: pytest.FixtureRequest) -> tuple[Backbone, Tensor]:
    """A network in evaluation mode whose batch norms have seen something, and three rows for it."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        shape = SHAPES[request.param]
        built = build(request.param, shape)
        channels = shape[0] if len(shape) == 3 else 1
        built.normalize = Normalize([0.3] * channels, [0.7] * channels) if len(shape) == 3 else nn.Identity()
        rows = torch.rand(3, *shape)
        with torch.no_grad():
            built(rows)
    return built.eval(), rows


@pytest.mark.parametrize(("key", "info"), INFOS.items(), ids=list(INFOS))
@torch.no_grad()
def test_several_outputs_are_one_row_each(key: str, info: BackboneInfo) -> None:
    net = build(key, SHAPES[key], outputs=2).eval()
    assert net(torch.rand(3, *SHAPES[key])).shape == (3, 2)
    assert (info.inputs == "image") == (len(SHAPES[key]) == 3)


@torch.no_grad()
def test_the_head_reads_the_features(network: tuple[Backbone, Tensor]) -> None:
    net, rows = network
    features = net.features(rows)
    assert features.shape == (3, net.feature_dim)
    assert net.head.in_features == net.feature_dim
    assert torch.equal(net.head(features).squeeze(-1), net(rows))


@torch.no_grad()
def test_going_on_from_any_stage_gives_the_output_of_the_whole(network: tuple[Backbone, Tensor]) -> None:
    net, rows = network
    whole = net(rows)
    for stage in range(-1, len(net.stages)):
        assert torch.equal(net.onward(net.until(rows, stage), stage), whole)


@pytest.mark.parametrize("shape", [(1, 28, 28), (3, 8, 8), (3, 64, 64), (1, 9, 30)])
@pytest.mark.parametrize("key", ["cnn", "resnet18", "resnet32"])
@torch.no_grad()
def test_size_agnostic_networks_take_any_image_of_at_least_8x8(key: str, shape: tuple[int, ...]) -> None:
    assert build(key, shape).eval()(torch.rand(1, *shape)).shape == (1,)


def test_vector_networks_take_rows_of_any_shape_flattened() -> None:
    for key in ("mlp", "mlp-wang", "linear"):
        assert build(key, (2, 3, 4)).eval()(torch.rand(5, 2, 3, 4)).shape == (5,)


@pytest.mark.parametrize(
    ("key", "shape"),
    [
        ("lenet", (784,)),
        ("lenet", (1, 32, 32)),
        ("lenet", (3, 28, 28)),
        ("cnn-cifar", (3, 64, 64)),
        ("cnn-cifar", (1, 32, 32)),
        ("cnn-cifar", (3072,)),
        ("cnn-mri", (3, 128, 128)),
        ("cnn", (1, 7, 28)),
        ("cnn", (28, 28)),
        ("cnn", (64,)),
        ("resnet18", (3, 32, 7)),
        ("resnet18", (64,)),
    ],
)
def test_a_wrong_shape_is_refused_with_the_expected_shape_and_a_remedy(key: str, shape: tuple[int, ...]) -> None:
    with pytest.raises(RequestError) as refusal:
        build(key, shape)
    message = str(refusal.value)
    assert f"backbone {key} takes" in message
    assert "given " + "x".join(map(str, shape)) in message
    (instead,) = [key for key in INFOS if message.endswith(f"use backbone.key={key}")]
    assert build(instead, shape).eval()(torch.rand(1, *shape)).shape == (1,)


# ---------------------------------------------------------------- memory formats

IMAGES = [key for key, shape in SHAPES.items() if len(shape) == 3]


def in_format(key: str, layout: torch.memory_format) -> tuple[Backbone, Tensor]:
    """The same network and the same images in a memory format."""
    torch.manual_seed(0)
    shape = SHAPES[key]
    net = build(key, shape)
    net.normalize = Normalize([0.3] * shape[0], [0.7] * shape[0])
    return net.eval().to(memory_format=layout), torch.rand(4, *shape).contiguous(memory_format=layout)


@pytest.mark.parametrize("key", IMAGES)
def test_both_memory_formats_give_the_same_numbers(key: str) -> None:
    found = []
    with torch.random.fork_rng(devices=[]):
        for layout in (torch.contiguous_format, torch.channels_last):
            net, rows = in_format(key, layout)
            out = net(rows)
            out.sum().backward()
            gradients = [p.grad for p in net.parameters() if p.grad is not None]
            found.append((out, net.features(rows), torch.cat([g.flatten() for g in gradients])))
    (out, features, gradient), (other_out, other_features, other_gradient) = found
    assert (other_out - out).abs().max() < 1e-5 * out.abs().max()
    assert (other_features - features).abs().max() < 1e-5 * features.abs().max()
    # A score next to the kink of a ReLU may fall on its other side; a wrong order of channels is far beyond this.
    assert (other_gradient - gradient).norm() < 1e-3 * gradient.norm()


@pytest.mark.parametrize("key", IMAGES)
def test_no_layer_leaves_the_memory_format_of_its_images(key: str) -> None:
    left: list[str] = []

    def watched(module: nn.Module, given: object, out: Tensor) -> None:
        if out.dim() == 4 and not out.is_contiguous(memory_format=torch.channels_last):
            left.append(type(module).__name__)

    with torch.random.fork_rng(devices=[]):
        net, rows = in_format(key, torch.channels_last)
        assert rows.is_contiguous(memory_format=torch.channels_last)
        for module in net.modules():
            module.register_forward_hook(watched)
        net(rows)
    assert left == []


@pytest.mark.parametrize("layout", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("shape", [(2, 3, 8, 8), (1, 1, 9, 12), (3, 10, 7, 5), (2, 4, 2, 3)])
def test_pooling_without_gradients_is_the_pooling_that_is_trained(
    shape: tuple[int, ...], layout: torch.memory_format
) -> None:
    """With many ties, and to the last bit."""
    values = torch.randint(-2, 3, shape, generator=torch.Generator().manual_seed(0)).float()
    x = values.contiguous(memory_format=layout)
    pool = next(module for module in build("cnn", (1, 8, 8)).modules() if isinstance(module, nn.MaxPool2d))
    expected = nn.functional.max_pool2d(x, 2)
    with torch.no_grad():
        assert torch.equal(pool(x), expected)
    assert torch.equal(pool(x.requires_grad_()), expected)
    assert pool(x).requires_grad


# ---------------------------------------------------------------- the first layer


def test_normalizing_is_per_channel() -> None:
    x = torch.stack([torch.full((4, 4), 0.5), torch.full((4, 4), 0.9)])[None]
    out = Normalize((0.1, 0.5), (0.2, 0.4))(x)
    assert out.shape == x.shape
    torch.testing.assert_close(out[0, 0], torch.full((4, 4), 2.0))
    torch.testing.assert_close(out[0, 1], torch.full((4, 4), 1.0))


def test_what_is_normalized_with_is_kept_with_the_network_and_not_trained() -> None:
    net = build("lenet", (1, 28, 28))
    trained = {name for name, _ in net.named_parameters()}
    net.normalize = Normalize((0.1307,), (0.3081,))
    assert {name for name, _ in net.named_parameters()} == trained
    assert {"normalize.mean", "normalize.std"} <= set(net.state_dict())
