"""Reading the one pickle that a public data set still uses, without running anything that it names.

A pickle may name any function and have it called. The batches of CIFAR-10, written by Python 2, name three things of
numpy and nothing else; here each of the three is a record that keeps what it is given. Not even numpy sees the pickled
bytes before their type and length are known.
"""

from __future__ import annotations

import io
import pickle
import pickletools
from typing import Any

import numpy as np
import numpy.typing as npt

from pubench_core.data.archives import damaged, one_line
from pubench_core.errors import RequestError


class _Dtype:
    """Stands for ``numpy.dtype(code, align, copy)``; its further state (byte order, fields) is not needed."""

    def __init__(self, code: object, *rest: object) -> None:
        self.code = code.decode("latin1") if isinstance(code, bytes) else code

    def __setstate__(self, state: object) -> None:
        pass


class _Array:
    """Stands for an array: shape, dtype, order and bytes, as pickled."""

    shape: object = None
    dtype: object = None
    fortran: object = None
    raw: object = None

    def __init__(self, *given: object) -> None:
        pass

    def __setstate__(self, state: Any) -> None:
        _, self.shape, self.dtype, self.fortran, self.raw = state


#: numpy moved ``numpy.core`` to ``numpy._core`` in version 2.
ALLOWED: dict[tuple[str, str], type] = {
    ("numpy.core.multiarray", "_reconstruct"): _Array,
    ("numpy._core.multiarray", "_reconstruct"): _Array,
    ("numpy", "ndarray"): _Array,
    ("numpy", "dtype"): _Dtype,
}


class _Unpickler(pickle.Unpickler):
    def __init__(self, content: bytes, place: str) -> None:
        super().__init__(io.BytesIO(content), encoding="bytes")
        self.place = place

    def find_class(self, module: str, name: str) -> Any:
        if (module, name) in ALLOWED:
            return ALLOWED[module, name]
        wanted = f"{module}.{name}"
        raise RequestError(  # quoted: the file's author chose the name
            f"{self.place} is a pickle that names {wanted!r}, which no array needs: it was not run and must not "
            "be trusted; remove it and get the published file, or the binary version, which has no pickle"
        )


#: Objects of a batch that are there a second time. A real one repeats hardly any; tuples in tuples, each twice in the
#: next, take a day to hash or to print after 40 of them.
MOST_REPEATED = 32
_REPEATING = ("GET", "BINGET", "LONG_BINGET", "DUP")


def _check_opcodes(content: bytes, place: str) -> None:
    """Refuses what makes the unpickling machine reserve more memory than the file has bytes, or pass ``find_class`` by.

    The machine keeps a table as long as the highest number that a PUT names, so one wrong bit may reserve gigabytes.
    """
    repeated = 0
    for count, (opcode, argument, _) in enumerate(pickletools.genops(content)):
        repeated += opcode.name in _REPEATING
        if repeated > MOST_REPEATED:
            raise damaged(place, f"more than {MOST_REPEATED} of its objects are there again")
        if opcode.proto > 4 or opcode.name.startswith("EXT"):
            raise damaged(place, f"opcode {opcode.name} has no place in it")
        if opcode.name in ("PUT", "BINPUT", "LONG_BINPUT") and isinstance(argument, int) and argument > count + 1:
            raise damaged(place, f"it stores its object {count} as number {argument}")


def unpickled(content: bytes, place: str) -> dict[str, Any]:
    """The pickled dictionary, its keys as text; arrays in it are read with :func:`uint8_array`.

    Raises RequestError naming ``place`` if the pickle names anything but arrays, is damaged, or is no dictionary.
    """
    try:
        _check_opcodes(content, place)
        found = _Unpickler(content, place).load()
    # all that the unpickling machine is known to raise on bytes that are no pickle, or half of one
    except (
        pickle.UnpicklingError,
        EOFError,
        AttributeError,
        ImportError,
        IndexError,
        KeyError,
        TypeError,
        ValueError,
        OverflowError,
        MemoryError,
        RecursionError,
    ) as error:
        raise damaged(place, one_line(error)) from error
    if not isinstance(found, dict) or not all(isinstance(key, (bytes, str)) for key in found):
        raise damaged(place, "it holds no dictionary of named values")
    return {key.decode("latin1") if isinstance(key, bytes) else key: value for key, value in found.items()}


def uint8_array(found: object, width: int, place: str) -> npt.NDArray[np.uint8]:
    """(n, width) uint8 from what :func:`unpickled` returned for an array; RequestError if it is another."""
    raw = found.raw if isinstance(found, _Array) else None
    if not (isinstance(found, _Array) and isinstance(found.dtype, _Dtype) and isinstance(raw, bytes)):
        raise damaged(place, f"'data' is not an array of {width} bytes per image")
    expected = (len(raw) // width, width)
    if found.dtype.code != "u1" or found.fortran or found.shape != expected or len(raw) % width or not raw:
        kind = repr(found.dtype.code[:8]) if isinstance(found.dtype.code, str) else "no known type"
        raise damaged(place, f"'data' is an array {_dimensions(found.shape)} of {kind}; expected (n, {width}) of 'u1'")
    return np.frombuffer(raw, dtype=np.uint8).reshape(expected)


def _dimensions(shape: object) -> str:
    """A pickled shape in words; one that is none may be anything, and of any size in print."""
    if not isinstance(shape, tuple) or len(shape) > 8 or not all(type(n) is int and abs(n) < 2**63 for n in shape):
        return "of no shape"
    return str(shape)
