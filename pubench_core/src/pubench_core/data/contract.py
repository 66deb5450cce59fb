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
    _check_part(info, "training", data.x, data.y, data)
    if data.x_test is not None or data.y_test is not None:
        _check_part(info, "test", data.x_test, data.y_test, data)
    return replace(data, mean=_numbers(data.mean), std=_numbers(data.std))


def class_counts(info: DatasetInfo, data: ClassData) -> dict[str, list[int]]:
    """Rows of each class, in the order of ``info.classes``, in ``y`` and, where there is a test part, ``y_test``."""
    labels = {name: array for name, array in data.arrays().items() if name in ("y", "y_test")}
    return {name: np.bincount(y, minlength=len(info.classes)).tolist() for name, y in labels.items()}


def _check_part(info: DatasetInfo, part: str, x: Any, y: Any, data: ClassData) -> None:
    """``x``, ``y``: what stands for the features and labels of one part; ``data``: with the training part."""

    def refuse(wrong: str) -> None:
        raise PluginError(f"dataset '{info.key}': {wrong}")

    if not (isinstance(x, np.ndarray) and isinstance(y, np.ndarray)):
        refuse(f"the {part} part is {type(x).__name__} and {type(y).__name__}; two arrays are right, features and labels")
    if x.ndim < 2 or y.ndim != 1 or len(x) != len(y) or not x.size:
        refuse(
            f"features of the {part} part have shape {x.shape} and labels {y.shape}; (n, ...) and (n,) are right, with "
            "at least one row"
        )
    if x.dtype not in (np.uint8, np.float32):
        refuse(f"features are {x.dtype}; uint8 or float32 is right")
    if x.dtype != data.x.dtype:
        refuse(f"test rows are {x.dtype} and training rows {data.x.dtype}")
    if x.shape[1:] != data.x.shape[1:]:
        refuse(f"test rows have shape {x.shape[1:]}, not {data.x.shape[1:]}")
    if y.dtype.kind not in "iu":
        refuse(f"labels are {y.dtype}; integers are right, class indices")
    if y.min() < 0 or y.max() >= len(info.classes):
        refuse(f"class {y.min() if y.min() < 0 else y.max()} of the {part} part is none of {info.classes}")
    if x.dtype == np.float32 and not np.isfinite(x).all():
        refuse(f"the {part} part has a value that is not a finite number")


def _numbers(values: Iterable[float] | None) -> tuple[float, ...] | None:
    return None if values is None else tuple(float(v) for v in values)
