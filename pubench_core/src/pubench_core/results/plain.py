"""Plain JSON data from the values that plugins return."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

import numpy as np


def plain_data(value: Any) -> Any:
    """Plain JSON data: lists instead of arrays, numbers instead of numpy's scalars, None for what is not finite."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_data(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)
