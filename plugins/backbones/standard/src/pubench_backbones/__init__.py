"""The networks of the published benchmarks (tables B and D of PU-Bench, Wang et al.), and a size-agnostic CNN."""

from pubench_core import BackboneInfo, Reference, hookimpl

_PUBENCH = Reference(
    authors="PU-Bench authors",
    title="PU-Bench: A Unified Benchmark for Rigorous and Reproducible PU Learning",
    venue="ICLR",
    year=2026,
)
_WANG = Reference(
    authors="Wang et al.",
    title="Accessible, Realistic, and Fair Evaluation of Positive-Unlabeled Learning Algorithms",
    venue="ICLR",
    year=2026,
)
_HERE = "pubench_backbones.networks"


@hookimpl
def pubench_backbones() -> list[BackboneInfo]:
    return [
        BackboneInfo(
            key="mlp",
            name="MLP",
            summary="d-512-256-128-64 with dropout .3, .3, .2; text and tabular (Table D.2)",
            reference=_PUBENCH,
            inputs="vector",
            load=f"{_HERE}:mlp",
        ),
        BackboneInfo(
            key="mlp-wang",
            name="MLP of Wang et al.",
            summary="d-500, one hidden layer (USPS, Letter)",
            reference=_WANG,
            inputs="vector",
            load=f"{_HERE}:mlp_wang",
        ),
        BackboneInfo(
            key="linear",
            name="Linear",
            summary="no hidden layer, as logistic regression",
            inputs="vector",
            load=f"{_HERE}:linear",
        ),
        BackboneInfo(
            key="lenet",
            name="LeNet",
            summary="two 5x5 convolutions and one hidden layer, 1x28x28 (Table D.3)",
            reference=_PUBENCH,
            inputs="image",
            load=f"{_HERE}:lenet",
        ),
        BackboneInfo(
            key="cnn-cifar",
            name="CIFAR-10 CNN",
            summary="six 3x3 convolutions with batch norm, two hidden layers, 3x32x32 (Table D.4)",
            reference=_PUBENCH,
            inputs="image",
            load=f"{_HERE}:cnn_cifar",
        ),
        BackboneInfo(
            key="cnn-mri",
            name="MRI CNN",
            summary="eight 3x3 convolutions with batch norm, global average pool, 1x128x128 (Table D.5)",
            reference=_PUBENCH,
            inputs="image",
            load=f"{_HERE}:cnn_mri",
        ),
        BackboneInfo(
            key="resnet18",
            name="ResNet-18",
            summary="CIFAR-style ResNet-18: 3x3 stem, no max-pool; any image size",
            reference=_WANG,
            inputs="image",
            load=f"{_HERE}:resnet18",
        ),
        BackboneInfo(
            key="resnet32",
            name="ResNet-32",
            summary="CIFAR-type ResNet of 32 layers, widths 16, 32, 64; any image size",
            reference=_WANG,
            inputs="image",
            load=f"{_HERE}:resnet32",
        ),
        BackboneInfo(
            key="cnn",
            name="Size-agnostic CNN",
            summary="three convolution blocks with batch norm and global average pool; any image of at least 8x8",
            inputs="image",
            load=f"{_HERE}:cnn",
        ),
    ]
