"""MLflow sink: a listener of finished runs. The sending is in :mod:`pubench_mlflow.sink`, which imports mlflow."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pubench_core import hookimpl

if TYPE_CHECKING:  # every command imports this module, and events hold results, whose import takes long
    from pubench_core.plugins.events import RunFinished


@hookimpl
def pubench_run_finished(event: RunFinished) -> None:
    if event.status == "finished":
        from .sink import send_record

        # From the event: a record holds no password.
        send_record(event.record, event.result.spec.execution.tracking_uri if event.result is not None else None)
