"""Names of this package that tools provide."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pubench_core.errors import RequestError
from pubench_core.plugins.info import ApiInfo
from pubench_core.plugins.registry import provided, tools

#: Package -> kind -> what it provides (``make metadata``), for what says so when it is used and is not there.
_PROVIDED = json.loads(Path(__file__).with_name("provided.json").read_text())
#: Names of this package, and commands, with the package that installs each.
PACKAGES, COMMAND_PACKAGES = (
    {name: package for package, given in _PROVIDED.items() for name in given[kind]} for kind in ("names", "commands")
)


def tool(name: str) -> Any:
    """Object that an installed tool provides under a name (``tune``).

    Raises ModuleNotFoundError if its package is not installed, PluginError if that is broken, AttributeError if no
    package is known to provide it.
    """
    package = PACKAGES.get(name)
    if package is None and not any(entry.kind == "api" for entry in tools().named(name)):
        raise AttributeError(f"module 'pubench' has no attribute '{name}'")
    try:
        return provided(ApiInfo, name, f"pubench.{name}", package or name)
    except RequestError as error:
        raise ModuleNotFoundError(str(error), name=package) from None


def names() -> list[str]:
    """Names of the package that installed tools provide."""
    return sorted(info.name for info in tools().infos(ApiInfo))
