"""pubench: the public face of the benchmark for positive-unlabeled (PU) learning.

>>> import pubench
>>> result = pubench.run("nnpu", "digits", c=0.1, seed=2, config={"epochs": 2}, tracking=False)
>>> sorted(result.test)[:3]
['accuracy', 'accuracy-at-prior', 'auc']

Everything here is imported when it is first used: ``import pubench`` alone brings in neither torch nor NumPy. Authors
of methods import what they need from :mod:`pubench.method`.
"""

from __future__ import annotations

import importlib
from typing import Any

#: Public name -> module of this package. ``__init__.pyi`` (``make metadata``) has these and the names of tools.
_HOMES = {
    "InvalidRequest": "field_names",
    "PubenchWarning": "field_names",
    "RunResult": "running",
    "list_backbones": "listing",
    "list_datasets": "listing",
    "list_mechanisms": "listing",
    "list_methods": "listing",
    "list_metrics": "listing",
    "list_priors": "listing",
    "run": "running",
}


def __getattr__(name: str) -> Any:
    home = _HOMES.get(name)
    if home is not None:
        found = getattr(importlib.import_module(f".{home}", __name__), name)
    elif name.startswith("_"):
        raise AttributeError(f"module 'pubench' has no attribute '{name}'")
    else:
        from .tools import tool

        found = tool(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    from .tools import names

    return sorted({*_HOMES, *names()})
