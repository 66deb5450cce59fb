"""The process of a command: its exit code, errors as one line, streams that nobody reads any more."""

from __future__ import annotations

import io
import os
import sys
from typing import Any

import typer
from typer.exceptions import TyperException

from pubench_core.errors import PubenchError

from .visible import visible

#: What installs a module that light installations lack.
INSTALLED_BY = {
    **dict.fromkeys(("torch", "pyarrow", "PIL"), "pubench-core[train]"),
    "matplotlib": "pubench-report",
    "safetensors": "pubench-models",
}


class Over(Exception):
    """A command has ended with this exit code, and has said all that there is to say."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


def carried_out(app: typer.Typer) -> int:
    """The exit code of what the command line asks for; errors are said."""
    try:
        code = app(standalone_mode=False)
    except PubenchError as error:
        from .messages import said

        complain(said(error), error.exit_code, error.field)
        return error.exit_code
    except TyperException as error:  # an unknown option, a missing value: one line, without typer's box
        context = getattr(error, "ctx", None)
        where = f" ({context.command_path} --help)" if context is not None else ""
        complain(f"{error.format_message().replace(': Value error, ', ': ')}{where}", 2)
        return 2
    except Over as over:
        return over.code
    except ModuleNotFoundError as error:
        package = INSTALLED_BY.get((error.name or "").split(".")[0])
        if package is None:
            raise
        complain(f"this needs {error.name}, which is not installed: pip install '{package}'")
        return 1
    except (typer.Abort, KeyboardInterrupt):
        code = 130
    except SystemExit as stop:
        if "_PUBENCH_COMPLETE" in os.environ or {"--show-completion", "--install-completion"} & set(sys.argv):
            raise  # how typer ends when a shell asks it for completions
        complain(f"a plugin tried to end the program (SystemExit: {stop.code}); 'pubench doctor' checks plugins")
        return 1
    if code == 130:
        complain("interrupted; nothing unfinished was recorded", 130)
    return code if isinstance(code, int) else 0


class _Forgiving(io.FileIO):
    """A stream whose writing never fails. ``lost``: what it would have failed with."""

    def __init__(self, stream: int) -> None:
        super().__init__(stream, "w", closefd=False)
        self.lost: list[OSError] = []

    def write(self, data: Any) -> int:
        try:
            return super().write(data) or 0
        except OSError as error:
            self.lost.append(error)
            return len(data)


def go_on_without_readers() -> list[OSError]:
    """A full disk behind stdout or stderr, a reader that has gone or a closed stream ends no run.

    The list then holds what was met on stdout.
    """
    streams = {}
    for name in ("stdout", "stderr"):
        stream: Any = getattr(sys, name)
        if stream is None:  # closed by the caller: >&-
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115 (as long as the process)
        elif stream is getattr(sys, f"__{name}__"):
            raw = streams[name] = _Forgiving(stream.fileno())
            buffered = io.BufferedWriter(raw)
            by_line = stream.line_buffering or name == "stderr"
            setattr(sys, name, io.TextIOWrapper(buffered, stream.encoding, stream.errors, line_buffering=by_line))
    return streams["stdout"].lost if "stdout" in streams else []


def complain(text: str, exit_code: int = 1, field: str = "") -> None:
    """One line on stderr; where JSON was asked for, an object on stdout as well (see :mod:`pubench_cli.machine`)."""
    from .machine import print_error, wants_json

    line = " ".join(text.split())
    typer.echo(visible(f"error: {line}"), err=True)
    if wants_json(sys.argv[1:]):
        print_error(line, exit_code, field)
