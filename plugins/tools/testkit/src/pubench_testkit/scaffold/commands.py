"""Commands that work as they are printed, in the environment that pubench runs in."""

from __future__ import annotations

import importlib.util
import os
import shlex
import shutil
import sys
from pathlib import Path

from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry


def install(folder: Path) -> str:
    """Installs a package so that its source is what is run."""
    target = _shown(folder)
    in_venv = sys.prefix != sys.base_prefix
    has_pip = importlib.util.find_spec("pip") is not None
    if (uv := _uv()) and (in_venv or not has_pip):
        # uv looks for the environment by itself, and need not find this one.
        here = os.environ.get("VIRTUAL_ENV")
        found = here is not None and Path(here).resolve() == Path(sys.prefix).resolve()
        return shlex.join([uv, "pip", "install", *([] if found else ["--python", sys.executable]), "-e", target])
    with_pip = shlex.join([_python(), "-m", "pip", "install", "-e", target])
    return with_pip if has_pip else f"{shlex.join([_python(), '-m', 'ensurepip'])} && {with_pip}"


def install_in(checkout: Path) -> str:
    """Brings the environment of a checkout up to date with its folders."""
    elsewhere = checkout != Path.cwd()
    if shutil.which("make") is None and (uv := _uv()):
        return shlex.join([uv, "sync", "--inexact", *(["--project", str(checkout)] if elsewhere else [])])
    return shlex.join(["make", *(["-C", str(checkout)] if elsewhere else []), "setup"])


def pubench(*words: str, checkout: Path | None = None) -> str:
    """A command of pubench, by the path of the script where its name alone would find none or another.

    ``checkout``: it is the one in the environment that ``make setup`` fills.
    """
    script = checkout / ".venv" / "bin" / "pubench" if checkout else Path(sys.executable).with_name("pubench")
    return shlex.join(["pubench" if _is_found(script) else _shown(script), *words])


def some_method() -> str:
    """The key of a method to try something else with: nnpu, or one that is installed and no oracle."""
    keys = [info.key for info in registry().infos(MethodInfo) if "truth" not in info.needs]
    return keys[0] if keys and "nnpu" not in keys else "nnpu"


def _python() -> str:
    executable = Path(sys.executable)
    return next((name for name in ("python", "python3") if _is_found(executable.with_name(name))), str(executable))


def _is_found(file: Path) -> bool:
    """Whether the name of a file alone runs it."""
    found = shutil.which(file.name)
    # Not resolved: the Python of a virtual environment is a link to another one.
    return found is not None and file.exists() and Path(found).parent.resolve() == file.parent.resolve()


def _uv() -> str | None:
    """What calls uv: on PATH, next to this Python, or where this repository's Makefile puts it."""
    if shutil.which("uv"):
        return "uv"
    places = (Path(sys.executable).with_name("uv"), Path(sys.prefix).parent / ".uv" / "bin" / "uv")
    return next((_shown(place) for place in places if place.is_file()), None)


def _shown(path: Path) -> str:
    """Below the current folder as ``./name``, elsewhere in full."""
    here = Path.cwd()
    return f"./{path.relative_to(here)}" if path.is_relative_to(here) and path != here else str(path)
