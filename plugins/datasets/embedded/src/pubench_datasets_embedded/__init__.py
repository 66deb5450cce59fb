"""Data sets that come with scikit-learn: what they are. The loaders are in :mod:`pubench_datasets_embedded.loaders`."""

from pubench_core import DatasetInfo, Reference, hookimpl


@hookimpl
def pubench_datasets() -> list[DatasetInfo]:
    return [
        DatasetInfo(
            key="digits",
            name="Digits 8x8",
            summary="1,797 handwritten digits of 8x8 pixels as vectors of 64; even against odd",
            family="embedded",
            reference=Reference(
                authors="Alpaydin, Kaynak",
                title="Optical Recognition of Handwritten Digits (test part)",
                venue="UCI",
                year=1998,
            ),
            load="pubench_datasets_embedded.loaders:Digits",
            modality="tabular",
            classes=tuple("0123456789"),
            positive=(0, 2, 4, 6, 8),
            negative=(1, 3, 5, 7, 9),
            backbone="mlp",
            source="scikit-learn (installed with it)",
            license="CC BY 4.0",
        ),
        DatasetInfo(
            key="breast-cancer",
            name="Breast Cancer Wisconsin (diagnostic)",
            summary="569 tumours, 30 measurements; malignant against benign",
            family="embedded",
            reference=Reference(
                authors="Wolberg, Mangasarian, Street, Street",
                title="Breast Cancer Wisconsin (Diagnostic)",
                venue="UCI",
                year=1995,
            ),
            load="pubench_datasets_embedded.loaders:BreastCancer",
            modality="tabular",
            classes=("malignant", "benign"),
            positive=(0,),
            negative=(1,),
            backbone="mlp",
            preprocess="standardize",
            source="scikit-learn (installed with it)",
            license="CC BY 4.0",
        ),
    ]
