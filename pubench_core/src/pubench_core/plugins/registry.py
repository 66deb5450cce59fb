"""Guarded discovery: every installed plugin becomes a usable entry or a row that says why it is not.

Entry points are loaded one at a time, because pluggy's own loader stops at the first one that fails. A plugin is
usable as a whole or not at all; a key that two plugins claim is usable from neither. One that asks for another version
of core than the installed one is not even imported.
"""

from __future__ import annotations

import importlib
import re
import sys
import traceback
from collections import defaultdict
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from dataclasses import dataclass, replace
from functools import cache, cached_property, lru_cache
from importlib.metadata import Distribution, EntryPoint, PackageNotFoundError, distributions, version
from inspect import isroutine
from pathlib import Path
from types import ModuleType
from typing import Any, Literal, TypeVar

import pluggy

from ..errors import Hint, PluginError, PubenchError, RequestError, said_by, unknown
from .hooks import PARTS, PROJECT, REGISTRATION, SHARED, TOOLS, Lifecycle, Listing
from .info import ApiInfo, DatasetInfo, Info, MetricInfo, PartInfo, check_fields

#: Entry points of what runs are made of, and of commands and Python names, which are found without the others.
GROUP, TOOLS_GROUP = "pubench", "pubench.tools"
CORE = "pubench-core"
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

    @cached_property
    def names(self) -> frozenset[str]:
        """Key and aliases of its record; empty if there is none."""
        return frozenset() if self.info is None else frozenset((self.key, *self.info.aliases))


