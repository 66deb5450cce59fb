"""Which code a run used: a hash over the packages behind its parts, so that a stored result is never another code's."""

from __future__ import annotations

import hashlib
import importlib.util
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from .errors import PluginError
from .info import (
    BackboneInfo,
    DatasetInfo,
    Info,
    MechanismInfo,
    MethodInfo,
    MetricInfo,
    PriorInfo,
)
from .registry import Registry
from .specs import RunSpec, canonical_json

#: Raised whenever a change in core changes numbers. Core's files are not hashed: most changes there do not.
ENGINE_REVISION = 2


@dataclass(frozen=True)
class CodeIdentity:
    """``parts``: distribution -> version and hash of its package's files; ``hash``: over all of them."""

    parts: dict[str, str]

    def reading(self, data: str, digest: str) -> CodeIdentity:
        """The same code, having read these arrays; the digest is empty where nothing was read from files."""
        return CodeIdentity({**self.parts, f"data {data}": digest}) if digest else self

    @property
    def hash(self) -> str:
        """First 16 hexadecimal digits of a SHA-256."""
        return hashlib.sha256(canonical_json(self.parts).encode()).hexdigest()[:16]


def code_of(spec: RunSpec, registry: Registry) -> CodeIdentity:
    """The code behind a spec: method, data, mechanism, backbone, prior and metric packages, and core's revision."""
    infos: list[Info] = [
        registry.find(MethodInfo, spec.method.key),
        registry.find(BackboneInfo, spec.backbone.key),
    ]
    if spec.data.own is None:
        infos[1:1] = [registry.find(DatasetInfo, spec.data.key), registry.find(MechanismInfo, spec.mechanism.key)]
    if isinstance(spec.prior, str) and spec.prior.startswith("estimated:"):
        infos.append(registry.find(PriorInfo, spec.prior.split(":", 1)[1]))
    names = {*spec.evaluation.metrics, *spec.selection.criteria} - {"native", "last"}
    infos.extend(registry.find(MetricInfo, name) for name in sorted(names))
    return CodeIdentity({"pubench-core engine revision": str(ENGINE_REVISION), **_packages(infos, registry)})


def _packages(infos: Iterable[Info], registry: Registry) -> dict[str, str]:
    parts = {}
    for info in infos:
        if info.package == "pubench_core":
            continue
        provider = registry.provider(info)
        name = f"{provider.distribution} ({info.package})"
        if name not in parts:
            parts[name] = f"{provider.version} {hash_package(info.package)}"
    return parts


def hash_package(name: str) -> str:
    """SHA-256 (16 digits) over the relative paths and contents of a package's files, compiled files left out."""
    found = importlib.util.find_spec(name)
    if found is None or found.origin is None:
        raise PluginError(f"package {name} has no source files to hash")
    origin = Path(found.origin)
    files = [origin] if found.submodule_search_locations is None else sorted(origin.parent.rglob("*"))
    digest = hashlib.sha256()
    for file in files:
        if file.is_file() and "__pycache__" not in file.parts:
            digest.update(file.relative_to(origin.parent).as_posix().encode() + b"\0")
            digest.update(hashlib.sha256(file.read_bytes()).digest())
    return digest.hexdigest()[:16]
