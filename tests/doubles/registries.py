"""Plugins of a test, next to the installed ones."""

from __future__ import annotations

from importlib.metadata import EntryPoint, entry_points

from pubench_core.plugins.registry import GROUP, Registry


def registry_with(*modules: str) -> Registry:
    """The installed plugins, and what these modules offer."""
    return Registry([*entry_points(group=GROUP), *(EntryPoint(name, name, GROUP) for name in modules)])
