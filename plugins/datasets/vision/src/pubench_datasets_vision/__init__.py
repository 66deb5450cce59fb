"""Image data sets: what they are. The loaders are in :mod:`pubench_datasets_vision.loaders`."""

from pubench_core import DatasetInfo, Reference, hookimpl


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [
        DatasetInfo(
            key="mnist",
            name="MNIST",
            summary="70,000 handwritten digits of 28x28 pixels; even against odd",
            family="vision",
            reference=Reference(
                authors="LeCun, Bottou, Bengio, Haffner",
                title="Gradient-Based Learning Applied to Document Recognition",
                venue="Proc. IEEE 86(11)",
                year=1998,
            ),
            load="pubench_datasets_vision.loaders:Mnist",
            modality="image",
            classes=tuple("0123456789"),
            positive=(0, 2, 4, 6, 8),
            negative=(1, 3, 5, 7, 9),
            backbone="lenet",
            source="the MNIST distribution (torchvision.datasets.MNIST downloads it)",
            licence="CC BY-SA 3.0",
        ),
        DatasetInfo(
            key="fashion-mnist",
            name="Fashion-MNIST",
            summary="70,000 garments of 28x28 pixels; tops, dresses and coats against the rest",
            family="vision",
            aliases=("f-mnist",),
            reference=Reference(
                authors="Xiao, Rasul, Vollgraf",
                title="Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
                venue="arXiv:1708.07747",
                year=2017,
            ),
            load="pubench_datasets_vision.loaders:FashionMnist",
            modality="image",
            classes=(
                "t-shirt/top",
                "trouser",
                "pullover",
                "dress",
                "coat",
                "sandal",
                "shirt",
                "sneaker",
                "bag",
                "ankle boot",
            ),
            positive=(0, 2, 3, 4, 6),
            negative=(1, 5, 7, 8, 9),
            backbone="lenet",
            source="the Fashion-MNIST distribution (torchvision.datasets.FashionMNIST downloads it)",
            licence="MIT",
        ),
    ]
