"""A device that is not there: its tensors say that they are on it, and compute on the CPU.

Code for a GPU is wrong in ways that a CPU forgives: an operation is given tensors of both, an index lies on the host, a
number is read in every step, for which the host waits until the device has done all its work. Inside
:func:`pretended_device` this is seen on any machine. What may be mixed, and what waits, is as in torch's CUDA sources.

Every tensor of the device wraps one of the CPU that holds its values, so that code which branches on values runs as it
would. To torch's C++ parts it is a meta tensor, which needs no driver; to Python it is on ``cuda:0``.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from functools import cache
from typing import Any

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format
from torch.utils._python_dispatch import TorchDispatchMode

from pubench_core.engine import score

from .source_location import SourceLine, place

DEVICE = torch.device("cuda", 0)
#: Called with an operation for which the host waits, and the place.
Report = Callable[[str, SourceLine], None]

aten = torch.ops.aten
_GETS = {aten.index, aten._unsafe_index}
_PUTS = {aten.index_put, aten.index_put_, aten._index_put_impl_, aten._unsafe_index_put}
#: Besides what works element by element: what reads a host tensor of no dimension as a number.
_READS_NUMBERS = _PUTS | {aten.masked_fill, aten.masked_fill_, aten.fill, aten.fill_, aten.index_fill, aten.index_fill_}
#: The host reads a value, or a shape that depends on values. Indices wait for masks only, which is looked at apart.
_READS = {torch.Tag.data_dependent_output, torch.Tag.dynamic_output_shape}
_INDEXES, _COPIES = _GETS | _PUTS, {aten._to_copy, aten.copy_}
#: Reads its weights to check them, which no tag says.
_CHECKS = {aten.multinomial}


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


class _Mode(TorchDispatchMode):
    """Sees every operation. Those of the device are computed on what its tensors wrap."""

    #: As a mode of this key, torch asks for no driver where it is given the device.
    _mode_key = torch._C._TorchDispatchModeKey.FAKE

    def __init__(self, report: Report) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.report = report
        self.generators: list[torch.Generator] = []
        self._forward: dict[int, SourceLine] = {}  # by the number of the operation's node in the graph

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
            self._examine(func, args, kwargs, tensors, to_device)
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
        if torch.Tag.inplace_view in _tags(func):
            with torch._C._DisableTorchDispatch():
                func(*args, **kwargs)  # the shape that the tensor says it has changes too
        return out

    # ---------------------------------------------------------------- what is looked at

    def _examine(self, func: Any, args: Any, kwargs: Any, tensors: list[Tensor], to_device: bool) -> None:
        """Raises DeviceError where host and device are mixed; reports for what the host waits."""
        operation = func.overloadpacket
        if operation in _COPIES:
            source = tensors[-1]
            here = _is_here(tensors[0]) if operation is aten.copy_ else to_device
            self._copied(source, here, _named(func, args, kwargs))
            return
        if operation in _INDEXES:
            named = _named(func, args, kwargs)
            self._indexed(operation, named["self"], named["indices"], named.get("values"))
        elif (_READS & _tags(func) and _named(func, args, kwargs).get("output_size") is None) or operation in _CHECKS:
            self._waits(_name(func))
        if strangers := [t for t in tensors if not isinstance(t, DeviceTensor)]:
            self._check_mixed(func, _named(func, args, kwargs), strangers)

    def _copied(self, source: Tensor, to_device: bool, named: dict[str, Any]) -> None:
        """A copy between the two waits, except for one to the device that says ``non_blocking``."""
        if _is_here(source) == to_device or not source.numel():
            return
        if not to_device:
            self._waits("copy to the host")
        elif not named.get("non_blocking"):
            self._waits("copy to the device")

    def _indexed(self, operation: Any, target: Tensor, indices: list[Tensor | None], value: Tensor | None) -> None:
        """A mask waits for the number of its rows, unless a number is written where it is True."""
        given = [index for index in indices if index is not None]
        for index in given:
            if _is_here(index) != _is_here(target):
                one, other = ("host", "device") if _is_here(target) else ("device", "host")
                raise DeviceError(f"a tensor on the {one} is the index of one on the {other}, at {self._place()}")
        if torch.is_grad_enabled() and target.requires_grad:
            self._forward[torch._C._autograd._get_sequence_nr() - 1] = place()
        masks = [index for index in given if index.dtype in (torch.bool, torch.uint8)]
        number_comes = value is not None and value.dim() == 0 and not _is_here(value)
        if number_comes and len(masks) == len(given) == 1:
            return
        for _ in masks:
            self._waits(f"{_name(operation)} by a mask")
        if number_comes:
            self._waits("copy to the device")

    def _check_mixed(self, func: Any, named: dict[str, Any], strangers: list[Tensor]) -> None:
        """Tensors of no dimension may lie on the host where they are read as numbers, element by element."""
        written = [named.get(a.name) for a in func._schema.arguments if a.alias_info and a.alias_info.is_write]
        reads_numbers = torch.Tag.pointwise in _tags(func) or func.overloadpacket in _READS_NUMBERS
        for stranger in strangers:
            if not reads_numbers or stranger.dim() or any(stranger is t for t in _tensors_in(written)):
                raise DeviceError(
                    f"{_name(func)} is given tensors on the device and one of shape {tuple(stranger.shape)} on the "
                    f"host, at {self._place()}"
                )

    def _check_generator(self, func: Any, generator: torch.Generator | None, to_device: bool) -> None:
        if generator is None:
            return
        here = any(generator._cdata == known._cdata for known in self.generators)  # type: ignore[attr-defined]
        if here != to_device:
            one, other = ("device", "host") if to_device else ("host", "device")
            raise DeviceError(f"{_name(func)} on the {one} draws from a generator of the {other}, at {self._place()}")

    def _waits(self, operation: str) -> None:
        gradient = torch._C._current_autograd_node() is not None
        self.report(f"{operation} (gradient)" if gradient else operation, self._place())

    def _place(self) -> SourceLine:
        """The present line; in a backward pass, the line whose gradient is computed, where that is known."""
        node = torch._C._current_autograd_node()
        return place() if node is None else self._forward.get(node._sequence_nr()) or place()


def _is_here(tensor: Tensor) -> bool:
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


def _named(func: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    """The arguments by their names."""
    return {**{a.name: value for a, value in zip(func._schema.arguments, args, strict=False)}, **kwargs}


@cache
def _tags(func: Any) -> frozenset[torch.Tag]:
    return frozenset(func.tags)


@cache
def _has_parts(func: Any) -> bool:
    """Whether the operation is made of others, whatever the device."""
    return torch._C._dispatch_has_kernel_for_dispatch_key(func.name(), "CompositeImplicitAutograd")


def _name(func: Any) -> str:
    """As it is called in Python: ``index_put``, ``item``."""
    name = str(func).removeprefix("aten.").split(".")[0].rstrip("_")
    return {"_local_scalar_dense": "item", "_unique2": "unique", "_index_put_impl": "index_put"}.get(name, name)


def _generator_type(mode: _Mode) -> type[torch.Generator]:
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
def pretended_device(report: Report = lambda operation, where: None) -> Iterator[torch.device]:
    """Inside this block there is a device ``cuda:0``. ``report`` gets what the host waits for.

    Raises DeviceError where tensors of the host and of the device are mixed.
    """
    mode = _Mode(report)

    def synchronize(device: Any = None) -> None:
        report("torch.cuda.synchronize", place())

    stand_ins = {
        "synchronize": synchronize,
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
