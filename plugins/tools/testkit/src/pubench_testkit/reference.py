"""Reference vectors: numbers of the papers' official code, and the harness that compares a method with them.

A method's ``tests/test_reference.py`` names its file, how arrays are grouped, a tolerance, and how to call ours::

    VECTORS = Vectors("my-method", tolerance=1e-10)

    @VECTORS.cases(having="loss")
    def test_the_loss_and_its_gradient_are_those_of_the_official_code(case: Case) -> None:
        p, u = case.leaves("logits_p", "logits_u")
        loss = my_loss(p, u, case.number("prior"))
        case.expect(loss=loss)
        case.expect_gradients(loss, grad_logits_p=p, grad_logits_u=u)

The kit's pytest plugin adds a test that these checks read every array.

Files lie in the folder named by ``PUBENCH_REFERENCE``, by default ``tests/reference`` of the source tree that this
package is imported from. A test reads sizes and options from its case: it holds for other vectors of the same layout.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from itertools import product
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pytest
import torch
from torch import Tensor, nn

Arrays = dict[str, npt.NDArray[Any]]
Check = Callable[..., None]
Word = TypeVar("Word", bound=str)


def reference_folder() -> Path:
    """``PUBENCH_REFERENCE``, else ``tests/reference`` of the source tree."""
    given = os.environ.get("PUBENCH_REFERENCE")
    return Path(given) if given else Path(__file__).parents[5] / "tests" / "reference"


def reference_arrays(key: str) -> Arrays:
    """All arrays of ``<key>.npz``. A missing file is an error, never a reason to skip a test."""
    path = reference_folder() / f"{key}.npz"
    if not path.is_file():
        raise FileNotFoundError(f"no reference vectors {path}; PUBENCH_REFERENCE names the folder that has them")
    with np.load(path, allow_pickle=False) as stored:
        return dict(stored)


class Case:
    """One case: its arrays by name, and comparisons with them. ``read``: names of the arrays that were asked for."""

    def __init__(self, name: str, arrays: Arrays, tolerance: float, columns: Sequence[str] = ()) -> None:
        self.name, self.arrays, self.tolerance, self.columns = name, arrays, tolerance, columns
        self.read: set[str] = set()

    def __getitem__(self, array: str) -> npt.NDArray[Any]:
        self.read.add(array)
        return self.arrays[array].copy()

    def __contains__(self, array: str) -> bool:
        return array in self.arrays

    def one_of(self, words: Iterable[Word]) -> Word:
        """The word that the name of the case has between underscores."""
        (found,) = (word for word in words if word in self.name.split("_"))
        return found

    def number(self, array: str) -> float:
        """An array of one element as a float."""
        return float(self[array].item())

    def column(self, name: str) -> float:
        """The number of this column in the array ``out``."""
        return float(self["out"][self.columns.index(name)])

    def expect_columns(self, tolerance: float | None = None, /, **ours: float) -> None:
        """Each of ours equals the column of its name in the array ``out``."""
        for name, value in ours.items():
            self.close(value, self.column(name), tolerance, name)

    def tensor(self, array: str) -> Tensor:
        """A copy that no other test sees."""
        return torch.from_numpy(np.asarray(self[array]))

    def tensors(self, *arrays: str) -> list[Tensor]:
        """Several arrays as tensors."""
        return [self.tensor(array) for array in arrays]

    def leaves(self, *arrays: str) -> list[Tensor]:
        """Float64 tensors that take gradients."""
        return [self.tensor(array).double().requires_grad_() for array in arrays]

    def expect(self, tolerance: float | None = None, /, **ours: Any) -> None:
        """Each of ours equals the array of its name, in shape too, within the tolerance, relative or absolute."""
        for array, value in ours.items():
            found, theirs = _plain(value), self[array]
            assert found.shape == theirs.shape or found.size == theirs.size == 1, f"{array} has shape {theirs.shape}"
            self.close(found, theirs, tolerance, array)

    def expect_gradients(self, loss: Tensor, tolerance: float | None = None, /, **leaves: Tensor) -> None:
        """The gradient of the loss by each leaf equals the array of its name; 0 for a leaf that has no part in it."""
        found = torch.autograd.grad(loss, tuple(leaves.values()), retain_graph=True, materialize_grads=True)
        self.expect(tolerance, **dict(zip(leaves, found, strict=True)))

    def close(self, ours: Any, theirs: Any, tolerance: float | None = None, what: str = "") -> None:
        """Two numbers or arrays are equal within the tolerance, relative or absolute."""
        found, expected, within = _plain(ours), _plain(theirs), self.tolerance if tolerance is None else tolerance
        np.testing.assert_allclose(found, expected, rtol=within, atol=within, err_msg=f"{self.name} {what}")


def _plain(value: Any) -> npt.NDArray[Any]:
    assert value is not None
    found = value.detach().numpy() if isinstance(value, Tensor) else np.asarray(value)
    return found.astype(np.float64) if found.dtype == bool else found


def joined(p: Tensor, u: Tensor) -> tuple[Tensor, Tensor]:
    """Rows of P and of U as one batch, and its mask of labeled rows."""
    return torch.cat([p, u]), torch.arange(len(p) + len(u)) < len(p)


def linear(weight: Tensor, bias: Tensor | None = None) -> nn.Sequential:
    """A float64 network with (B,) outputs x · weight + bias; its layer with the gradients is the first."""
    layer = nn.Linear(weight.numel(), 1, bias=bias is not None, dtype=torch.float64)
    with torch.no_grad():
        layer.weight.copy_(weight.reshape(1, -1))
        if bias is not None:
            layer.bias.copy_(bias)
    return nn.Sequential(layer, nn.Flatten(0))


class Vectors:
    """Cases of ``<key>.npz``, and the checks that are made of them.

    Arrays are named ``<case>__<array>``, or ``<case>_<array>`` for names of cases that match ``case``, after
    ``<group>_`` in a file of several groups. ``meta``, a description of the file, belongs to no case; ``fields`` names
    the columns of every array ``out``. ``double``: checks run with float64 as the default type. ``unread``: names of
    cases or arrays that no check need read: information, no result.
    """

    def __init__(
        self, key: str, *, tolerance: float, group: str = "", case: str = "", double: bool = False, unread: str = ""
    ) -> None:
        self.key, self.tolerance, self.double, self.unread = key, tolerance, double, unread
        self.columns: list[str] = []
        self.arrays: dict[str, Arrays] = {}
        layout = re.compile(rf"({case})(?:_(.+))?" if case else r"(.+?)__(.+)")
        prefix = f"{group}_" if group else ""
        for full_name, values in reference_arrays(key).items():
            name = full_name.removeprefix(prefix)
            if name == "fields":
                self.columns = values.tolist()
            elif full_name.startswith(prefix) and name != "meta":
                found = layout.fullmatch(name)
                assert found, f"{key}.npz: array '{name}' is of no case"
                self.arrays.setdefault(found[1], {})[found[2] or found[1]] = values
        self._checks: list[tuple[Check, list[Case], dict[str, Sequence[Any]], float]] = []
        self._read: dict[tuple[Any, ...], set[str]] = {}

    def select(self, named: str = ".*", *, having: str = "") -> list[Case]:
        """Cases whose name matches and that have an array ``having``. Raises LookupError if there is none."""
        found = [
            Case(name, arrays, self.tolerance, self.columns)
            for name, arrays in sorted(self.arrays.items())
            if re.fullmatch(named, name) and (not having or having in arrays)
        ]
        if not found:
            raise LookupError(
                f"{self.key}.npz has no case '{named}'" + (f" with an array '{having}'" if having else "")
            )
        return found

    def cases(
        self, named: str = ".*", *, having: str = "", tolerance: float | None = None, **varied: Sequence[Any]
    ) -> Callable[[Check], Check]:
        """Makes a check a test of each such case and each value of every argument in ``varied``."""
        chosen, within = self.select(named, having=having), self.tolerance if tolerance is None else tolerance

        def decorate(check: Check) -> Check:
            @wraps(check)
            def test(case: Case, **options: Any) -> None:
                self._run(check, case, options, within)

            self._checks.append((check, chosen, varied, within))
            for argument, values in varied.items():
                pytest.mark.parametrize(argument, values, ids=str)(test)
            pytest.mark.parametrize("case", chosen, ids=lambda case: case.name)(test)
            return test

        return decorate

    def assert_every_array_is_read(self) -> None:
        """No array of the file is left out by the checks. Those that have not run in this process are run."""
        for check, chosen, varied, within in self._checks:
            for case, values in product(chosen, product(*varied.values())):
                self._run(check, case, dict(zip(varied, values, strict=True)), within)
        read = {(case, array) for (_, case, _), arrays in self._read.items() for array in arrays}
        every = {(case, array) for case, arrays in self.arrays.items() for array in arrays}
        information = re.compile(self.unread).fullmatch
        left = sorted(": ".join(one) for one in every - read if not any(map(information, one)))
        if left:
            raise AssertionError(f"{self.key}.npz: no check reads {', '.join(left)}")

    def _run(self, check: Check, case: Case, options: dict[str, Any], within: float) -> None:
        """Runs a check, unless it has passed in this process."""
        key = (check.__qualname__, case.name, str(options))
        if key not in self._read:
            fresh, before = Case(case.name, case.arrays, within, self.columns), torch.get_default_dtype()
            torch.set_default_dtype(torch.float64 if self.double else before)
            try:
                check(case=fresh, **options)
            finally:
                torch.set_default_dtype(before)
            self._read[key] = fresh.read
