"""A saved model: what a run scores with, in one safetensors file, and scoring new rows with it.

The file holds tensors and JSON only. Networks are rebuilt from the run's backbone, everything else a method scores with
is a tensor, an array, a number, or an object of the method's own package that takes its state back.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from pydantic import ValidationError
from safetensors import SafetensorError, safe_open
from safetensors.torch import save as serialize
from torch import Tensor, nn

from ..backbones.base import Backbone, Normalize
from ..data.own import Column, from_plain
from ..data.preprocess import Preprocessing
from ..errors import PluginError, RecordError, RequestError
from ..info import BackboneInfo, MethodInfo
from ..method import AnyMethod
from ..registry import Registry, load
from ..resolve import method_class
from ..specs import RunSpec
from .problem import Problem
from .scoring import modules_of, score_rows
from .snapshot import Snapshot

#: Raised when the layout of the file changes.
VERSION = 1
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
        from ..data.store import unit
        from ..data.views import Features

        values = unit(x) if self.spec.data.preprocess == "l2" else self.preprocessing.apply(x)
        features = Features(torch.from_numpy(values))
        scorer = self.method.candidates()[self.candidate]
        found = score_rows(scorer, features, torch.arange(len(values)), modules_of(self.method))
        return np.asarray(found.double().numpy())


def save_model(path: Path, spec: RunSpec, problem: Problem, method: AnyMethod, candidate: str) -> None:
    """Writes what ``method`` scores with in its present state."""
    tensors = {f"{_PREPROCESS}{k}": torch.from_numpy(v.copy()) for k, v in problem.preprocessing.arrays().items()}
    parts, numbers = {}, {}
    for name, value in Snapshot.take(method).state.items():
        parts[name] = _recipe(getattr(method, name), method)
        for key, item in value.items() if isinstance(value, dict) else [("", value)]:
            full = f"{name}.{key}" if key else name
            if isinstance(item, Tensor):
                tensors[full] = item.detach().cpu().contiguous()
            elif isinstance(item, np.ndarray):
                tensors[full] = torch.from_numpy(np.array(item, order="C"))  # keeps () shapes
            else:
                numbers[full] = item
    facts = {
        "version": VERSION,
        "run_id": spec.run_id,
        "spec": spec.model_dump(mode="json"),
        "shape": list(problem.data.shape),
        "mean": problem.data.mean,
        "std": problem.data.std,
        "columns": problem.facts().get("encoding"),
        "candidate": candidate,
        "parts": parts,
        "numbers": numbers,
    }
    path.write_bytes(serialize(tensors, {"pubench": json.dumps(facts)}))


def load_model(path: Path, registry: Registry) -> SavedModel:
    """The model in a file that :func:`save_model` wrote, ready to score on the CPU.

    Raises RecordError if the file is absent, damaged or of another version, PluginError if it cannot be rebuilt.
    """
    try:
        with safe_open(path, framework="pt") as file:
            metadata = file.metadata() or {}
            tensors = {name: file.get_tensor(name) for name in file.keys()}  # noqa: SIM118 - not a mapping
        facts = json.loads(metadata["pubench"])
        version, spec = facts["version"], RunSpec.model_validate(facts["spec"])
    except FileNotFoundError as error:
        raise RequestError(f"no {path}: the run was not asked to keep its model (--save-model)") from error
    except (OSError, SafetensorError, KeyError, TypeError, ValueError, ValidationError) as error:
        raise RecordError(f"{path} is not a model of this version of pubench ({type(error).__name__})") from error
    if version != VERSION:
        raise RecordError(f"{path} has layout {version}; this version reads layout {VERSION}")
    implementation = method_class(registry.find(MethodInfo, spec.method.key))
    method = implementation(implementation.Config.model_validate(spec.method.config))
    build = _builder(spec, facts, registry)
    method.assemble(build)
    try:
        for name, recipe in facts["parts"].items():
            _rebuild(method, name, recipe, tensors, facts["numbers"], build)
    except (LookupError, RuntimeError) as error:  # RuntimeError: what torch raises where shapes or names differ
        reason = " ".join(str(error).split())[:200]
        raise PluginError(f"{path} does not fit {spec.method.key} as it is installed here ({reason})") from error
    arrays = {n.removeprefix(_PREPROCESS): t.numpy() for n, t in tensors.items() if n.startswith(_PREPROCESS)}
    columns = from_plain(facts["columns"]) if facts["columns"] is not None else None
    shape = tuple(facts["shape"])
    return SavedModel(method, spec, shape, Preprocessing.of(arrays), columns, facts["candidate"])


def _recipe(value: Any, method: AnyMethod) -> dict[str, Any]:
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
    build: Any,
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
            made = _own_object(str(where), method)
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


def _own_object(where: str, method: AnyMethod) -> Any:
    """An empty object of a class from the method's own package; a file cannot name any other."""
    module, _, name = where.partition(":")
    package = type(method).__module__.split(".")[0]
    if module.split(".")[0] != package:
        raise RecordError(f"the model names {where}, which is not of the method's package {package}")
    kind = getattr(importlib.import_module(module), name)
    return kind.__new__(kind)


def _builder(spec: RunSpec, facts: Mapping[str, Any], registry: Registry) -> Any:
    factory = load(registry.find(BackboneInfo, spec.backbone.key))

    def build(outputs: int) -> Backbone:
        network: Backbone = factory(tuple(facts["shape"]), outputs)
        if facts["mean"] is not None and facts["std"] is not None:
            network.normalize = Normalize(facts["mean"], facts["std"])
        return network

    return build
