"""A saved model: what a run scores with, in one safetensors file, and scoring new rows with it.

The file holds tensors and JSON only. Networks are rebuilt from the run's backbone, everything else a method scores with
is a tensor, an array, a number, or an object of the method's own package that takes its state back.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as deserialize
from safetensors.torch import save as serialize
from torch import Tensor, nn

from ..backbones.base import Backbone
from ..data.encoding import Column, as_plain, from_plain
from ..data.preprocess import Preprocessing
from ..errors import PluginError, RecordError, RequestError
from ..method import AnyMethod
from ..plugins.info import BackboneInfo, MethodInfo
from ..plugins.registry import Registry, load
from ..request.plan import Plan
from ..request.resolve import method_class
from ..specs import RunSpec
from ..training.networks import NetworkBuilder
from ..training.scoring import score_rows
from ..training.views import Features
from .problem import Problem
from .snapshot import Snapshot

#: Raised when the layout of the file changes.
VERSION = 2
_PREPROCESS = "preprocess."


@dataclass(frozen=True)
class SavedModel:
    """``shape``: of one row as the network takes it. ``columns``: how a table becomes rows, where it was the user's."""

    method: AnyMethod
    spec: RunSpec
    shape: tuple[int, ...]
    preprocessing: Preprocessing
    columns: tuple[Column, ...] | None
    candidate: str

    def scores(self, x: npt.NDArray[Any]) -> npt.NDArray[np.float64]:
        """(n,) scores of (n, *shape) rows as read, before preprocessing; positive iff above 0."""
        values = self.preprocessing.apply_to_raw(x)
        scorer = self.method.candidates()[self.candidate]
        rows = torch.arange(len(values))
        found = score_rows(scorer, Features(torch.from_numpy(values)), rows)
        return np.asarray(found.double().numpy())


def model_bytes(plan: Plan, problem: Problem, method: AnyMethod, candidate: str) -> bytes:
    """The content of the file: what ``method`` scores with in its present state."""
    tensors = {f"{_PREPROCESS}{k}": torch.from_numpy(v.copy()) for k, v in problem.preprocessing.arrays().items()}
    parts, numbers = {}, {}
    for name, value in Snapshot.take(method).state.items():
        parts[name] = _recipe(getattr(method, name))
        for key, item in value.items() if isinstance(value, dict) else [("", value)]:
            full = f"{name}.{key}" if key else name
            if isinstance(item, Tensor):
                tensors[full] = item.detach().cpu().contiguous()
            elif isinstance(item, np.ndarray):
                tensors[full] = torch.from_numpy(np.array(item, order="C"))  # keeps () shapes
            else:
                numbers[full] = item
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


def load_model(path: Path, registry: Registry) -> SavedModel:
    """The model in a file of :func:`model_bytes`, ready to score on the CPU.

    Raises RequestError if the run kept none, RecordError if the file is damaged or of another version, PluginError if
    it cannot be rebuilt.
    """
    try:
        content = path.read_bytes()
    except FileNotFoundError as error:
        raise RequestError(
            f"no {path}: the run did not keep its model; execution.save_model=true keeps it",
            field="execution.save_model",
        ) from error
    except OSError as error:
        raise RecordError(f"{path} cannot be read: {error.strerror or error}") from error
    return model_of(content, registry, str(path))


def model_of(content: bytes, registry: Registry, path: str = "the model") -> SavedModel:
    """The model in the content of such a file. ``path``: its name, for messages."""
    facts, tensors, spec = _read(content, path)
    implementation = method_class(registry.find(MethodInfo, spec.method.key))
    method = implementation(implementation.Config.model_validate(spec.method.config))
    shape = tuple(facts["shape"])
    backbone = registry.find(BackboneInfo, spec.backbone.key)
    build = NetworkBuilder(backbone.key, load(backbone), shape, facts["mean"], facts["std"])
    method.assemble(build)
    try:
        for name, recipe in facts["parts"].items():
            _rebuild(method, name, recipe, tensors, facts["numbers"], build)
    except (LookupError, RuntimeError) as error:  # RuntimeError: what torch raises where shapes or names differ
        reason = " ".join(str(error).split())[:200]
        raise PluginError(f"{path} does not fit {spec.method.key} as it is installed here ({reason})") from error
    arrays = {n.removeprefix(_PREPROCESS): t.numpy() for n, t in tensors.items() if n.startswith(_PREPROCESS)}
    columns = from_plain(facts["columns"]) if facts["columns"] is not None else None
    preprocessing = Preprocessing.of(spec.data.preprocess, arrays)
    return SavedModel(method, spec, shape, preprocessing, columns, facts["candidate"])


def _read(content: bytes, path: str) -> tuple[dict[str, Any], dict[str, Tensor], RunSpec]:
    try:
        tensors = deserialize(content)
        header = content[8 : 8 + int.from_bytes(content[:8], "little")]
        facts = json.loads(json.loads(header)["__metadata__"]["pubench"])
        version = facts["version"]
        spec = RunSpec.model_validate(facts["spec"]) if version == VERSION else None
    except (SafetensorError, KeyError, TypeError, ValueError, ValidationError) as error:
        raise RecordError(f"{path} is not a model of this version of pubench ({type(error).__name__})") from error
    if spec is None:
        raise RecordError(f"{path} has layout {version}; this version reads layout {VERSION}")
    return facts, tensors, spec


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


def _rebuild(
    method: AnyMethod,
    name: str,
    recipe: Mapping[str, Any],
    tensors: Mapping[str, Tensor],
    numbers: Mapping[str, Any],
    build: Callable[[int], Backbone],
) -> None:
    prefix = f"{name}."
    state: dict[str, Any] = {k.removeprefix(prefix): v for k, v in tensors.items() if k.startswith(prefix)}
    state |= {k.removeprefix(prefix): v for k, v in numbers.items() if k.startswith(prefix)}
    kind = type(method).__name__
    match dict(recipe):
        case {"array": _}:
            setattr(method, name, tensors[name].numpy())
        case {"value": _}:
            setattr(method, name, tensors[name] if name in tensors else numbers[name])
        case {"object": where}:
            made = _object_of(str(where), method)
            made.load_state_dict({k: v.numpy() if isinstance(v, Tensor) else v for k, v in state.items()})
            setattr(method, name, made)
        case {"backbone": outputs}:
            setattr(method, name, build(outputs))
            getattr(method, name).load_state_dict(state)
        case {"backbones": each}:
            setattr(method, name, nn.ModuleList([build(outputs) for outputs in each]))
            getattr(method, name).load_state_dict(state)
        case _:
            if not hasattr(method, name):
                raise PluginError(
                    f"{kind} scores with '{name}', a module of its own; {kind}.assemble must make it before a saved "
                    "model can be loaded"
                )
            getattr(method, name).load_state_dict(state)


def _object_of(where: str, method: AnyMethod) -> Any:
    """An empty object of a class from the method's own package; a file cannot name any other."""
    module, _, name = where.partition(":")
    package = type(method).__module__.split(".")[0]
    if module.split(".")[0] != package:
        raise RecordError(f"the model names {where}, which is not of the method's package {package}")
    kind = getattr(importlib.import_module(module), name)
    return kind.__new__(kind)
