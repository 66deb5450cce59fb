"""Weak and strong views of a batch, as batched operations on its device.

Images are (B, C, H, W) in [0, 1] and stay there; everything else is vectors (B, d). Each takes parameters of its own,
and one that is given for the other is an error. What is not given is what follows:

=============== ============================================================================== ======== =========
images          meaning                                                                        weak     strong
=============== ============================================================================== ======== =========
``flip``        probability of a horizontal flip; ``False``: none, where it changes the class  0.5      0.5
``pad``         pixels around an image before it is cropped; 0: no crop                        side / 8 side / 8
``padding``     what they show: ``reflect`` (Wang et al.) or ``zeros`` (acmi-lab/PU_learning)  reflect  reflect
``noise``       deviation of Gaussian noise, added last                                        0        0
``operations``  what is done to colors and shapes, see below                                            enhance
``number``      how many operations, each drawn again                                                    2
``probability`` of each of them to be carried out                                                       1
``magnitude``   how strong they are at most, of 1                                                       1
``cutout``      side of a square without content, of the image's; (low, high): drawn for each           0.5
``fill``        value of that square; none: the image's mean                                            none
=============== ============================================================================== ======== =========

``enhance``: contrast, brightness, sharpness up or down, or fewer levels. ``randaugment``: the fourteen operations of
:mod:`.operations`; any of their names, in a list, are the only ones. Official codes: Holistic-PU has
``operations="randaugment", probability=0.5, magnitude=0.9, fill=0.5``, LaGAM ``operations="randaugment", number=3,
cutout=(0, 0.5), fill=0.5``, mpe-pu and cvir ``padding="zeros"`` in weak views.

=============== ============================================================================== ======== =========
vectors         meaning                                                                        weak     strong
=============== ============================================================================== ======== =========
``noise``       deviation of Gaussian noise                                                    0.02     0.1
``drop``        share of the features set to 0                                                          0.1
``sign``        share of the features whose sign is flipped                                             0.05
=============== ============================================================================== ======== =========

The numbers for vectors are PU-Bench's extension to text and tabular data; its Holistic-PU: 0.01; 0.05, 0.05, 0.05.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional as F

from .operations import RANDAUGMENT, changed

Padding = Literal["reflect", "zeros"]
Interval = tuple[float, float]


def weak_view(
    x: Tensor,
    generator: torch.Generator,
    *,
    flip: float | None = None,
    pad: int | None = None,
    padding: Padding | None = None,
    noise: float | None = None,
) -> Tensor:
    """(B, *shape) -> (B, *shape). ValueError for a parameter that is out of range or for other rows."""
    if x.dim() != 4:
        _refuse_for_vectors(x, flip=flip, pad=pad, padding=padding)
        return x + _at_least_0("noise", noise, 0.02) * _normal(x, generator)
    return _noisy(_flip_and_crop(x, generator, flip, pad, padding), noise, generator)


def strong_view(
    x: Tensor,
    generator: torch.Generator,
    *,
    flip: float | None = None,
    pad: int | None = None,
    padding: Padding | None = None,
    operations: str | Sequence[str] | None = None,
    number: int | None = None,
    probability: float | None = None,
    magnitude: float | None = None,
    cutout: float | Interval | None = None,
    fill: float | None = None,
    noise: float | None = None,
    drop: float | None = None,
    sign: float | None = None,
) -> Tensor:
    """(B, *shape) -> (B, *shape). ValueError for a parameter that is out of range or for other rows."""
    if x.dim() == 4:
        _refuse_for_images(x, drop=drop, sign=sign)
        view = _flip_and_crop(x, generator, flip, pad, padding)
        view = _operated(view, generator, operations, number, probability, magnitude)
        return _noisy(_cut_out(view, generator, cutout, fill), noise, generator)
    _refuse_for_vectors(
        x,
        flip=flip,
        pad=pad,
        padding=padding,
        operations=operations,
        number=number,
        probability=probability,
        magnitude=magnitude,
        cutout=cutout,
        fill=fill,
    )
    noisy = x + _at_least_0("noise", noise, 0.1) * _normal(x, generator)
    kept = _uniform(x.shape, x, generator) >= _share("drop", drop, 0.1)
    signs = torch.where(_uniform(x.shape, x, generator) < _share("sign", sign, 0.05), -1.0, 1.0)
    return noisy * kept * signs


# -------------------------------------------------------------------- what was given


def _refuse_for_vectors(x: Tensor, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for images; rows of shape {tuple(x.shape[1:])} take noise, drop and sign")


def _refuse_for_images(x: Tensor, **given: object) -> None:
    for name, value in given.items():
        if value is not None:
            raise ValueError(f"{name} is for vectors; rows of shape {tuple(x.shape[1:])} are images")


def _share(name: str, value: float | None, default: float) -> float:
    found = default if value is None else float(value)
    if not 0 <= found <= 1:
        raise ValueError(f"{name} is a number in [0, 1], not {found:g}")
    return found


def _at_least_0(name: str, value: float | None, default: float) -> float:
    found = default if value is None else float(value)
    if not 0 <= found < float("inf"):
        raise ValueError(f"{name} is a number of at least 0, not {found:g}")
    return found


def _count(name: str, value: int | None, default: int, below: int | None = None) -> int:
    found = default if value is None else value
    if isinstance(found, bool) or not isinstance(found, int) or found < 0 or (below is not None and found >= below):
        bound = f" and below {below}" if below is not None else ""
        raise ValueError(f"{name} is a whole number of at least 0{bound}, not {found}")
    return found


def _names(operations: str | Sequence[str] | None) -> tuple[str, ...] | None:
    """The operations by name; None for today's four."""
    if operations is None or operations == "enhance":
        return None
    if operations == "randaugment":
        return RANDAUGMENT
    names = (operations,) if isinstance(operations, str) else tuple(operations)
    for name in names:
        if name not in RANDAUGMENT:
            raise ValueError(f"operations has no '{name}'; enhance, randaugment, or some of {', '.join(RANDAUGMENT)}")
    if not names:
        raise ValueError("operations is empty; number=0 leaves them out")
    return names


