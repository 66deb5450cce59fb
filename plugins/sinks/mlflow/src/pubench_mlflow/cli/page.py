"""MLflow's page, served until it is interrupted."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import time
from contextlib import suppress
from os.path import isdir
from pathlib import Path
from types import FrameType

import typer

from pubench_cli.visible import visible
from pubench_core.errors import PluginError, RequestError, without_password

from ..address import file_of, tracking_uri

HOST = "127.0.0.1"
#: Seconds that the server has to end by itself.
GRACE = 5.0


class _Ended(BaseException):
    """A signal asked the page to end; no handler of errors may take it for one."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


def open_page(results: Path, uri: str | None, port: int) -> None:
    """Serves MLflow's page on the loopback interface until interrupted; nothing of it is left running then."""
    if not isdir(results):
        raise RequestError(f"no results folder {results}; name one with --results")
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
    raise PluginError(f"mlflow server exited with code {code}; see its output above")


def _refuse_used(port: int) -> None:
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # one that was just given up is free
        try:
            probe.bind((HOST, port))
        except OSError as error:
            raise RequestError(f"port {port} cannot be used ({error.strerror}); name another with --port") from error


def _end(server: subprocess.Popen[bytes]) -> None:
    """Ends the server and everything that it started."""
    with suppress(ProcessLookupError):
        os.killpg(server.pid, signal.SIGTERM)
        with suppress(subprocess.TimeoutExpired):
            server.wait(GRACE)
        time.sleep(0.1)
        os.killpg(server.pid, signal.SIGKILL)
    server.wait()
