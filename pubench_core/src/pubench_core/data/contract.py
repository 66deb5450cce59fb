"""What a data source returned, compared with its info record before anything is made of it."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import numpy as np

from ..errors import PluginError
from ..plugins.info import DatasetInfo
from .dataset import ClassData


def checked(info: DatasetInfo, data: object) -> ClassData:
    """The data, their means and deviations as plain numbers.

    Raises PluginError if arrays are of another kind than :class:`ClassData` says, or contradict each other or the info
    record.
    """
    if not isinstance(data, ClassData):
        raise PluginError(f"dataset '{info.key}': {info.load} returned {type(data).__name__} instead of ClassData")
    parts: list[tuple[str, Any, Any]] = [("training", data.x, data.y)]
    if data.x_test is not None or data.y_test is not None:
        parts.append(("test", data.x_test, data.y_test))
    for part, x, y in parts:
        if wrong := _wrong_with(part, x, y, data, info.classes):
            raise PluginError(f"dataset '{info.key}': {wrong}")
    return replace(data, mean=_numbers(data.mean), std=_numbers(data.std))


def class_counts(info: DatasetInfo, data: ClassData) -> dict[str, list[int]]:
    """Rows of each class, in the order of ``info.classes``, in ``y`` and, where there is a test part, ``y_test``."""
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


def _numbers(values: Iterable[float] | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(v) for v in values)