# -------------------------------------------------------------------- draws


def _uniform(shape: tuple[int, ...] | torch.Size, like: Tensor, generator: torch.Generator) -> Tensor:
    return torch.rand(tuple(shape), generator=generator, device=like.device)


def _normal(x: Tensor, generator: torch.Generator) -> Tensor:
    return torch.randn(x.shape, generator=generator, device=x.device)


# -------------------------------------------------------------------- images


def _noisy(x: Tensor, noise: float | None, generator: torch.Generator) -> Tensor:
    deviation = _at_least_0("noise", noise, 0.0)
    return (x + deviation * _normal(x, generator)).clamp(0, 1) if deviation else x


def _flip_and_crop(
    x: Tensor, generator: torch.Generator, flip: float | None, pad: int | None, padding: Padding | None
) -> Tensor:
    n, channels, height, width = x.shape
    if padding not in (None, "reflect", "zeros"):
        raise ValueError(f"padding is reflect or zeros, not {padding}")
    size = _count("pad", pad, max(1, width // 8), below=None if padding == "zeros" else min(height, width))
    flipped = _share("flip", 0.5 if flip is True else flip, 0.5)
    if flipped:
        x = torch.where(_uniform((n, 1, 1, 1), x, generator) < flipped, x.flip(-1), x)
    if not size:
        return x
    padded = F.pad(x, (size, size, size, size), mode="constant" if padding == "zeros" else "reflect")
    top, left = (torch.randint(2 * size + 1, (n, 1), generator=generator, device=x.device) for _ in range(2))
    rows = (top + torch.arange(height, device=x.device)).view(n, 1, height, 1)
    columns = (left + torch.arange(width, device=x.device)).view(n, 1, 1, width)
    image = torch.arange(n, device=x.device).view(n, 1, 1, 1)
    channel = torch.arange(channels, device=x.device).view(1, -1, 1, 1)
    return padded[image, channel, rows, columns]


def _operated(
    x: Tensor,
    generator: torch.Generator,
    operations: str | Sequence[str] | None,
    number: int | None,
    probability: float | None,
    magnitude: float | None,
) -> Tensor:
    """A number of operations per image, each drawn from the same ones and with a strength of its own."""
    names, chance = _names(operations), _share("probability", probability, 1.0)
    most = _share("magnitude", magnitude, 1.0)
    for _ in range(_count("number", number, 2)):
        choices = 4 if names is None else len(names)
        which = torch.randint(choices, (len(x), 1, 1, 1), generator=generator, device=x.device)
        strength = most * (2 * _uniform((len(x), 1, 1, 1), x, generator) - 1)
        view = _enhanced(x, which, strength) if names is None else changed(x, names, which, strength)
        if chance < 1:
            view = torch.where(_uniform((len(x), 1, 1, 1), x, generator) < chance, view, x)
        x = view
    return x


def _enhanced(x: Tensor, which: Tensor, strength: Tensor) -> Tensor:
    """Each image with more or less contrast, brightness or sharpness, or with fewer levels."""
    mean = x.mean(dim=(1, 2, 3), keepdim=True)
    blurred = F.avg_pool2d(F.pad(x, (1, 1, 1, 1), mode="reflect"), 3, stride=1)
    levels = (2 + 6 * strength.abs()).round()
    enhanced = (
        mean + (1 + 0.9 * strength) * (x - mean),
        x * (1 + 0.9 * strength),
        x + strength * (x - blurred),
        (x * levels).round() / levels,
    )
    for index, view in enumerate(enhanced):
        x = torch.where(which == index, view.clamp(0, 1), x)
    return x


def _cut_out(x: Tensor, generator: torch.Generator, cutout: float | Interval | None, fill: float | None) -> Tensor:
    """A square centered anywhere, filled with one value or the image's mean."""
    n, _, height, width = x.shape
    low, high = cutout if isinstance(cutout, (tuple, list)) else (cutout, cutout)
    low, high = _share("cutout", low, 0.5), _share("cutout", high, 0.5)
    value = None if fill is None else _share("fill", fill, 0.0)
    if low > high:
        raise ValueError(f"cutout is a share or (low, high), not ({low:g}, {high:g})")
    if not high:
        return x
    center_y = torch.randint(height, (n, 1, 1, 1), generator=generator, device=x.device)
    center_x = torch.randint(width, (n, 1, 1, 1), generator=generator, device=x.device)
    side = low + (high - low) * _uniform((n, 1, 1, 1), x, generator) if low < high else low
    near_y = (torch.arange(height, device=x.device).view(1, 1, -1, 1) - center_y).abs() <= side * height // 2
    near_x = (torch.arange(width, device=x.device).view(1, 1, 1, -1) - center_x).abs() <= side * width // 2
    filled = x.mean(dim=(1, 2, 3), keepdim=True) if value is None else torch.full_like(x[:, :1, :1, :1], value)
    return torch.where(near_y & near_x, filled, x)
