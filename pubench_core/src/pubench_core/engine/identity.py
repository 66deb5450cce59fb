"""Which code computes a run: a hash for each of its parts, and the versions next to them."""

from __future__ import annotations

from ..data.labeled import LabeledData
from ..errors import Hint, PluginError
from ..plugins.info import Info, MetricInfo
from ..plugins.registry import Registry
from ..plugins.source_code import hash_package
from ..results import Code
from ..specs.fields import short_hash

#: Raised whenever a change in core changes numbers. Core's own files are not hashed: most changes there do not.
ENGINE_REVISION = 5
#: Raised whenever the unlabeled rows of a user's table are scored in another way; no measure of a data set reads them.
LIST_REVISION = 1


def code_of(infos: list[Info], registry: Registry, table: LabeledData | None = None) -> Code:
    """The code behind the parts of a run; data count by the digest of their arrays, metrics by themselves.

    ``table``: a user's table, which has been read already.
    """
    parts, versions = {"engine": f"revision {ENGINE_REVISION}"}, {}
    if table is not None:
        parts |= {"table": table.digest, "list": f"revision {LIST_REVISION}"}
    for info in infos:
        provider = registry.provider(info)
        # The package that the entry point names, if the implementation lies in it, else the implementation's top-level
        # package. A module that describes and implements is hashed whole.
        implementation, entry = info.load.split(":")[0], provider.module
        package = entry if implementation.startswith(f"{entry}.") else info.package
        parts[f"{info.kind} {info.key}"] = _hash(package, info, registry)
        versions[provider.distribution] = provider.version
    return Code.of(parts, versions)


def metric_code(info: MetricInfo, registry: Registry) -> str:
    """The code of a metric: its module, and those that this reaches. Another module next to it changes nothing."""
    module = info.load.split(":")[0]
    return _hash(module.split(".")[0], info, registry, module)


def _hash(package: str, info: Info, registry: Registry, module: str = "") -> str:
    provider = registry.provider(info)
    describing = provider.module if info.load.split(":")[0] != provider.module else ""
    try:
        code = hash_package(package, describing, others=registry.packages, of=provider.distribution, module=module)
    except PluginError as error:
        raise PluginError(f"{info.kind} '{info.key}': {error}", hint=Hint("diagnose", info.key)) from error
    return short_hash([code, info.decisions]) if info.decisions else code
