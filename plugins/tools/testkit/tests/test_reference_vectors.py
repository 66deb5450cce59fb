"""The harness over reference vectors: layouts, comparisons that fail, arrays that no check reads."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from pubench_testkit.pytest_plugin import pytest_pycollect_makeitem
from pubench_testkit.testing import Case, Vectors, joined, reference_arrays

ARRAYS = {"a_x": np.arange(3.0), "a_loss": np.float64(5.0), "a_grad": 2 * np.arange(3.0), "b_x": np.ones(2)}


@pytest.fixture
def vectors(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Vectors:
    monkeypatch.setenv("PUBENCH_REFERENCE", str(tmp_path))
    np.savez(tmp_path / "mine.npz", meta=np.array(["made here"]), **ARRAYS)
    return Vectors("mine", tolerance=1e-10, case="[^_]+")


def squares(case: Case) -> None:
    (x,) = case.leaves("x")
    case.expect(loss=x.square().sum())
    case.expect_gradients(x.square().sum(), grad=x)


def test_a_check_runs_for_every_case_that_has_its_array(vectors: Vectors) -> None:
    test = vectors.cases(having="loss")(squares)
    (mark,) = test.pytestmark  # type: ignore[attr-defined]
    assert [case.name for case in mark.args[1]] == ["a"]
    test(mark.args[1][0])


@pytest.mark.parametrize("array", ["a_loss", "a_grad"])
def test_a_wrong_number_fails(vectors: Vectors, array: str) -> None:
    case, name = vectors.arrays["a"], array.removeprefix("a_")
    case[name] = case[name] + 1e-6
    with pytest.raises(AssertionError, match="Not equal to tolerance"):
        squares(vectors.select("a")[0])


def test_a_scalar_is_no_array_of_equal_numbers(vectors: Vectors) -> None:
    with pytest.raises(AssertionError, match=r"x has shape \(2,\)"):
        vectors.select("b")[0].expect(x=1.0)


def test_an_array_that_no_check_reads_fails_and_can_be_left_out_by_name(vectors: Vectors) -> None:
    vectors.cases("a")(squares)
    with pytest.raises(AssertionError, match=r"mine\.npz: no check reads b: x$"):
        vectors.assert_every_array_is_read()
    vectors.cases("b")(lambda case: case.expect(x=np.ones(2)))
    vectors.assert_every_array_is_read()


def test_vectors_of_a_module_are_a_test_of_its_checks_which_run_once(
    vectors: Vectors, request: pytest.FixtureRequest
) -> None:
    ran: list[str] = []

    def check(case: Case) -> None:
        ran.append(case.name)
        case.expect(x=vectors.arrays["b"]["x"])

    test = vectors.cases("b")(check)
    made = pytest_pycollect_makeitem(request.node.parent, "SOME", vectors)
    assert made is not None
    assert made.name == "test_every_array_of_some_is_read"
    with pytest.raises(AssertionError, match="no check reads a: grad, a: loss, a: x"):
        made.obj()
    test(vectors.select("b")[0])
    assert ran == ["b"]
    assert pytest_pycollect_makeitem(request.node.parent, "ARRAYS", ARRAYS) is None


def test_a_kind_without_cases_is_an_error(vectors: Vectors) -> None:
    with pytest.raises(LookupError, match=r"mine\.npz has no case 'c'"):
        vectors.select("c")
    with pytest.raises(LookupError, match="with an array 'theta'"):
        vectors.cases(having="theta")


def test_checks_get_copies_and_float64_as_asked(vectors: Vectors) -> None:
    case = vectors.select("a")[0]
    case.tensor("x").zero_()
    np.testing.assert_array_equal(case["x"], ARRAYS["a_x"])
    double = Vectors("mine", tolerance=0, case="[^_]+", double=True)
    seen: list[torch.dtype] = []

    def note(case: Case) -> None:
        seen.append(torch.ones(1).dtype)

    double.cases("a")(note)(double.select("a")[0])
    assert seen == [torch.float64]
    assert torch.ones(1).dtype == torch.float32


def test_one_batch_has_p_before_u() -> None:
    rows, labeled = joined(torch.ones(2), torch.zeros(1))
    assert rows.tolist() == [1, 1, 0]
    assert labeled.tolist() == [True, True, False]


def test_a_missing_file_is_an_error(vectors: Vectors) -> None:
    with pytest.raises(FileNotFoundError, match="PUBENCH_REFERENCE"):
        reference_arrays("other")
