"""Generated images as pictures."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.records.files import SAMPLES_PICTURE

#: Pixels between images, and how many a side of an image has at least.
GAP, LEAST_SIDE = 2, 56


def write_pictures(folder: Path, samples: Mapping[str, npt.NDArray[Any]]) -> None:
    """``samples-NAME.png`` for each array of images, (n, C, H, W), C of one or three; others have no picture."""
    for name, rows in samples.items():
        if rows.ndim == 4 and rows.shape[1] in (1, 3):
            from PIL import Image

            Image.fromarray(grid_of(rows)).save(folder / SAMPLES_PICTURE.format(re.sub(r"[^\w-]", "_", name)))


def grid_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """(H', W') or (H', W', 3) of 0 to 255: (n, C, H, W) images in a square, small ones enlarged.

    Values outside [0, 1], as those of standardized images, are mapped to it by the smallest and largest of all.
    """
    low, high = float(rows.min()), float(rows.max())
    if low < 0 or high > 1:
        rows = (rows - low) / max(high - low, 1e-30)
    side = math.ceil(math.sqrt(len(rows)))
    larger = max(1, math.ceil(LEAST_SIDE / rows.shape[2]))
    images = np.round(255 * rows).astype(np.uint8).repeat(larger, axis=2).repeat(larger, axis=3)
    images = np.moveaxis(images, 1, -1)
    height, width = images.shape[1] + GAP, images.shape[2] + GAP
    lines = math.ceil(len(rows) / side)
    grid = np.full((lines * height - GAP, side * width - GAP, images.shape[3]), 255, dtype=np.uint8)
    for number, image in enumerate(images):
        top, left = number // side * height, number % side * width
        grid[top : top + image.shape[0], left : left + image.shape[1]] = image
    return grid[..., 0] if grid.shape[2] == 1 else grid
