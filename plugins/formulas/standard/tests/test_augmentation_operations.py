"""RandAugment's operations, batched, give what Pillow gives image by image."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from pubench_formulas.augmentation import strong_view
from pubench_formulas.operations import COLOR, DEGREES, RANDAUGMENT, SHEAR, SHIFT, changed

Image = pytest.importorskip("PIL.Image")
ImageEnhance = pytest.importorskip("PIL.ImageEnhance")
ImageOps = pytest.importorskip("PIL.ImageOps")

STRENGTHS = (-1.0, -0.7, -0.31, 0.0, 0.12, 0.45, 0.9, 1.0)


def _affine(*numbers: float) -> Callable[[Any], Any]:
    return lambda image: image.transform(image.size, Image.Transform.AFFINE, numbers)


def by_pillow(name: str, image: Any, strength: float) -> Any:
    """What FixMatch does to an 8-bit image."""
    width, height = image.size
    factor = 0.05 + 0.9 * abs(strength)
    enhancers = {"brightness": "Brightness", "color": "Color", "contrast": "Contrast", "sharpness": "Sharpness"}
    if name in enhancers:
        return getattr(ImageEnhance, enhancers[name])(image).enhance(factor)
    others = {
        "autocontrast": ImageOps.autocontrast,
        "equalize": ImageOps.equalize,
        "identity": lambda image: image,
        "posterize": lambda image: ImageOps.posterize(image, 4 + math.floor(4 * abs(strength))),
        "solarize": lambda image: ImageOps.solarize(image, math.ceil(255 * (1 - abs(strength)))),
        "rotate": lambda image: image.rotate(DEGREES * strength),
        "shear-x": _affine(1, SHEAR * strength, 0, 0, 1, 0),
        "shear-y": _affine(1, 0, 0, SHEAR * strength, 1, 0),
        "translate-x": _affine(1, 0, SHIFT * strength * width, 0, 1, 0),
        "translate-y": _affine(1, 0, 0, 0, 1, SHIFT * strength * height),
    }
    return others[name](image)


def pictures(channels: int, height: int, width: int) -> np.ndarray:
    """(8, height, width, channels) uint8: noise on a slope, over different ranges."""
    rng = np.random.default_rng(0)
    slope = np.linspace(0, 120, height)[None, :, None, None]
    noise = rng.integers(0, 100, (len(STRENGTHS), height, width, channels))
    scale = np.linspace(0.3, 1.1, len(STRENGTHS))[:, None, None, None]
    return ((slope + noise) * scale + 10).clip(0, 255).astype(np.uint8)


@pytest.mark.parametrize("shape", [(3, 32, 32), (1, 28, 28), (3, 20, 33)], ids=str)
@pytest.mark.parametrize("name", RANDAUGMENT)
def test_an_operation_gives_pillow_s_pixels(name: str, shape: tuple[int, int, int]) -> None:
    """At most two of 256 values apart, which is Pillow's rounding; and the same pixels where shapes move."""
    raw = pictures(*shape)
    x = torch.from_numpy(raw.transpose(0, 3, 1, 2).copy()).float() / 255
    which = torch.full((len(x), 1, 1, 1), RANDAUGMENT.index(name))
    found = 255 * changed(x, RANDAUGMENT, which, torch.tensor(STRENGTHS).view(-1, 1, 1, 1))
    for picture, strength, view in zip(raw, STRENGTHS, found, strict=True):
        image = Image.fromarray(picture if shape[0] == 3 else picture[:, :, 0])
        expected = np.asarray(by_pillow(name, image, strength), dtype=float).reshape(picture.shape).transpose(2, 0, 1)
        away = np.abs(view.numpy() - expected)
        if name in COLOR:
            assert away.max() <= 2
        else:
            assert (away > 0.01).mean() < 0.01  # a pixel on the edge between two may fall to either


def test_each_image_gets_the_operation_that_was_drawn_for_it() -> None:
    x = torch.rand(14, 3, 16, 16, generator=torch.Generator().manual_seed(0)) * 0.7 + 0.1
    strength = torch.linspace(0.3, 0.9, 14).view(-1, 1, 1, 1)
    which = torch.arange(14).flip(0).view(-1, 1, 1, 1)
    together = changed(x, RANDAUGMENT, which, strength)
    for row in range(14):
        one = slice(row, row + 1)
        alone = changed(x[one], (RANDAUGMENT[13 - row],), torch.zeros(1, 1, 1, 1, dtype=torch.long), strength[one])
        torch.testing.assert_close(together[one], alone, atol=1e-6, rtol=0)


def test_a_view_draws_all_operations_equally_with_strengths_of_both_signs() -> None:
    """A single bright column stays in half of the images, and moves to the left in a quarter."""
    x = torch.zeros(600, 1, 21, 21)
    x[..., 10] = 1
    options: dict[str, Any] = {"operations": ["identity", "translate-x"], "number": 1, "flip": False, "pad": 0}
    columns = strong_view(x, torch.Generator().manual_seed(0), **options, cutout=0)[:, 0, 10].argmax(dim=1)
    assert 250 < int((columns == 10).sum()) < 400
    assert 110 < int((columns < 10).sum()) < 180


def test_a_batch_may_be_laid_out_with_channels_last() -> None:
    x = torch.rand(16, 3, 12, 12, generator=torch.Generator().manual_seed(0))
    last = x.contiguous(memory_format=torch.channels_last)
    options: dict[str, Any] = {"operations": "randaugment", "number": 3, "cutout": (0, 0.5), "fill": 0.5}
    views: list[Tensor] = [strong_view(rows, torch.Generator().manual_seed(1), **options) for rows in (x, last)]
    torch.testing.assert_close(*views, atol=1e-6, rtol=0)
