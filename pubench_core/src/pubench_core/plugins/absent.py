"""Why something that a known distribution provides cannot be used."""

from __future__ import annotations

from importlib.metadata import PackageNotFoundError, version

from ..errors import Hint, PluginError, PubenchError, RequestError
from .registry import tools


def absent(what: str, package: str) -> PubenchError:
    """The error for a command or a Python name that no usable plugin has and distribution ``package`` provides."""
    for entry in tools().named(package):
        if entry.status != "ok":
            reason = f"{package} {entry.version} is broken: {entry.reason}"
            return PluginError(f"{what} cannot be used; {reason}", hint=Hint("diagnose", entry.key))
    try:
        return RequestError(f"{what} is not part of {package} {version(package)}: pip install --upgrade {package}")
    except PackageNotFoundError:
        return RequestError(f"{what} is not installed: pip install {package}")
