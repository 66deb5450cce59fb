"""Pictures of generated images, drawn when a run is over. Every list of plugins imports this module: nothing heavy."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from pubench_core import hookimpl

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    from pubench_core.plugins.events import RunFinished

#: Pixels between images, and how many a side of an image has at least.
GAP, LEAST_SIDE = 2, 56


@hookimpl
def pubench_run_finished(event: RunFinished) -> None:
    """Writes ``samples-NAME.png`` next to each array of images, (n, C, H, W), C of one or three, of a finished run."""
    from pubench_core.records.files import SAMPLES, SAMPLES_PICTURE

    if event.status == "finished" and (path := event.record / SAMPLES).exists():
        import numpy as np
        from PIL import Image

        with np.load(path) as samples:
            for name, rows in samples.items():
                if rows.ndim == 4 and rows.shape[1] in (1, 3):
                    picture = SAMPLES_PICTURE.format(re.sub(r"[^\w-]", "_", name))
                    Image.fromarray(grid_of(rows)).save(event.record / picture)


def grid_of(rows: npt.NDArray[Any]) -> npt.NDArray[np.uint8]:
    """(H', W') or (H', W', 3) of 0 to 255: (n, C, H, W) images in a square, small ones enlarged.

    Values outside [0, 1], as those of standardized images, are mapped to it by the smallest and largest of all.
    """
    import numpy as np

    low, high = float(rows.min()), float(rows.max())
    if low < 0 or high > 1:
        rows = (rows - low) / max(high - low, 1e-30)
    side, larger = math.ceil(math.sqrt(len(rows))), max(1, math.ceil(LEAST_SIDE / rows.shape[2]))
    lines = math.ceil(len(rows) / side)
    images = np.round(255 * rows).astype(np.uint8).repeat(larger, axis=2).repeat(larger, axis=3)
    gaps = ((0, lines * side - len(rows)), (0, GAP), (0, GAP), (0, 0))
    images = np.pad(np.moveaxis(images, 1, -1), gaps, constant_values=255)
    _, height, width, colors = images.shape
    grid = images.reshape(lines, side, height, width, colors).swapaxes(1, 2)
    grid = grid.reshape(lines * height, side * width, colors)[:-GAP, :-GAP]
    return grid[..., 0] if colors == 1 else grid
