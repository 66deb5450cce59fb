"""Draws the contact sheets of views in ``pages/images/``: what weak and strong augmentation make of a row.

python docs/contact_sheets.py docs/pages/images
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import matplotlib
import torch
from matplotlib import pyplot as plt
from pubench_holistic_pu.method import OPERATIONS, STRONG_VECTOR, WEAK_VECTOR
from pubench_pul_cpbf.method import STRONG_IMAGE
from sklearn.datasets import load_breast_cancer, load_digits, load_sample_images
from sklearn.preprocessing import StandardScaler
from torch import Tensor
from torch.nn import functional as F

from pubench_formulas.augmentation import strong_view, weak_view
from pubench_formulas.operations import RANDAUGMENT

SEED = 2
#: Top left corners of the parts of a photograph.
PLACES = ((20, 200), (120, 60), (200, 300))
View = Callable[..., Tensor]
LAGAM: dict[str, Any] = {"padding": "zeros", "operations": "randaugment", "number": 3, "cutout": (0, 0.5), "fill": 0.5}


def gray(rows: Tensor, generator: torch.Generator, **options: Any) -> Tensor:
    """Holistic-PU's strong views of Fashion-MNIST: one change after the other."""
    first, second = OPERATIONS["gray"]
    return strong_view(strong_view(rows, generator, **options, **first), generator, flip=False, pad=0, **second)


#: Name of a column -> the kind of view and its parameters.
IMAGES: Mapping[str, tuple[View, dict[str, Any]]] = {
    "weak": (weak_view, {}),
    "strong": (strong_view, {}),
    "Holistic-PU": (strong_view, OPERATIONS["randaugment"][0]),
    "Holistic-PU, gray": (gray, {}),
    "LaGAM": (strong_view, LAGAM),
    "PUL-CPBF": (strong_view, STRONG_IMAGE),
}
VECTORS: Mapping[str, tuple[View, dict[str, Any]]] = {
    "weak": (weak_view, {}),
    "strong": (strong_view, {}),
    "Holistic-PU, weak": (weak_view, WEAK_VECTOR),
    "Holistic-PU, strong": (strong_view, STRONG_VECTOR),
}


def color_images() -> Tensor:
    """(6, 3, 32, 32) parts of scikit-learn's two photographs."""
    photographs = [torch.tensor(image).permute(2, 0, 1).float() / 255 for image in load_sample_images().images]
    parts = [image[:, top : top + 200, left : left + 200] for image in photographs for top, left in PLACES]
    return F.interpolate(torch.stack(parts), size=(32, 32), mode="area")


def digits() -> Tensor:
    """(6, 1, 8, 8), the digits 2 to 7."""
    return torch.from_numpy(load_digits().images[2:8, None]).float() / 16


def sheet(rows: Tensor, columns: Mapping[str, tuple[View, dict[str, Any]]], repeats: int, **always: Any) -> plt.Figure:
    """Every row as it is, then ``repeats`` views of each kind."""
    generator = torch.Generator().manual_seed(SEED)
    names, made = ["as it is"], [rows]
    for name, (view, parameters) in columns.items():
        for repeat in range(repeats):
            names.append(name if repeat == 0 else "")
            made.append(view(rows, generator, **{**parameters, **always}))
    return _drawn(names, made)


def operations(row: Tensor) -> plt.Figure:
    """Each operation of RandAugment alone, twice, on one image."""
    generator = torch.Generator().manual_seed(SEED)
    plain = {"flip": False, "pad": 0, "number": 1, "cutout": 0.0}
    made = [row.expand(2, -1, -1, -1)]
    made += [strong_view(made[0], generator, operations=[name], **plain) for name in RANDAUGMENT]
    return _drawn(["as it is", *RANDAUGMENT], made, slanted=True)


def _drawn(names: list[str], made: list[Tensor], slanted: bool = False) -> plt.Figure:
    n, wide = len(made[0]), made[0].dim() == 2
    size = (2.6, 0.32) if wide else (0.75, 0.75)
    figure, axes = plt.subplots(
        n, len(made), figsize=(size[0] * len(made), size[1] * n + (0.7 if slanted else 0.3)), squeeze=False
    )
    for column, (name, views) in enumerate(zip(names, made, strict=True)):
        turn: dict[str, Any] = {"rotation": 35, "ha": "left"} if slanted else {}
        axes[0, column].set_title(name, fontsize=8, **turn)
        for line, view in enumerate(views):
            ax = axes[line, column]
            ax.set_axis_off()
            if wide:
                ax.imshow(view[None], cmap="RdBu", vmin=-3, vmax=3, aspect="auto", interpolation="nearest")
            else:
                assert view.equal(view.clamp(0, 1)), name
                ax.imshow(view.permute(1, 2, 0).squeeze(), cmap="gray", vmin=0, vmax=1, interpolation="nearest")
    figure.subplots_adjust(
        0.01, 0.01, 0.96 if slanted else 0.99, 1 - (0.55 if slanted else 0.25) / figure.get_figheight(), 0.05, 0.05
    )
    return figure


def main() -> None:
    matplotlib.use("svg")
    folder = Path(sys.argv[1])
    table = StandardScaler().fit_transform(load_breast_cancer().data)[:6]
    sheets = {
        "views-color": sheet(color_images(), IMAGES, 2),
        "views-digits": sheet(digits(), IMAGES, 2, flip=False),
        "views-vectors": sheet(torch.from_numpy(table).float(), VECTORS, 1),
        "views-operations": operations(color_images()[3:4]),
    }
    for name, figure in sheets.items():
        figure.savefig(folder / f"{name}.png", dpi=110, metadata={"Software": None})


if __name__ == "__main__":
    main()
