"""Pictures that are drawn when a run is over. Every list of plugins imports this module: it imports nothing heavy."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubench_core import hookimpl

if TYPE_CHECKING:
    from pubench_core.plugins.events import RunFinished


@hookimpl
def pubench_run_finished(event: RunFinished) -> None:
    """Draws the samples of a finished run, if its record has any."""
    from pubench_core.records.files import SAMPLES

    if event.status == "finished" and (path := event.record / SAMPLES).exists():
        import numpy as np

        from .samples import write_pictures

        with np.load(path) as samples:
            write_pictures(event.record, samples)