class Registry:
    """All plugins of this environment: entries by kind and key, and the listeners of the run lifecycle."""

    def __init__(self, points: Iterable[EntryPoint], broken: Iterable[Entry] = ()) -> None:
        """``broken``: rows of distributions whose entry points cannot be read."""
        self._shared: set[str] = set()
        self._manager = pluggy.PluginManager(PROJECT)
        self._manager.add_hookspecs(Listing)
        self._manager.add_hookspecs(Lifecycle)
        found: list[Entry] = [*broken]
        self.listeners: list[ModuleType] = []
        of_nobody = ("?", "?")  # made by hand
        sources = ((of_nobody if p.dist is None else _name_and_version(p.dist), p) for p in points)
        named = sorted(sources, key=lambda pair: (pair[0][0], pair[1].name))
        for source, point in named:
            found.extend(self._load(point, *source))
        #: Names of the distributions that offer something, or listen; those without a name by their folder.
        self.distributions = frozenset(source[0] for source, _ in named)
        self._entries = list(_refuse_shared_keys(found))
        self._sorted: dict[str, list[Entry]] = {}  # by kind: a study looks plugins up 100,000 times
        computing = [e for e in self._entries if e.info is None or e.info.computes]
        modules = {e.module.split(".")[0] for e in computing} | {e.info.package for e in computing if e.info}
        #: Top-level import names of all plugins whose code takes part in runs, core's own apart.
        self.packages = frozenset((modules | self._shared) - {"pubench_core", ""})

    def _load(self, point: EntryPoint, distribution: str, version: str) -> list[Entry]:
        """Entries of one entry point; a single broken one if anything about it fails."""
        module_name = getattr(point, "value", "").partition(":")[0]
        source = {"distribution": distribution, "version": version, "module": module_name}
        try:
            if point.dist is not None and (reason := _made_for_another_core(point.dist) if version else NAMELESS):
                return [_broken(point.name, reason, None, **source)]
            with redirect_stdout(sys.stderr):  # what a plugin prints must not mix with a listing
                module = point.load()
                entries, listens = self._collect(module, point.group, source)
        except KeyboardInterrupt:
            raise
        # Code of other authors runs here at import time: whatever it raises becomes the reason in its own row.
        except BaseException as error:  # noqa: BLE001
            return [_broken(point.name, said_by(error), error, **source)]
        if listens:
            self.listeners.append(module)
        return entries

    def _collect(self, module: ModuleType, group: str, source: dict[str, str]) -> tuple[list[Entry], bool]:
        names = sorted(n for n, value in vars(module).items() if isroutine(value) and hasattr(value, f"{PROJECT}_impl"))
        listing = {*REGISTRATION, *PARTS, SHARED}
        known = {*listing, *(n for n in dir(Lifecycle) if n.startswith("pubench_"))}
        if strange := sorted(set(names) - known):
            raise unknown("hook", strange[0], known)
        if not names:
            raise PluginError(f"module {module.__name__} implements no pubench hook")
        if wrong := [name for name in names if (name in TOOLS) != (group == TOOLS_GROUP)]:
            belongs = TOOLS_GROUP if group == GROUP else GROUP
            raise PluginError(f"{wrong[0]} must be in a module of the entry-point group {belongs}, not of {group}")
        self._manager.register(module)  # checks the arguments of every hook
        if SHARED in names:
            self._shared.add(module.__name__.split(".")[0])
        parts = [PartInfo(name=name, load=getattr(module, name)()) for name in names if name in PARTS]
        entries = [Entry(key=part.key, kind=part.kind, info=part, status="ok", **source) for part in parts]
        for hook in (name for name in names if name in REGISTRATION):
            found, wanted = getattr(module, hook)(), REGISTRATION[hook]
            if not isinstance(found, list):
                raise TypeError(f"{hook} returned {type(found).__name__}; it must return a list of {wanted.__name__}")
            for item in found:
                if not isinstance(item, wanted):
                    raise TypeError(f"{hook} returned a list with {item!r:.60}; every item must be a {wanted.__name__}")
                check_fields(item)  # again: a record may have been made or altered in other ways than by its class
                entries.append(Entry(key=item.key, kind=wanted.kind, info=item, status="ok", **source))
        return entries, not listing.issuperset(names)

    def entries(self, kind: str) -> list[Entry]:
        """Rows of one kind, by key; plugins that broke before saying what they offer are in every listing."""
        if kind not in self._sorted:
            rows = (e for e in self._entries if e.kind in (kind, None))
            self._sorted[kind] = sorted(rows, key=lambda e: (e.status != "ok", e.key, e.distribution))
        return list(self._sorted[kind])

    def named(self, key: str) -> list[Entry]:
        """Every entry, of any kind, that has this key, alias or distribution name."""
        return [e for e in self._entries if key in {e.key, e.distribution, *e.names}]

    def all(self) -> list[Entry]:
        """Every entry."""
        return list(self._entries)

    def find(self, kind: type[InfoT], key: str) -> InfoT:
        """The usable info record of a key or alias, or of a data source's task (``disdat/nsw14``).

        Raises RequestError (with the nearest spelling) if nothing has that key, PluginError if it is broken.
        """
        if issubclass(kind, DatasetInfo) and (separator := re.search("[/:]", key)):
            return _task(self.find(kind, key[: separator.start()]), key[separator.end() :])
        name = kind.kind
        for entry in self.entries(name):  # those that work come first
            if entry.status == "ok" and isinstance(entry.info, kind) and key in entry.names:
                return entry.info
            if (entry.info is None or isinstance(entry.info, kind)) and key in {entry.key, *entry.names}:
                reason = f"{name} '{key}' of {entry.distribution} {entry.version} is broken: {entry.reason}"
                raise PluginError(reason, hint=Hint("diagnose", key))
        raise unknown(name, key, [info.key for info in self.infos(kind)], hint=Hint("list", name))

    def source(self, address: str) -> DatasetInfo:
        """The record of a data source, with the task of an address as it is written, whether it is here or not.

        It says where files lie and how they are downloaded; :meth:`find` says what is in them.
        """
        key, _, task = re.sub("[/:]", "\0", address, count=1).partition("\0")
        return replace(self.find(DatasetInfo, key), task=task) if task else self.find(DatasetInfo, key)

    def infos(self, kind: type[InfoT]) -> list[InfoT]:
        """All usable info records of one kind, by key."""
        return [e.info for e in self.entries(kind.kind) if e.status == "ok" and isinstance(e.info, kind)]

    def headline(self) -> list[str]:
        """Metrics that come first in every table of results, in order."""
        found = [info for info in self.infos(MetricInfo) if info.headline]
        return [info.key for info in sorted(found, key=lambda info: -info.headline)]

    def provider(self, info: Info) -> Entry:
        """The entry that an info record came from."""
        return next(e for e in self._entries if e.info is info)


