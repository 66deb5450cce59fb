"""VAE-PU's codes, its mixture and the range of its rows at the edge; numbers are in ``test_reference.py``."""

from __future__ import annotations

import pytest
import torch
from pubench_testkit.testing import pu_table
from pubench_vae_pu.method import VAEPU, Config
from pubench_vae_pu.variational import nearest, ordered, responsibility, value_range, within_unit_interval


def test_a_component_without_variance_has_a_density() -> None:
    means, variances = torch.tensor([[0.0], [1.0]]), torch.tensor([[0.0], [1.0]])
    mixture = ordered(torch.tensor([[1.0], [2.0]]), means, variances, torch.tensor([0.25, 0.75]))
    assert mixture.variances.min() == pytest.approx(1e-9)
    assert mixture.positive_share == 0.75
    assert responsibility(torch.tensor([[0.0], [1.0]]), mixture, 0.5, "once").isfinite().all()


def test_components_stay_if_labeled_rows_are_divided_between_them() -> None:
    means = torch.tensor([[0.0], [4.0]])
    for of_first, first in ((1, 0.0), (2, 4.0)):  # two of three: swapped
        codes = torch.tensor([[0.0]] * of_first + [[4.0]])
        assert ordered(codes, means, torch.ones(2, 1), torch.full((2,), 0.5)).means[0] == first


def test_the_nearest_code_is_found_among_codes_far_from_zero() -> None:
    """Squared distances by products of matrices lose these differences."""
    codes = 1e4 + torch.randn(50, 3, generator=torch.Generator().manual_seed(0))
    assert nearest(codes + 0.001, codes).tolist() == [*range(50)]


@pytest.mark.parametrize("extreme", [-0.5, 1.5])
@pytest.mark.parametrize("place", [0, 2999])
def test_the_range_is_that_of_all_rows(extreme: float, place: int) -> None:
    rows = torch.rand(3000, 2)
    assert within_unit_interval(pu_table(rows, 1))
    rows[place, 1] = extreme
    assert not within_unit_interval(pu_table(rows, 1))
    assert extreme in value_range(pu_table(rows, 1))


@pytest.mark.parametrize(("channels", "bernoulli"), [(1, True), (3, False)])
def test_images_have_128_codes_and_color_images_a_gaussian_likelihood(channels: int, bernoulli: bool) -> None:
    generator = VAEPU(Config())._generator_for(pu_table(torch.rand(4, channels, 16, 16), 1))()
    assert generator.bernoulli == bernoulli
    assert generator.sizes == (128, 128)
