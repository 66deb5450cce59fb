"""From what a user said to a plan: layers, one resolution, and what a plan holds.

Imported when first used: reading a file needs no torch, resolving does.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .layers import Layer, parse_assignment, read_yaml
    from .plan import Plan
    from .resolving import resolve

_HOMES = {
    "Layer": "layers",
    "parse_assignment": "layers",
    "read_yaml": "layers",
    "Plan": "plan",
    "resolve": "resolving",
}

__all__ = ["Layer", "Plan", "parse_assignment", "read_yaml", "resolve"]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found = import_module(f"{__name__}.{_HOMES[name]}")
    return getattr(found, name)
