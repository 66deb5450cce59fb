"""The ``pubench`` command, and how it ends. Its sub-commands are found by :mod:`pubench_cli.installed`."""

from __future__ import annotations

import errno
import gc
import os
import signal
import sys
from typing import Annotated

import typer

from pubench.openmp import wait_briefly

from .installed import HELP, Commands
from .process import carried_out, complain, go_on_without_readers
from .visible import guard

#: pydantic and torch look for plugins of their own in the metadata of every distribution, and one damaged file would
#: end the process. No command needs them; a user who does sets these variables.
UNREAD = {"PYDANTIC_DISABLE_PLUGINS": "__all__", "TORCH_DEVICE_BACKEND_AUTOLOAD": "0"}

app = typer.Typer(
    name="pubench",
    cls=Commands,
    help="Benchmark positive-unlabeled (PU) learning: honest, fast, reproducible.",
    epilog="Example: pubench run --method nnpu --data digits --mech scar --c 0.1",
    pretty_exceptions_enable=False,
    context_settings=HELP,
)


def _version(wanted: bool) -> None:
    if wanted:
        from importlib.metadata import version

        typer.echo(f"pubench {version('pubench-cli')} (core {version('pubench-core')})")
        raise typer.Exit


@app.callback(invoke_without_command=True)
def _pubench(
    context: typer.Context,
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    if context.invoked_subcommand is None:
        typer.echo(context.get_help())


def main() -> None:
    """Console script. Exit codes: 0 done, 1 a run or a plugin failed, 2 a wrong request, 130 interrupted."""
    gc.set_threshold(20_000)  # most objects of a command are code and plugins, which stay
    os.environ |= {name: value for name, value in UNREAD.items() if name not in os.environ}
    lost = go_on_without_readers()
    guard()
    wait_briefly()
    code = carried_out(app)
    sys.stdout.flush()
    if lost and not code:
        if lost[0].errno != errno.EPIPE:  # a reader that has seen enough (| head) gets no message
            complain(f"cannot write the output: {lost[0].strerror}; records are complete")
        code = 1
    gc.freeze()  # the interpreter would look at every object once more before it drops them all
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; Ctrl-C would be a traceback of the interpreter's end
    sys.exit(code)
