"""Weak and strong views keep shape and range, change rows independently, and follow their generator."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch
from torch import Tensor

from pubench_core.formulas.augmentation import _cutout, strong, weak

View = Callable[[Tensor, torch.Generator], Tensor]


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


@pytest.mark.parametrize("view", [weak, strong])
@pytest.mark.parametrize("shape", [(16, 1, 28, 28), (16, 3, 32, 32), (16, 1, 8, 8), (16, 57)])
def test_a_view_has_the_shape_of_its_batch_and_the_same_generator_gives_the_same_view(
    view: View, shape: tuple[int, ...]
) -> None:
    x = torch.rand(shape, generator=seeded(1))
    first, again, other = view(x, seeded()), view(x, seeded()), view(x, seeded(5))
    assert first.shape == x.shape
    assert torch.equal(first, again)
    assert not torch.equal(first, other)
    if x.dim() == 4:
        assert first.min() >= 0
        assert first.max() <= 1


def test_the_batch_itself_is_left_as_it_was() -> None:
    for shape in ((8, 1, 28, 28), (8, 57)):
        x = torch.rand(shape, generator=seeded(1))
        before = x.clone()
        weak(x, seeded())
        strong(x, seeded())
        assert torch.equal(x, before)


def test_a_weak_image_is_the_image_or_its_mirror_shifted_by_at_most_an_eighth() -> None:
    image = torch.zeros(1, 1, 32, 32)
    image[0, 0, 16, 10] = 1
    views = weak(image.expand(400, 1, 32, 32), seeded())
    assert torch.equal(views.sum(dim=(1, 2, 3)), torch.ones(400))
    rows, columns = (views[:, 0].amax(dim=axis).argmax(dim=1) for axis in (2, 1))
    assert set(rows.tolist()) == set(range(12, 21))
    plain, mirrored = set(range(6, 15)), set(range(17, 26))
    assert set(columns.tolist()) == plain | mirrored
    assert 150 < sum(c in plain for c in columns.tolist()) < 250


def test_a_cutout_is_a_square_of_half_the_side_filled_with_the_mean_of_its_image() -> None:
    x = torch.rand(64, 1, 32, 32, generator=seeded(1))
    for before, after in zip(x, _cutout(x, seeded()), strict=True):
        changed = (before != after)[0]
        assert torch.allclose(after[0][changed], before.mean())
        height, width = changed.any(dim=1).sum(), changed.any(dim=0).sum()
        assert int(changed.sum()) == int(height * width)  # a rectangle without holes
        assert 9 <= height <= 17  # cut by the border at most in half
        assert 9 <= width <= 17


def test_a_weak_vector_is_noisy_and_a_strong_one_also_loses_and_flips_features() -> None:
    x = torch.ones(200, 100)
    assert weak(x, seeded()).sub(1).std() == pytest.approx(0.02, rel=0.05)
    views = strong(x, seeded())
    assert (views == 0).float().mean() == pytest.approx(0.10, abs=0.01)
    assert (views < 0).float().mean() == pytest.approx(0.05 * 0.9, abs=0.01)
