"""``pubench track`` and ``pubench ui``: records in MLflow. Both need the distribution pubench-mlflow."""

from __future__ import annotations

import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

from pubench_core.errors import PluginError, RequestError

from .console import err
from .messages import said


def track(results: Path, uri: str | None) -> None:
    """Sends the records that MLflow lacks; says how many it sent and how many were there."""
    _require(results)
    from mlflow.exceptions import MlflowException
    from pubench_mlflow.sink import track as send
    from pubench_mlflow.sink import tracking_uri

    where = tracking_uri(results, uri)
    try:
        done = send(results, uri)
    except (MlflowException, OSError) as error:
        reason = str(error).strip().splitlines()[0]
        raise PluginError(f"{where} did not take the records: {reason}; run 'pubench track' again later") from error
    for damage in done.unreadable:
        err().print(f"left out: {said(damage)}", markup=False)
    print(f"{done.sent} sent, {done.already_there} already there, {len(done.unreadable)} left out: {where}")


def open_page(results: Path, uri: str | None, port: int) -> None:
    """Serves MLflow's page on the loopback interface until interrupted."""
    _require(results)
    from pubench_mlflow.sink import tracking_uri

    where = tracking_uri(results, uri)
    if where.startswith("sqlite:///") and not Path(where.removeprefix("sqlite:///")).exists():
        raise RequestError(f"nothing was tracked in {where} yet; run something, or 'pubench track --results {results}'")
    print(f"MLflow's page of {where}: http://127.0.0.1:{port} (Ctrl-C ends it)", flush=True)
    command = ["-m", "mlflow", "server", "--backend-store-uri", where, "--host", "127.0.0.1", "--port", str(port)]
    served = subprocess.run([sys.executable, *command, "--workers", "1"])
    if served.returncode not in (0, -2, 130):
        raise PluginError(f"mlflow server ended with exit code {served.returncode}; is port {port} in use? (--port)")


def _require(results: Path) -> None:
    if find_spec("pubench_mlflow") is None:
        raise RequestError("tracking needs the package pubench-mlflow; install it (pip install pubench-mlflow)")
    if not results.is_dir():
        raise RequestError(f"no results folder {results}; name one with --results")