def _made_for_another_core(distribution: Distribution) -> str:
    """What a distribution's metadata ask of core, if the installed one is not that; else empty."""
    core, facts = _core_version(), _metadata(distribution)
    if core is None or facts["Name"] == [CORE]:
        return ""
    texts = (text for text in facts.get("Requires-Dist", ()) if "extra ==" not in text)
    asked = (text for text in texts if text.lower().replace("_", "-").startswith(CORE))
    return next(filter(None, (_unmet(text, core) for text in asked)), "")


@cache
def _core_version() -> str | None:
    """The version of core that is installed; None where it is only on the path, and nothing can be compared."""
    try:
        return version(CORE)
    except PackageNotFoundError:
        return None


@cache
def _unmet(text: str, core: str) -> str:
    """How this version of core fails a requirement of a distribution; empty if it does not."""
    major, minor, *_ = f"{core}.0".split(".")
    if core.replace(".", "").isdigit() and text.replace("[train]", "") == f"{CORE}<{int(major) + 1},>={major}.{minor}":
        return ""  # as ``make metadata`` writes it
    from packaging.requirements import InvalidRequirement, Requirement  # takes longer to import than all plugins
    from packaging.utils import canonicalize_name

    try:
        asked = Requirement(text)
    except InvalidRequirement:
        return f"its metadata ask for {text!r}, which is not a requirement"
    applies = asked.marker is None or asked.marker.evaluate({"extra": ""})
    if canonicalize_name(asked.name) != CORE or not applies or asked.specifier.contains(core, prereleases=True):
        return ""
    bounds = sorted(map(str, asked.specifier), key=lambda bound: (bound.startswith("<"), bound))
    return f"made for {CORE} {','.join(bounds)}; {core} is installed"


def _refuse_shared_keys(entries: list[Entry]) -> Iterator[Entry]:
    """Marks every entry broken whose key or alias another plugin of the same kind claims too."""
    claims: dict[tuple[str | None, str], list[Entry]] = defaultdict(list)
    for entry in entries:
        for key in entry.names:
            claims[entry.kind, key].append(entry)
    for entry in entries:
        rivals = {
            f"'{key}' is also claimed by {other.distribution} {other.version}"
            for key in entry.names
            for other in claims[entry.kind, key]
            if other is not entry
        }
        yield replace(entry, status="broken", reason="; ".join(sorted(rivals))) if rivals else entry


@cache
def registry() -> Registry:
    """The plugins of this environment, discovered once per process."""
    return Registry(*installed())


@cache
def tools() -> Registry:
    """Commands and Python names of this environment: a list of commands does not wait for every method."""
    return Registry(*installed(TOOLS_GROUP))


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


def part(hook: str, what: str) -> Any:
    """Object that a tool provides for a hook of :data:`~pubench_core.plugins.hooks.PARTS`.

    Raises RequestError or PluginError of :func:`absent` if none does: ``what`` needs it.
    """
    return provided(PartInfo, hook, what, PARTS[hook])


def provided(kind: type[ApiInfo], name: str, what: str, package: str) -> Any:
    """Object that a tool provides under a name.

    Raises RequestError or PluginError of :func:`absent` if none does: ``what`` is missing, which ``package`` provides.
    """
    if not any(entry.kind == kind.kind for entry in tools().named(name)):
        raise absent(what, package)
    return load(tools().find(kind, name))


