"""The distribution of the command line, for calls that draw and write: imported when one of them is made."""

from __future__ import annotations

import importlib
from typing import Any

from .words import InvalidRequest


def command_line(module: str) -> Any:
    """A module of ``pubench_cli``, by its name there. Raises InvalidRequest where that is not installed."""
    try:
        return importlib.import_module(f"pubench_cli.{module}")
    except ModuleNotFoundError as error:
        if error.name != "pubench_cli":
            raise
        raise InvalidRequest("pubench-cli is not installed, which draws and writes; pip install pubench-cli") from None
