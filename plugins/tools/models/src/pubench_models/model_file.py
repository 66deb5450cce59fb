"""A saved model: what a run scores with, in one safetensors file.

The file holds tensors and JSON only. Networks are rebuilt from the run's backbone, everything else a method scores with
is a tensor, an array, a number, or an object of the method's own package that takes its state back.
"""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import torch
from safetensors.torch import save as serialize
from torch import Tensor, nn

from pubench_core.backbone import Backbone
from pubench_core.data.labeled import as_plain
from pubench_core.engine.plan import Plan
from pubench_core.engine.problem import Problem
from pubench_core.engine.select import Snapshot
from pubench_core.errors import PluginError
from pubench_core.method import AnyMethod

#: Raised when the layout of the file changes.
VERSION = 2
#: Before the names of the numbers of the preprocessing.
PREPROCESS = "preprocess."


def model_bytes(plan: Plan, problem: Problem, method: AnyMethod, candidate: str) -> bytes:
    """The content of the file: what ``method`` scores with in its present state."""
    tensors = {f"{PREPROCESS}{k}": torch.from_numpy(v.copy()) for k, v in problem.preprocessing.arrays().items()}
    parts, numbers = {}, {}
    for name, value in Snapshot.take(method).state.items():
        parts[name] = _recipe(getattr(method, name))
        for key, item in value.items() if isinstance(value, dict) else [("", value)]:
            full = f"{name}.{key}" if key else name
            if isinstance(item, Tensor) and item.layout == torch.strided:
                tensors[full] = item.detach().cpu().contiguous()
            elif isinstance(item, np.ndarray) and item.dtype.kind in "biufc":
                tensors[full] = torch.from_numpy(np.array(item, order="C"))  # keeps () shapes
            elif not isinstance(item, Tensor) and _is_plain(item):
                numbers[full] = item
            else:
                what = type(item).__name__
                if isinstance(item, np.ndarray):
                    what = f"an array of {item.dtype}"
                elif isinstance(item, Tensor):
                    what = f"a tensor of layout {item.layout}"
                raise PluginError(
                    f"{type(method).__name__} scores with '{full}', which is {what}; a model's file holds modules, "
                    "tensors, arrays of numbers, numbers and texts"
                )
    columns = problem.opened.columns
    facts = {
        "version": VERSION,
        "run_id": plan.run_id,
        "spec": plan.spec.model_dump(mode="json"),
        "shape": list(problem.data.shape),
        "mean": problem.data.mean,
        "std": problem.data.std,
        "columns": as_plain(columns) if columns is not None else None,
        "candidate": candidate,
        "parts": parts,
        "numbers": numbers,
    }
    return bytes(serialize(tensors, {"pubench": json.dumps(facts)}))


def _is_plain(value: Any) -> bool:
    """Whether JSON holds it."""
    try:
        json.dumps(value)
    except (TypeError, ValueError, RecursionError):
        return False
    return True


def _recipe(value: Any) -> dict[str, Any]:
    """How an attribute is made again before its state is put back."""
    if isinstance(value, Backbone):
        return {"backbone": value.head.out_features}
    if isinstance(value, nn.ModuleList) and all(isinstance(m, Backbone) for m in value):
        return {"backbones": [m.head.out_features for m in value]}  # type: ignore[union-attr]
    if isinstance(value, nn.Module):
        return {"assembled": type(value).__name__}
    if hasattr(value, "load_state_dict"):
        return {"object": f"{type(value).__module__}:{type(value).__qualname__}"}
    return {"array" if isinstance(value, np.ndarray) else "value": True}
