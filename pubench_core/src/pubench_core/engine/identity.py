"""Which code computes a run: a hash for each of its parts, and the versions next to them."""

from __future__ import annotations

from ..data.labeled import LabeledData
from ..plugins.info import Info
from ..plugins.registry import Registry
from ..plugins.source_code import hash_package
from ..results import Code
from ..specs.canonical import short_hash

#: Raised whenever a change in core changes numbers. Core's own files are not hashed: most changes there do not.
ENGINE_REVISION = 5


def code_of(infos: list[Info], registry: Registry, table: LabeledData | None = None) -> Code:
    """The code behind the parts of a run; data count by the digest of their arrays, metrics by themselves.

    ``table``: a user's table, which has been read already.
    """
    plugin_packages = registry.packages()
    parts, versions = {"engine": f"revision {ENGINE_REVISION}"}, {}
    if table is not None:
        parts["table"] = table.digest
    for info in infos:
        provider = registry.provider(info)
        package, described_in = _package_of(info, provider.module)
        code = hash_package(package, described_in, others=plugin_packages)
        parts[f"{info.kind} {info.key}"] = short_hash([code, info.decisions]) if info.decisions else code
        versions[provider.distribution] = provider.version
    return Code.of(parts, versions)


def _package_of(info: Info, entry_module: str) -> tuple[str, str]:
    """(package to hash, module in it that only describes).

    The package is the one that the entry point names, where the implementation lies in it, else the implementation's
    top-level package. A module that describes and implements is hashed whole.
    """
    implementation = info.load.split(":")[0]
    package = entry_module if implementation.startswith(f"{entry_module}.") else info.package
    return package, entry_module if implementation != entry_module else ""
