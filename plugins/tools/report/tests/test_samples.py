"""Generated images lie in a grid, in their order, and keep their gray values or colors."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from pubench_report import listener
from pubench_report.listener import GAP, grid_of

from pubench_core.plugins.events import RunFinished
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SAMPLES, SAMPLES_PICTURE


@pytest.mark.parametrize(("channels", "shape"), [(1, ()), (3, (3,))])
def test_every_image_is_at_its_place(channels: int, shape: tuple[int, ...]) -> None:
    rows = np.zeros((5, channels, 28, 28), dtype=np.float32)
    rows[4] = 1.0
    grid = grid_of(rows)
    side = 2 * 28 + GAP  # enlarged twice
    assert grid.shape == (2 * side - GAP, 3 * side - GAP, *shape)
    assert (grid[:56, :56] == 0).all()
    assert (grid[side : side + 56, side : side + 56] == 255).all()
    assert (grid[side : side + 56, 2 * side :] == 255).all()  # there is no sixth image


def test_values_beyond_0_and_1_are_mapped_to_them() -> None:
    rows = np.array([-2.0, 0.0, 2.0], dtype=np.float32).reshape(3, 1, 1, 1) * np.ones((1, 1, 64, 64), dtype=np.float32)
    grid = grid_of(rows)
    assert [int(grid[0, 0]), int(grid[0, 64 + GAP]), int(grid[64 + GAP, 0])] == [0, 128, 255]


def test_vectors_have_no_picture_and_a_name_is_no_path(tmp_path: Path) -> None:
    image = np.full((4, 1, 8, 8), 0.5, dtype=np.float32)
    np.savez_compressed(tmp_path / SAMPLES, **{"vectors": np.zeros((4, 8)), "../virtual": image})
    listener.pubench_run_finished(RunFinished("0" * 16, "finished", tmp_path))
    (path,) = tmp_path.glob("*.png")
    assert path.name == "samples-___virtual.png"
    with Image.open(path) as picture:
        assert picture.getpixel((0, 0)) == 128


def test_samples_of_a_finished_run_are_drawn_next_to_its_record(tmp_path: Path) -> None:
    np.savez_compressed(tmp_path / SAMPLES, virtual=np.zeros((4, 1, 8, 8), dtype=np.float32))
    listener.pubench_run_finished(RunFinished("0" * 16, "failed", tmp_path))
    assert [path.name for path in tmp_path.iterdir()] == [SAMPLES]
    listener.pubench_run_finished(RunFinished("0" * 16, "finished", tmp_path))
    assert (tmp_path / SAMPLES_PICTURE.format("virtual")).exists()
    assert listener in registry().listeners
