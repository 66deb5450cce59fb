"""Where in a plugin's source an error arose."""

from __future__ import annotations

import traceback
from collections.abc import Collection
from pathlib import Path
from types import CodeType

from ..errors import PubenchError
from .plan import Plan

_SOURCES = ("src", "site-packages")


def packages_of(plan: Plan) -> frozenset[str]:
    """Top-level import names of the plugins that a plan runs, core's own apart."""
    chosen = (plan.method, plan.mechanism, plan.backbone, plan.estimator, plan.data)
    return frozenset(part.info.package for part in chosen if part is not None) - {"pubench_core"}


def packages_called(plan: Plan) -> frozenset[str]:
    """:func:`packages_of` with those of the metrics that measure it."""
    return packages_of(plan) | {metric.info.package for metric in plan.metrics.values()}


def raised_at(error: BaseException, packages: Collection[str]) -> str:
    """``pubench_nnpu/method.py, line 57``: the function or line that an error is about, else the innermost line of
    these packages; empty if there is neither.
    """
    chain = [error]
    while (cause := chain[-1].__cause__) is not None and cause not in chain:
        chain.append(cause)
    for one in chain:
        about = one.about if isinstance(one, PubenchError) else None
        if isinstance(about, tuple):
            return f"{short_path(about[0])}, line {about[1]}"
        code = getattr(getattr(about, "__func__", about), "__code__", None)
        if isinstance(code, CodeType):  # a function of Python, and where it begins
            return f"{short_path(code.co_filename)}, line {code.co_firstlineno}, {code.co_name}"
    found = ""
    for frame, line in (place for one in chain for place in traceback.walk_tb(one.__traceback__)):
        if str(frame.f_globals.get("__name__")).partition(".")[0] in packages:
            found = f"{short_path(str(frame.f_globals.get('__file__')))}, line {line}"
    return found


def short_path(file: str) -> str:
    """The path below ``src`` or ``site-packages``; else folder and name."""
    parts = Path(file).parts
    start = max((k for k, part in enumerate(parts) if part in _SOURCES), default=len(parts) - 3)
    return "/".join(parts[start + 1 :])
