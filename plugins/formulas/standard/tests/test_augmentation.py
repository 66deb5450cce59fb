"""Weak and strong views keep shape and range, change rows independently, and follow their generator."""

from __future__ import annotations

from inspect import signature
from typing import Any

import pytest
import torch

from pubench_formulas.augmentation import strong_view, weak_view

#: Parameters under which a strong view of an image is the image.
UNTOUCHED: dict[str, Any] = {"flip": False, "pad": 0, "number": 0, "cutout": 0}


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_the_batch_itself_is_left_as_it_was() -> None:
    for shape in ((8, 1, 28, 28), (8, 57)):
        x = torch.rand(shape, generator=seeded(1))
        before = x.clone()
        weak_view(x, seeded())
        strong_view(x, seeded())
        assert torch.equal(x, before)


# ---------------------------------------------------------------- parameters of images


IMAGES = torch.rand(64, 3, 32, 32, generator=seeded(1))
ROWS = torch.rand(200, 100, generator=seeded(1)) + 0.5


def test_the_numbers_without_parameters_are_those_of_before() -> None:
    """Means and deviations that the code before the parameters gave, on one machine."""
    found = [
        (view(x, seeded()).mean().item(), view(x, seeded()).std().item())
        for view in (weak_view, strong_view)
        for x in (IMAGES, ROWS)
    ]
    expected = [(0.500421, 0.288732), (0.999563, 0.288906), (0.470687, 0.295206), (0.810367, 0.571451)]
    for one, other in zip(found, expected, strict=True):
        assert one == pytest.approx(other, abs=1e-5)


@pytest.mark.parametrize(("flip", "share"), [(False, 0), (True, 0.5), (0.25, 0.25), (1.0, 1)])
def test_flip_is_the_probability_of_a_mirror_image(flip: float, share: float) -> None:
    x = IMAGES.repeat(10, 1, 1, 1)
    view = weak_view(x, seeded(), flip=flip, pad=0)
    mirrored = (view == x.flip(-1)).flatten(1).all(dim=1)
    assert (mirrored | (view == x).flatten(1).all(dim=1)).all()
    assert mirrored.float().mean() == pytest.approx(share, abs=0.06)


@pytest.mark.parametrize("padding", ["zeros", "reflect"])
def test_a_crop_shows_zeros_or_the_mirrored_border_around_an_image(padding: Any) -> None:
    """acmi-lab/PU_learning: RandomCrop(32, padding=4), which pads with zeros."""
    view = weak_view(torch.ones(400, 1, 32, 32), seeded(), flip=False, padding=padding)
    lost = (view == 0).float().sum(dim=(1, 2, 3))
    if padding == "reflect":
        assert not lost.any()
        return
    shifted = {(a, b): 32 * 32 - (32 - a) * (32 - b) for a in range(5) for b in range(5)}
    assert set(lost.tolist()) <= set(map(float, shifted.values()))
    assert lost.max() == shifted[4, 4]
    assert (lost == 0).float().mean() == pytest.approx(1 / 81, abs=0.02)  # one of 9 x 9 places


@pytest.mark.parametrize("pad", [1, 7])
def test_pad_is_how_far_a_crop_moves(pad: int) -> None:
    image = torch.zeros(2000, 1, 20, 20)
    image[..., 10, 10] = 1
    views = weak_view(image, seeded(), flip=False, pad=pad, padding="zeros")
    rows = views[:, 0].amax(dim=2).argmax(dim=1)
    assert (int(rows.min()), int(rows.max())) == (10 - pad, 10 + pad)


def test_noise_on_images_stays_between_0_and_1() -> None:
    view = weak_view(torch.full((50, 1, 20, 20), 0.5), seeded(), noise=0.02)
    assert view.sub(0.5).std() == pytest.approx(0.02, rel=0.05)
    loud = strong_view(IMAGES, seeded(), noise=2.0)
    assert loud.min() == 0
    assert loud.max() == 1


def test_each_operation_is_carried_out_with_its_probability() -> None:
    x = IMAGES.repeat(10, 1, 1, 1)
    view = strong_view(x, seeded(), **UNTOUCHED | {"operations": ["brightness"], "number": 2, "probability": 0.5})
    untouched = (view == x).flatten(1).all(dim=1).float().mean()
    assert untouched == pytest.approx(0.25, abs=0.05)


