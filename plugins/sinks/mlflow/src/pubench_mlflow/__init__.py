"""MLflow sink: a listener of finished runs. The sending is in :mod:`pubench_mlflow.sink`, which imports mlflow."""

from pubench_core import hookimpl
from pubench_core.plugins.events import RunFinished


@hookimpl
def pubench_run_finished(event: RunFinished) -> None:
    if event.status == "finished" and event.record is not None:
        from .sink import send_record

        send_record(event.record)
