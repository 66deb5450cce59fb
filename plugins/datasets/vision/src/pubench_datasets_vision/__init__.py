"""Image data sets: what they are. ``load`` names the module that reads them; nothing heavy is imported here."""

from functools import partial

from pubench_core import DatasetInfo, Reference, hookimpl

_images = partial(DatasetInfo, family="vision", modality="image")
_DIGITS = tuple("0123456789")
_EVEN, _ODD = (0, 2, 4, 6, 8), (1, 3, 5, 7, 9)
#: Wang et al., Table 3 (the same class numbers for CIFAR-10 and ImageNette).
_WANG_PHOTOGRAPHS = {
    "case1": ((0, 1, 2, 8, 9), (3, 4, 5, 6, 7)),
    "case2": ((2, 3, 5, 7, 9), (0, 1, 4, 6, 8)),
}
_WANG_USPS = {
    "case1": ((4, 5, 7, 8, 9), (0, 1, 2, 3, 6)),
    "case2": ((1, 4, 6, 8, 9), (0, 2, 3, 5, 7)),
}


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [
        _images(
            key="mnist",
            name="MNIST",
            summary="70,000 handwritten digits of 28x28 pixels; even against odd",
            reference=Reference(
                authors="LeCun, Bottou, Bengio, Haffner",
                title="Gradient-Based Learning Applied to Document Recognition",
                venue="Proc. IEEE 86(11)",
                year=1998,
            ),
            load="pubench_datasets_vision.idx:Mnist",
            classes=_DIGITS,
            positive=_EVEN,
            negative=_ODD,
            backbone="lenet",
            source="the MNIST distribution (torchvision.datasets.MNIST downloads it)",
            license="CC BY-SA 3.0",
        ),
        _images(
            key="fashion-mnist",
            name="Fashion-MNIST",
            summary="70,000 garments of 28x28 pixels; tops, dresses and coats against the rest",
            aliases=("f-mnist",),
            reference=Reference(
                authors="Xiao, Rasul, Vollgraf",
                title="Fashion-MNIST: a Novel Image Dataset for Benchmarking Machine Learning Algorithms",
                venue="arXiv:1708.07747",
                year=2017,
            ),
            load="pubench_datasets_vision.idx:FashionMnist",
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
            license="MIT",
        ),
        _images(
            key="cifar10",
            name="CIFAR-10",
            summary="60,000 photographs of 32x32 pixels in color; vehicles against animals",
            aliases=("cifar-10",),
            reference=Reference(
                authors="Krizhevsky",
                title="Learning Multiple Layers of Features from Tiny Images",
                venue="University of Toronto, technical report",
                year=2009,
            ),
            load="pubench_datasets_vision.cifar:Cifar10",
            classes=("airplane", "automobile", "bird", "cat", "deer", "dog", "frog", "horse", "ship", "truck"),
            positive=(0, 1, 8, 9),
            negative=(2, 3, 4, 5, 6, 7),
            binarizations=_WANG_PHOTOGRAPHS,
            backbone="cnn-cifar",
            source="the CIFAR-10 distribution (torchvision.datasets.CIFAR10 downloads it)",
            license="no license stated; see source",
        ),
        _images(
            key="usps",
            name="USPS",
            summary="9,298 handwritten digits of 16x16 pixels from envelopes; even against odd",
            reference=Reference(
                authors="LeCun, Boser, Denker, Henderson, Howard, Hubbard, Jackel",
                title="Handwritten Digit Recognition with a Back-Propagation Network",
                venue="NIPS 2",
                year=1990,
            ),
            load="pubench_datasets_vision.usps:Usps",
            classes=_DIGITS,
            positive=_EVEN,
            negative=_ODD,
            binarizations=_WANG_USPS,
            backbone="mlp-wang",
            source="the data of The Elements of Statistical Learning (zip.train.gz, zip.test.gz) or LIBSVM's data sets "
            "(usps.bz2, usps.t.bz2; torchvision.datasets.USPS downloads them)",
            license="no license stated (research use); see source",
        ),
        _images(
            key="imagenette",
            name="Imagenette",
            summary="13,394 photographs of ten ImageNet classes, reduced to 64x64 pixels in color",
            reference=Reference(
                authors="Howard",
                title="Imagenette: a subset of 10 easily classified classes from Imagenet",
                venue="fast.ai",
                year=2019,
            ),
            load="pubench_datasets_vision.imagenette:Imagenette",
            classes=(
                "tench",
                "English springer",
                "cassette player",
                "chain saw",
                "church",
                "French horn",
                "garbage truck",
                "gas pump",
                "golf ball",
                "parachute",
            ),
            positive=_WANG_PHOTOGRAPHS["case1"][0],
            negative=_WANG_PHOTOGRAPHS["case1"][1],
            binarizations=_WANG_PHOTOGRAPHS,
            backbone="resnet18",
            source="the Imagenette distribution, 160 pixels (torchvision.datasets.Imagenette downloads it)",
            license="Apache-2.0 (the collection); the photographs under ImageNet's terms of use",
        ),
        _images(
            key="adni",
            name="ADNI (Alzheimer MRI)",
            summary="6,400 gray magnetic resonance images of 128x128 pixels; no dementia against three degrees of it",
            aliases=("alzheimer-mri",),
            reference=Reference(
                authors="Jack et al.",
                title="The Alzheimer's Disease Neuroimaging Initiative (ADNI): MRI methods",
                venue="J. Magn. Reson. Imaging 27(4)",
                year=2008,
            ),
            load="pubench_datasets_vision.adni:Adni",
            classes=("NonDemented", "VeryMildDemented", "ModerateDemented", "MildDemented"),
            positive=(0,),
            negative=(1, 2, 3),
            backbone="cnn-mri",
            source="the four-class Alzheimer MRI preprocessed image set (6,400 images of 128x128: train 5,120, test "
            "1,280; original ADNI data need an application to the Alzheimer's Disease Neuroimaging Initiative), "
            "Falah/Alzheimer_MRI on the Hugging Face hub",
            license="Apache-2.0 as stated by the public copy; original data under ADNI's data use agreement",
        ),
    ]
