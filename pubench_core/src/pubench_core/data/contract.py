"""Checks of a data source's arrays against its info record before anything is made of them."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PluginError
from ..plugins.info import DatasetInfo
from .dataset import ClassData, PUTasks


def checked(info: DatasetInfo, data: object) -> ClassData | PUTasks:
    """The data, their means and deviations as plain numbers.

    Raises PluginError if arrays are of another kind than :class:`ClassData` or :class:`PUTasks` says, or contradict
    each other or the info record.
    """
    wanted = ClassData if info.labels == "simulated" else PUTasks
    if not isinstance(data, wanted):
        raise PluginError(
            f"dataset '{info.key}': {info.load} returned {type(data).__name__} instead of {wanted.__name__}"
        )
    if isinstance(data, PUTasks):
        if wrong := _wrong_with_tasks(data):
            raise PluginError(f"dataset '{info.key}': {wrong}")
        return data
    parts: list[tuple[str, Any, Any]] = [("training", data.x, data.y)]
    if data.x_test is not None or data.y_test is not None:
        parts.append(("test", data.x_test, data.y_test))
    for part, x, y in parts:
        if wrong := _wrong_with(part, x, y, data, info.classes):
            raise PluginError(f"dataset '{info.key}': {wrong}")
    return replace(data, mean=_numbers(data.mean), std=_numbers(data.std))


def class_counts(info: DatasetInfo, data: ClassData | PUTasks) -> dict[str, list[int]]:
    """Rows of each class, in the order of ``info.classes``, in ``y`` and, where there is a test part, ``y_test``.

    Of tasks with their labels, the rows in all: ``unlabeled``, ``labeled``, ``test``.
    """
    if isinstance(data, PUTasks):
        unlabeled = int((data.owner < 0).sum())
        return {"unlabeled": [unlabeled], "labeled": [len(data.owner) - unlabeled], "test": [len(data.x_test)]}
    labels = {name: array for name, array in data.arrays().items() if name in ("y", "y_test")}
    return {name: np.bincount(y, minlength=len(info.classes)).tolist() for name, y in labels.items()}


def _wrong_with(part: str, x: Any, y: Any, data: ClassData, classes: tuple[str, ...]) -> str:
    """What is wrong with what stands for features and labels of a part; empty if nothing is. ``data``: both parts."""
    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        return f"the {part} part is {type(x).__name__} and {type(y).__name__}; expected two arrays, features and labels"
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
        return (
            f"features of the {part} part have shape {x.shape} and labels {y.shape}; expected (n, ...) and (n,), with "
            "at least one row"
        )
    if x.dtype not in (np.uint8, np.float32):
        return f"features are {x.dtype}; expected uint8 or float32"
    if x.dtype != data.x.dtype:
        return f"test rows are {x.dtype} and training rows {data.x.dtype}"
    if x.shape[1:] != data.x.shape[1:]:
        return f"test rows have shape {x.shape[1:]}, not {data.x.shape[1:]}"
    if y.dtype.kind not in "iu":
        return f"labels are {y.dtype}; expected integers, class indices"
    if y.min() < 0 or y.max() >= len(classes):
        return f"class {y.min() if y.min() < 0 else y.max()} of the {part} part is none of {classes}"
    if x.dtype == np.float32 and not np.isfinite(x).all():
        return f"the {part} part has a value that is not a finite number"
    return ""


def _wrong_with_tasks(data: PUTasks) -> str:
    """What is wrong with the arrays of tasks; empty if nothing is."""
    n, d = data.x.shape if data.x.ndim == 2 else (-1, -1)
    m, k = len(data.x_test), len(data.names)
    for name, array, shape, kind in (
        ("x", data.x, (n, d), "f"),
        ("owner", data.owner, (n,), "i"),
        ("x_test", data.x_test, (m, d), "f"),
        ("truth_test", data.truth_test, (m, k), "i"),
        ("names", data.names, (k,), "U"),
    ):
        if array.shape != shape or array.dtype.kind != kind:
            return f"{name} must have shape {shape} and kind '{kind}', got {array.shape} and '{array.dtype.kind}'"
    if not (np.isfinite(data.x).all() and np.isfinite(data.x_test).all()):
        return "x and x_test must be finite, and they are not"
    if data.owner.min() < -1 or data.owner.max() >= k or not np.isin(data.truth_test, (0, 1)).all():
        return f"owner must be -1 to {k - 1} and truth_test 0 or 1, and they are not"
    return ""


def _numbers(values: Iterable[float] | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(v) for v in values)
