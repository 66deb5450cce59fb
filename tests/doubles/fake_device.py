"""A device that is not there: its tensors say that they are on it, and compute on the CPU.

Code for a GPU is wrong in ways that a CPU forgives: an operation is given tensors of both, or an index is on the host.
Inside :func:`pretended_device` this is refused on any machine. What may be mixed is as in torch's CUDA sources.

Every tensor of the device wraps one of the CPU that holds its values, so that code which branches on values runs as it
would. To torch's C++ parts it is a meta tensor, which needs no driver; to Python it is on ``cuda:0``.
"""

from __future__ import annotations

import contextlib
import functools
import linecache
import sys
import warnings
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType
from typing import Any

import torch
from pubench_testkit.conformance import Subject
from torch import Tensor
from torch._prims_common import suggest_memory_format
from torch.utils._python_dispatch import TorchDispatchMode

import pubench_core
from pubench_core.engine import score
from pubench_core.engine.resolve_method import method_class
from pubench_core.engine.train import Trained

DEVICE = torch.device("cuda", 0)

aten = torch.ops.aten
_PUTS = {aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index_put}
#: Besides what works element by element: what reads a host tensor of no dimension as a number.
_READS_NUMBERS = _PUTS | {aten.masked_fill, aten.masked_fill_, aten.fill, aten.fill_, aten.index_fill, aten.index_fill_}
INDEXES, COPIES = {aten.index, aten._unsafe_index} | _PUTS, {aten._to_copy, aten.copy_}

_CONTAINERS = (list, tuple, dict)
_CHANGED = (Tensor, *_CONTAINERS)
_META, _CPU = torch.device("meta"), torch.device("cpu")


class DeviceError(RuntimeError):
    """Operation that a GPU refuses, or does by way of the host only. The text names the operation and the place."""


class DeviceTensor(torch.Tensor):
    """A tensor that says it is on the device. ``held``: its values, on the CPU."""

    held: Tensor
    __torch_function__ = torch._C._disabled_torch_function_impl  # type: ignore[assignment]

    @staticmethod
    def __new__(cls, held: Tensor) -> DeviceTensor:
        if torch.is_inference_mode_enabled():
            with torch.inference_mode(False):  # what is made of an ordinary tensor, a view of it, must be one too
                return cls._around(held)
        return cls._around(held)

    @classmethod
    def _around(cls, held: Tensor) -> DeviceTensor:
        made: DeviceTensor = torch.Tensor._make_wrapper_subclass(
            cls,
            held.shape,
            strides=held.stride(),
            storage_offset=held.storage_offset(),
            dtype=held.dtype,
            layout=held.layout,
            device=_META,
        )
        made.held = held
        return made

    @classmethod
    def __torch_dispatch__(cls, func: Any, *_: Any) -> Any:
        raise DeviceError(f"{func} of a tensor of the pretended device, after the block in which there is one")

    device = property(lambda self: DEVICE)
    is_cuda = property(lambda self: True)
    is_meta = property(lambda self: False)

    @property
    def data(self) -> Tensor:
        return torch.Tensor.data.__get__(self)  # type: ignore[attr-defined, no-any-return]

    @data.setter
    def data(self, other: Tensor) -> None:
        torch.Tensor.data.__set__(self, other)  # type: ignore[attr-defined]
        self.held = _held(other)

    def __repr__(self, *, tensor_contents: Any = None) -> str:  # type: ignore[override]
        return f"{self.held!r} on {DEVICE}"

    def __format__(self, spec: str) -> str:
        return format(self.item(), spec) if self.dim() == 0 else format(repr(self), spec)

    def __setitem__(self, index: Any, value: Any) -> None:
        # As on CUDA: a number becomes a tensor of no dimension that lies on the host.
        super().__setitem__(index, value if isinstance(value, Tensor) else torch.tensor(value, dtype=self.dtype))

    def to(self, *args: Any, **kwargs: Any) -> Tensor:
        if self._is_already(*args, **kwargs):
            return self
        return super().to(*args, **kwargs)

    def _is_already(self, *args: Any, copy: bool = False, **kwargs: Any) -> bool:
        """Whether ``to`` has nothing to do, which torch's C++ part cannot know of a tensor that is meta to it."""
        if copy or isinstance(args[0] if args else kwargs.get("other"), Tensor):
            return False
        device, dtype, _, layout = torch._C._nn._parse_to(*args, **kwargs)
        same_kind = device in (None, DEVICE) and dtype in (None, self.dtype)
        return same_kind and layout in (None, torch.preserve_format, suggest_memory_format(self))

    def cuda(self, *args: Any, **kwargs: Any) -> Tensor:
        return self

    def new_tensor(self, data: Any, *args: Any, **kwargs: Any) -> Tensor:
        return torch.tensor(data, *args, **{"dtype": self.dtype, "device": DEVICE, **kwargs})

    def tolist(self) -> Any:
        return self.cpu().tolist()

    def numpy(self, *, force: bool = False) -> Any:
        if force:
            return self.detach().cpu().numpy()
        raise DeviceError(f".numpy() of a tensor on the device, at {place()}; .cpu() copies it to the host first")