def installed(group: str = GROUP) -> tuple[list[EntryPoint], list[Entry]]:
    """Entry points of this environment, and a broken row for each distribution whose own cannot be read.

    One distribution at a time: importlib's reading of all of them stops at the first damaged file.
    """
    points: dict[str, list[EntryPoint]] = {}
    broken = []
    for distribution in distributions():
        try:
            if f"[{group}]" in (distribution.read_text("entry_points.txt") or ""):
                mine = [point for point in distribution.entry_points if point.group == group]
                points.setdefault(_name_and_version(distribution)[0], mine)  # the first on the path is what is imported
        # files of other authors: whatever is wrong with them is the reason in a row
        except Exception as error:  # noqa: BLE001
            folder = _folder_of(distribution)
            reason = f"its metadata cannot be read: {said_by(error)}; install it again, or remove {folder}"
            broken.append(_broken(folder, reason, error, distribution=folder, version="", module=""))
    return [point for mine in points.values() for point in mine], broken


def _folder_of(distribution: Distribution) -> str:
    """The folder of a distribution's metadata, which names it where they do not."""
    return Path(str(getattr(distribution, "_path", "?"))).name


NAMELESS = "its metadata give no name or no version (a leftover of an installation?); install it again or remove it"


@lru_cache(maxsize=1024)
def _metadata(distribution: Distribution) -> dict[str, list[str]]:
    """Headers and their values: importlib parses all of the file, the readme included, whenever it is asked."""
    text = distribution.read_text("METADATA") or distribution.read_text("PKG-INFO") or ""
    lines = [line.partition(":") for line in text.partition("\n\n")[0].splitlines()]
    return {name: [value.strip() for other, _, value in lines if other == name] for name, _, _ in lines}


def _name_and_version(distribution: Distribution) -> tuple[str, str]:
    """As its metadata say; the folder and an empty version where they do not."""
    name, version = (_metadata(distribution).get(field, [""])[0] for field in ("Name", "Version"))
    return (name, version) if name and version else (_folder_of(distribution), "")


def _broken(key: str, reason: str, error: BaseException | None, **source: str) -> Entry:
    """A row without an info. ``source``: distribution, version and module."""
    trace = "".join(traceback.format_exception(error)) if error is not None else ""
    return Entry(key=key, kind=None, info=None, status="broken", reason=reason, traceback=trace, **source)


def _task(info: InfoT, name: str) -> InfoT:
    """The info record of a task. Raises RequestError if the data have no tasks, or none of that name."""
    assert isinstance(info, DatasetInfo)
    if not info.tasks:
        raise RequestError(
            f"{info.key} is one data set without tasks, got {info.key}/{name}; use {info.key}", field="data.key"
        )
    source = load(info)
    with blamed(info, f"asked for its task '{name}'"):
        return source.task(info, name)  # type: ignore[no-any-return]


@contextmanager
def blamed(info: Info, what: str) -> Iterator[None]:
    """A block that calls a data source, which may raise anything: PluginError names it, with its cause attached."""
    try:
        yield
    except (PubenchError, KeyboardInterrupt):
        raise
    except PermissionError as error:
        raise RequestError(
            f"{info.key} could not be {what}: {error.filename or 'a file'}: {error.strerror or error}; check its "
            "permissions and those of the folders above it, or name another folder (execution.data_root)",
            field="execution.data_root",
        ) from error
    except BaseException as error:
        raise PluginError(f"dataset '{info.key}' could not be {what}: {said_by(error)}") from error


def load_class(info: Info, base: type) -> Any:
    """The class behind an info record. Raises PluginError if it is not a subclass of ``base``."""
    found = load(info)
    if not (isinstance(found, type) and issubclass(found, base)):
        wanted = f"{base.__module__}.{base.__qualname__}"
        raise PluginError(f"{info.kind} '{info.key}': {info.load} is not a subclass of {wanted}")
    return found


def load(info: Info) -> Any:
    """The implementation behind an info record.

    Raises PluginError if its module cannot be imported or lacks the attribute.
    """
    module_name, attribute = info.load.split(":")
    try:
        return getattr(importlib.import_module(module_name), attribute)
    except KeyboardInterrupt:
        raise
    # A plugin's module may raise anything while it is imported; the cause stays attached.
    except BaseException as error:
        raise PluginError(
            f"{info.kind} '{info.key}' cannot be loaded from {info.load}: {said_by(error)}",
            hint=Hint("diagnose", info.key),
        ) from error
