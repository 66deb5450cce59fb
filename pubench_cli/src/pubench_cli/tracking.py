"""``pubench track`` and ``pubench ui``: records in MLflow. Both need the distribution pubench-mlflow."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from importlib.util import find_spec
from os.path import isdir
from pathlib import Path
from types import FrameType

import typer

from pubench_core.errors import PluginError, RequestError
from pubench_core.specs.secrets import without_password

from .console import err
from .machine import print_json
from .messages import said
from .visible import show, visible

HOST = "127.0.0.1"
#: Seconds that the server has to end by itself.
GRACE = 5.0


def track(results: Path, uri: str | None, *, as_json: bool) -> None:
    """Sends the records that MLflow lacks; says how many it sent and how many were there."""
    _require(results)
    from pubench_mlflow.address import tracking_uri
    from pubench_mlflow.sink import track as send

    done = send(results, uri)
    for reason in done.left_out:
        err().print(f"left out: {said(reason)}", markup=False)
    where = without_password(tracking_uri(results, uri))
    if as_json:
        left_out = [said(reason) for reason in done.left_out]
        print_json({"sent": done.sent, "already_there": done.already_there, "left_out": left_out, "tracker": where})
        return
    show(f"{done.sent} sent, {done.already_there} already there, {len(done.left_out)} left out: {where}")


class _Ended(BaseException):
    """A signal asked the page to end; no handler of errors may take it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def open_page(results: Path, uri: str | None, port: int) -> None:
    """Serves MLflow's page on the loopback interface until interrupted; nothing of it is left running then."""
    _require(results)
    from pubench_mlflow.address import file_of, tracking_uri

    where = tracking_uri(results, uri)
    file = file_of(where)
    if file is not None and not file.exists():
        raise RequestError(f"nothing was tracked in {where} yet; run something, or 'pubench track --results {results}'")
    _refuse_used(port)
    environment = {
        "MLFLOW_DISABLE_TELEMETRY": "true",
        **os.environ,
        "MLFLOW_BACKEND_STORE_URI": where,  # not on the command line, which is for everybody to read
        "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false",  # of no use for a page
    }
    command = [sys.executable, "-m", "mlflow", "server", "--host", HOST, "--port", str(port), "--workers", "1"]

    def end(number: int, frame: FrameType | None) -> None:
        raise _Ended(number)

    for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
        signal.signal(number, end)
    server = None
    try:
        print(visible(f"MLflow's page of {without_password(where)}: http://{HOST}:{port} (Ctrl-C ends it)"), flush=True)
        server = subprocess.Popen(command, env=environment, start_new_session=True)  # a terminal's Ctrl-C is ours
        code = server.wait()
    except _Ended as ended:
        if ended.number != signal.SIGINT:
            raise typer.Exit(128 + ended.number) from None
        return
    finally:
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, signal.SIG_IGN)
        if server is not None:
            _end(server)
    raise PluginError(f"mlflow server ended by itself (exit code {code}); what it said stands above")


def _refuse_used(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just given up is free
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise RequestError(f"port {port} cannot be used ({error.strerror}); --port names another") from error


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends the server and everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(GRACE)
        time.sleep(0.1)
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()


def _require(results: Path) -> None:
    if find_spec("pubench_mlflow") is None:
        raise RequestError("tracking needs the package pubench-mlflow; install it (pip install pubench-mlflow)")
    if not isdir(results):
        raise RequestError(f"no results folder {results}; name one with --results")
