"""Guarded discovery: every installed plugin becomes a usable entry or a row that says why it is not.

Entry points are loaded one at a time, because pluggy's own loader stops at the first one that fails. A plugin is
usable as a whole or not at all; a key that two plugins claim is usable from neither.
"""

from __future__ import annotations

import importlib
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import redirect_stdout
from dataclasses import dataclass
from functools import cache, cached_property
from importlib.metadata import EntryPoint, entry_points
from types import ModuleType
from typing import Any, Literal, TypeVar

import pluggy

from ..errors import Hint, PluginError, unknown
from .hooks import PROJECT, REGISTRATION, Lifecycle, Registration
from .info import INFO_TYPES, Info

GROUP = "pubench"
_INFO_OF_KIND = {info.kind: info for info in INFO_TYPES}
InfoT = TypeVar("InfoT", bound=Info)


@dataclass(frozen=True, kw_only=True)
class Entry:
    """One row of a listing. ``info`` is None where the plugin failed before saying what it offers.

    ``module``: import name of the entry point.
    """

    key: str
    kind: str | None
    info: Info | None
    distribution: str
    version: str
    module: str
    status: Literal["ok", "broken"]
    reason: str = ""
    traceback: str = ""


class Registry:
    """All plugins of this environment: entries by kind and key, and the listeners of the run lifecycle."""

    def __init__(self, points: Iterable[EntryPoint]) -> None:
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Registration)
        self._manager.add_hookspecs(Lifecycle)
        found: list[Entry] = []
        self.listeners: list[ModuleType] = []
        for point in sorted(points, key=lambda p: (p.dist.name if p.dist else "", p.name)):
            found.extend(self._load(point))
        self._entries = list(_refuse_shared_keys(found))

    def _load(self, point: EntryPoint) -> list[Entry]:
        """Entries of one entry point; a single broken one if anything about it fails."""
        source = {
            "distribution": point.dist.name if point.dist else "?",
            "version": point.dist.version if point.dist else "?",
            "module": getattr(point, "value", "").split(":")[0],
        }
        try:
            with redirect_stdout(sys.stderr):  # what a plugin prints must not mix with a listing
                module = point.load()
                entries, listens = self._collect(module, source)
        # Code of other authors runs here at import time: whatever it raises becomes the reason in its own row.
        except (Exception, SystemExit) as error:  # noqa: BLE001
            reason = " ".join(f"{type(error).__name__}: {error}".split())
            return [
                Entry(
                    key=point.name,
                    kind=None,
                    info=None,
                    status="broken",
                    reason=reason,
                    traceback=traceback.format_exc(),
                    **source,
                )
            ]
        if listens:
            self.listeners.append(module)
        return entries

    def _collect(self, module: ModuleType, source: dict[str, str]) -> tuple[list[Entry], bool]:
        names = [name for name in dir(module) if self._manager.parse_hookimpl_opts(module, name) is not None]
        known = {*REGISTRATION.values(), *(n for n in dir(Lifecycle) if n.startswith("pubench_"))}
        if strange := sorted(set(names) - known):
            raise unknown("hook", strange[0], known)
        if not names:
            raise PluginError(f"module {module.__name__} implements no pubench hook")
        self._manager.register(module)  # checks the arguments of every hook
        entries = []
        for kind, hook in REGISTRATION.items():
            if hook in names:
                for info in _checked(getattr(module, hook)(), hook, _INFO_OF_KIND[kind]):
                    entries.append(Entry(key=info.key, kind=kind, info=info, status="ok", **source))
        return entries, any(name not in REGISTRATION.values() for name in names)

    def entries(self, kind: str) -> list[Entry]:
        """Rows of one kind, by key; plugins that broke before saying what they offer are in every listing."""
        return sorted(
            (e for e in self._entries if e.kind in (kind, None)),
            key=lambda e: (e.status != "ok", e.key, e.distribution),
        )

    def named(self, key: str) -> list[Entry]:
        """Every entry, of any kind, that has this key, alias or distribution name."""
        return [
            e for e in self._entries if key in (e.key, e.distribution) or (e.info is not None and key in e.info.aliases)
        ]

    def all(self) -> list[Entry]:
        """Every entry."""
        return list(self._entries)

    def find(self, kind: type[InfoT], key: str) -> InfoT:
        """The usable info record of a key or alias.

        Raises RequestError (with the nearest spelling) if nothing has that key, PluginError if it is broken.
        """
        name = kind.kind
        mine = [e for e in self.entries(name) if e.info is None or isinstance(e.info, kind)]
        for entry in mine:
            if entry.status == "ok" and isinstance(entry.info, kind) and key in (entry.key, *entry.info.aliases):
                return entry.info
        for entry in mine:
            if key == entry.key or (entry.info is not None and key in entry.info.aliases):
                raise PluginError(
                    f"{name} '{key}' of {entry.distribution} {entry.version} is broken: {entry.reason}",
                    hint=Hint("diagnose", key),
                )
        known = [e.key for e in mine if e.status == "ok"]
        raise unknown(name, key, known, hint=Hint("list", name))

    def infos(self, kind: type[InfoT]) -> list[InfoT]:
        """All usable info records of one kind, by key."""
        return [e.info for e in self.entries(kind.kind) if e.status == "ok" and isinstance(e.info, kind)]

    def provider(self, info: Info) -> Entry:
        """The entry that an info record came from."""
        return next(e for e in self._entries if e.info is info)

    def packages(self) -> frozenset[str]:
        """Top-level import names of all plugins, core's own apart."""
        return self._packages

    @cached_property
    def _packages(self) -> frozenset[str]:
        modules = {e.module.split(".")[0] for e in self._entries} | {e.info.package for e in self._entries if e.info}
        return frozenset(modules - {"pubench_core", ""})


def _checked(value: Any, hook: str, expected: type[Info]) -> Iterator[Info]:
    if not isinstance(value, list):
        raise TypeError(f"{hook} returned {type(value).__name__}; it must return a list of {expected.__name__}")
    for item in value:
        if not isinstance(item, expected):
            raise TypeError(f"{hook} returned a list with {item!r:.60}; every item must be a {expected.__name__}")
        yield item


def _refuse_shared_keys(entries: list[Entry]) -> Iterator[Entry]:
    """Marks every entry broken whose key or alias another plugin of the same kind claims too."""
    claims: dict[tuple[str | None, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        if entry.info is not None:
            for key in {entry.key, *entry.info.aliases}:
                claims[entry.kind, key].append(entry)
    for entry in entries:
        rivals = {
            f"'{key}' is also claimed by {other.distribution} {other.version}"
            for key in ((entry.key, *entry.info.aliases) if entry.info is not None else ())
            for other in claims[entry.kind, key]
            if other is not entry
        }
        if rivals:
            yield Entry(**{**vars(entry), "status": "broken", "reason": "; ".join(sorted(rivals))})
        else:
            yield entry


@cache
def registry() -> Registry:
    """The plugins of this environment, discovered once per process."""
    return Registry(entry_points(group=GROUP))


def load(info: Info) -> Any:
    """The implementation behind an info record.

    Raises PluginError if its module cannot be imported or lacks the attribute.
    """
    module_name, attribute = info.load.split(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    # A plugin's module may raise anything while it is imported; the cause stays attached.
    except (Exception, SystemExit) as error:
        raise PluginError(
            f"{info.kind} '{info.key}' cannot be loaded from {info.load}: {type(error).__name__}: {error}",
            hint=Hint("diagnose", info.key),
        ) from error