def test_magnitude_bounds_the_strength() -> None:
    x = torch.zeros(500, 1, 20, 20)
    x[..., 10] = 1
    only = {"operations": ["translate-x"], "number": 1, "magnitude": 0.5}
    columns = strong_view(x, seeded(), **UNTOUCHED | only)[:, 0, 0].argmax(dim=1)
    assert (int(columns.min()), int(columns.max())) == (7, 13)  # 0.5 x 0.3 of 20 pixels to either side


@pytest.mark.parametrize(("cutout", "low", "high"), [(0.25, 5, 9), ((0.0, 0.5), 1, 17), ([0.0, 0.5], 1, 17)])
def test_a_cutout_has_the_side_and_the_value_that_were_given(cutout: Any, low: int, high: int) -> None:
    view = strong_view(IMAGES, seeded(), **UNTOUCHED | {"cutout": cutout, "fill": 0.5})
    sides = (view == 0.5).all(dim=1).any(dim=2).sum(dim=1)
    assert low <= sides.min()
    assert sides.max() <= high
    assert sides.max() > low


# ---------------------------------------------------------------- parameters of vectors


def test_noise_drop_and_sign_of_vectors_are_what_was_given() -> None:
    assert weak_view(ROWS, seeded(), noise=0.01).sub(ROWS).std() == pytest.approx(0.01, rel=0.05)
    assert torch.equal(strong_view(ROWS, seeded(), noise=0, drop=0, sign=0), ROWS)
    view = strong_view(ROWS, seeded(), noise=0.0, drop=0.3, sign=0.2)
    assert (view == 0).float().mean() == pytest.approx(0.3, abs=0.02)
    assert (view < 0).float().mean() == pytest.approx(0.7 * 0.2, abs=0.02)


# ---------------------------------------------------------------- what cannot be


@pytest.mark.parametrize(
    ("given", "line"),
    [
        ({"flip": 1.5}, r"flip is a number in \[0, 1\], not 1.5"),
        ({"flip": float("nan")}, r"flip is a number in \[0, 1\], not nan"),
        ({"pad": 32}, "pad is a whole number of at least 0 and below 32, not 32"),
        ({"pad": 2.5}, "pad is a whole number of at least 0 and below 32, not 2.5"),
        ({"padding": "black"}, "padding is reflect or zeros, not black"),
        ({"operations": "hue"}, "operations has no 'hue'; enhance, randaugment, or some of autocontrast, "),
        ({"operations": ["rotate", "warp"]}, "operations has no 'warp'"),
        ({"operations": []}, "operations is empty; number=0 leaves them out"),
        ({"number": -1}, "number is a whole number of at least 0, not -1"),
        ({"number": True}, "number is a whole number of at least 0, not True"),
        ({"probability": 2}, r"probability is a number in \[0, 1\], not 2"),
        ({"magnitude": -1}, r"magnitude is a number in \[0, 1\], not -1"),
        ({"cutout": 1.2}, r"cutout is a number in \[0, 1\], not 1.2"),
        ({"cutout": (0.5, 0.1)}, r"cutout is a share or \(low, high\), not \(0.5, 0.1\)"),
        ({"fill": 255}, r"fill is a number in \[0, 1\], not 255"),
        ({"noise": -1}, "noise is a number of at least 0, not -1"),
        ({"drop": 0.1}, r"drop is for vectors; rows of shape \(3, 32, 32\) are images"),
        ({"sign": 0.1}, r"sign is for vectors; rows of shape \(3, 32, 32\) are images"),
    ],
    ids=str,
)
def test_a_parameter_out_of_range_or_for_vectors_is_one_line(given: dict[str, Any], line: str) -> None:
    with pytest.raises(ValueError, match=line):
        strong_view(IMAGES, seeded(), **given)


#: Besides the rows, their generator and what vectors take.
OF_IMAGES = signature(strong_view).parameters.keys() - {"x", "generator", "noise", "drop", "sign"}


@pytest.mark.parametrize("name", sorted(OF_IMAGES))
def test_a_parameter_for_images_is_refused_for_vectors(name: str) -> None:
    line = rf"{name} is for images; rows of shape \(100,\) take noise, drop and sign"
    with pytest.raises(ValueError, match=line):
        strong_view(ROWS, seeded(), **{name: 0})
    if name in signature(weak_view).parameters:
        with pytest.raises(ValueError, match=line):
            weak_view(ROWS, seeded(), **{name: 0})


@pytest.mark.parametrize("given", [{"drop": 1.1}, {"sign": -0.1}, {"noise": -0.1}, {"noise": float("inf")}], ids=str)
def test_a_parameter_of_vectors_out_of_range_is_one_line(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))} is a number"):
        strong_view(ROWS, seeded(), **given)