class DeviceMode(TorchDispatchMode):
    """Sees every operation. Those of the device are computed on what its tensors wrap."""

    #: As a mode of this key, torch asks for no driver where it is given the device.
    _mode_key = torch._C._TorchDispatchModeKey.FAKE

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.generators: list[torch.Generator] = []

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        return False  # else torch imports its compiler for this

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        kwargs = kwargs or {}
        if _has_parts(func):
            with self:  # in inference mode torch leaves it whole; its parts are what is looked at
                return func.decompose(*args, **kwargs)
        tensors: list[Tensor] = []
        _gather((args, kwargs), tensors)
        here = any(isinstance(t, DeviceTensor) for t in tensors)
        to_device = here if kwargs.get("device") is None else torch.device(kwargs["device"]).type != "cpu"
        if here or to_device:
            self.examine(func, args, kwargs, tensors, to_device)
        self._check_generator(func, kwargs.get("generator"), to_device)
        known = {id(_held(t)): t for t in tensors}  # what is changed in place stays itself
        made = DeviceTensor if to_device else _held
        out = self._computed(func, args, kwargs)
        if isinstance(out, Tensor):  # as nearly always
            return known[id(out)] if id(out) in known else made(out)
        return _changed(out, lambda t: known[id(t)] if id(t) in known else made(t))

    def _computed(self, func: Any, args: Any, kwargs: Any) -> Any:
        """The result on the CPU."""
        if kwargs:
            on_cpu = {"device": _CPU} if kwargs.get("device") is not None else {}
            out = func(*_on_cpu(args), **_on_cpu({**kwargs, **on_cpu}))
        else:
            out = func(*_on_cpu(args))
        if torch.Tag.inplace_view in tags_of(func):
            with torch._C._DisableTorchDispatch():
                func(*args, **kwargs)  # the shape that the tensor says it has changes too
        return out

    # ---------------------------------------------------------------- what is looked at

    def place(self) -> SourceLine:
        """The present line, for an error."""
        return place()

    def synchronized(self) -> None:
        """``torch.cuda.synchronize`` was called."""

    def examine(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor], to_device: bool) -> None:
        """Raises DeviceError if an operation mixes host and device."""
        operation = func.overloadpacket
        if operation in COPIES:
            return
        named = arguments_of(func, args, kwargs)
        if operation in INDEXES:
            here = is_here(named["self"])
            if any(index is not None and is_here(index) != here for index in named["indices"]):
                one, other = ("host", "device") if here else ("device", "host")
                raise DeviceError(f"a tensor on the {one} is the index of one on the {other}, at {self.place()}")
        if strangers := [t for t in tensors if not is_here(t)]:
            self._check_mixed(func, named, strangers)

    def _check_mixed(self, func: Any, named: dict[str, Any], strangers: list[Tensor]) -> None:
        """Tensors of no dimension may lie on the host where they are read as numbers, element by element."""
        written = [named.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
        reads_numbers = torch.Tag.pointwise in tags_of(func) or func.overloadpacket in _READS_NUMBERS
        for stranger in strangers:
            if not reads_numbers or stranger.dim() or any(stranger is t for t in _tensors_in(written)):
                raise DeviceError(
                    f"{name_of(func)} is given tensors on the device and one of shape {tuple(stranger.shape)} on the "
                    f"host, at {self.place()}"
                )

    def _check_generator(self, func: Any, generator: torch.Generator | None, to_device: bool) -> None:
        if generator is None:
            return
        here = any(generator._cdata == known._cdata for known in self.generators)  # type: ignore[attr-defined]
        if here != to_device:
            one, other = ("device", "host") if to_device else ("host", "device")
            raise DeviceError(f"{name_of(func)} on the {one} draws from a generator of the {other}, at {self.place()}")


def is_here(tensor: Tensor) -> bool:
    return isinstance(tensor, DeviceTensor)


def _held(tensor: Tensor) -> Tensor:
    """The tensor of the CPU."""
    return tensor.held if isinstance(tensor, DeviceTensor) else tensor


def _gather(values: Any, found: list[Tensor]) -> None:
    """Adds all tensors in a container of arguments, which may be lists of them."""
    for value in values.values() if isinstance(values, dict) else values:
        if isinstance(value, Tensor):
            found.append(value)
        elif isinstance(value, _CONTAINERS):
            _gather(value, found)


def _tensors_in(values: Any) -> list[Tensor]:
    found: list[Tensor] = []
    _gather(values, found)
    return found


def _on_cpu(values: Any) -> Any:
    """Arguments with the tensors of the CPU."""
    return _changed(values, _held)


def _changed(values: Any, change: Callable[[Tensor], Tensor]) -> Any:
    """Arguments or results with every tensor replaced."""
    if isinstance(values, Tensor):
        return change(values)
    if isinstance(values, dict):
        return {name: _changed(value, change) for name, value in values.items()}
    if isinstance(values, (list, tuple)):
        changed = [_changed(v, change) if isinstance(v, _CHANGED) else v for v in values]
        return tuple(changed) if isinstance(values, tuple) else changed
    return values


def arguments_of(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by their names."""
    return {**dict(zip(_names_of(func), args, strict=False)), **kwargs}


@cache
def _names_of(func: Any) -> tuple[str, ...]:
    return tuple(a.name for a in func._schema.arguments)


@cache
def tags_of(func: Any) -> frozenset[torch.Tag]:
    return frozenset(func.tags)


@cache
def _has_parts(func: Any) -> bool:
    """Whether the operation is made of others, whatever the device."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")


def name_of(func: Any) -> str:
    """Name of an operation in Python: ``index_put``, ``item``."""
    name = str(func).removeprefix("aten.").split(".")[0].rstrip("_")
    return {"_local_scalar_dense": "item", "_unique2": "unique", "_index_put_impl": "index_put"}.get(name, name)


def _generator_type(mode: DeviceMode) -> type[torch.Generator]:
    """torch.Generator, whose objects on the device draw on the CPU."""
    original = torch.Generator

    class Generator(original):  # type: ignore[valid-type, misc]
        def __new__(cls, device: Any = "cpu") -> Any:
            here = torch.device(device).type == DEVICE.type
            if not here:
                return original(device=device)
            made = original.__new__(cls)
            mode.generators.append(made)
            return made

        device = property(lambda self: DEVICE)

    return Generator


@contextmanager
def pretended_device(mode: DeviceMode | None = None) -> Iterator[torch.device]:
    """Inside this block there is a device ``cuda:0``. ``mode``: what examines every operation.

    Raises DeviceError where tensors of the host and of the device are mixed.
    """
    mode = mode or DeviceMode()
    stand_ins = {
        "synchronize": lambda device=None: mode.synchronized(),
        "device": lambda device: nullcontext(),
        "current_device": lambda: DEVICE.index,
        "manual_seed": lambda seed: None,  # the device draws from the host's default generator
        "get_rng_state": lambda device=None: torch.empty(0, dtype=torch.uint8),
        "set_rng_state": lambda state, device=None: None,
        "reset_peak_memory_stats": lambda device=None: None,
        "max_memory_allocated": lambda device=None: 0,
        "memory_allocated": lambda device=None: 0,
    }
    with ExitStack() as stack:
        for name, stand_in in stand_ins.items():
            stack.enter_context(replaced(torch.cuda, name, stand_in))
        stack.enter_context(replaced(torch, "Generator", _generator_type(mode)))
        # Else torch.tensor(..., device=) would copy to the device where no mode sees it.
        before = torch._C._only_lift_cpu_tensors()
        stack.callback(torch._C._set_only_lift_cpu_tensors, before)
        torch._C._set_only_lift_cpu_tensors(True)
        score.KINDS.add(DeviceTensor)
        stack.callback(score.KINDS.discard, DeviceTensor)
        stack.enter_context(mode)
        yield DEVICE


@contextmanager
def replaced(owner: Any, name: str, value: Any) -> Iterator[None]:
    """Inside this block, an attribute has another value."""
    before = getattr(owner, name)
    setattr(owner, name, value)
    try:
        yield
    finally:
        setattr(owner, name, before)


# -------------------------------------------------------------------- a method on it


def two_steps(subject: Subject) -> tuple[str, ...]:
    """Settings that give a subject epochs of two steps on the sample problems."""
    known = method_class(subject.info).Config.model_fields
    return tuple(f"{name}={value}" for name, value in (("batch_size", 32), ("steps_per_epoch", 2)) if name in known)


def train_on(device: torch.device, subject: Subject, *sets: str, **problem: Any) -> Trained:
    """Trains and scores a subject in epochs of two steps. ``sets``, ``problem``: as of :meth:`Subject.plan`.

    Raises what the engine raises if devices are mixed: RunFailed, whose text names the operation and the place.
    """
    there = subject.on(device)
    return there.train(there.plan(*two_steps(subject), *sets, **problem))


# -------------------------------------------------------------------- where it happens

_CORE = str(Path(pubench_core.__file__).parent)
_ENGINE = str(Path(_CORE, "engine"))
#: Frames that are no place, by the beginning of their files: torch, what calls functions for others, and what is
#: between a method and its run here.
SKIPPED = [
    str(Path(torch.__file__).parent),
    contextlib.__file__,
    functools.__file__,
    warnings.__file__,
    "<",
    __file__,
]


@dataclass(frozen=True)
class SourceLine:
    """A line of source. ``called_from``: the line outside core that led there, where the place itself is in core."""

    file: str
    line: int
    function: str
    code: str
    called_from: SourceLine | None = None

    def __str__(self) -> str:
        called = f", called from {self.called_from}" if self.called_from else ""
        return f"{self.file}:{self.line} ({self.function}){called}"


def place() -> SourceLine:
    """The innermost line that is being run."""
    found: SourceLine | None = None
    frame = sys._getframe(1)
    while frame is not None:
        file = frame.f_code.co_filename
        if not file.startswith(tuple(SKIPPED)):
            if file.startswith(_ENGINE):
                break  # from here on outwards it is the engine that calls the method
            if not file.startswith(_CORE):
                return _here(frame) if found is None else replace(found, called_from=_here(frame))
            found = found or _here(frame)
        frame = frame.f_back  # type: ignore[assignment] # None ends the loop
    if found is None:
        assert frame is not None
        found = _here(frame)
    return found


def _here(frame: FrameType) -> SourceLine:
    file = frame.f_code.co_filename
    code = linecache.getline(file, frame.f_lineno).strip()
    return SourceLine(_short(file), frame.f_lineno, frame.f_code.co_qualname, code)


def _short(file: str) -> str:
    """The path below ``src`` or ``site-packages``; else folder and name."""
    parts = Path(file).parts
    start = max((i for i, part in enumerate(parts) if part in ("src", "site-packages")), default=len(parts) - 3)
    return "/".join(parts[start + 1 :])
