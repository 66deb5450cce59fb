"""What a run says of its machine and of the memory that it took."""

from __future__ import annotations

import json
import mmap
from importlib.metadata import distributions, entry_points, version

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from pubench_core.engine.machine import KERNEL_VARIABLES, NOTED, PeakMemoryMeter, capture

CPU = torch.device("cpu")


def test_the_environment_is_plain_data_with_versions_and_processor() -> None:
    found = json.loads(json.dumps(capture(CPU).model_dump(mode="json")))
    assert found["packages"]["torch"] == version("torch")
    assert found["packages"]["pubench-core"] == version("pubench-core")
    assert found["threads"] == torch.get_num_threads()
    assert found["cpu"]
    assert found["device"] == "cpu"
    assert "gpu" not in found  # left out if there is none
    assert capture(CPU).gpu is None


def test_variables_that_choose_kernels_are_kept_and_no_others(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in KERNEL_VARIABLES:
        monkeypatch.delenv(name, raising=False)
    assert "variables" not in capture(CPU).model_dump()
    monkeypatch.setenv("MKL_CBWR", "COMPATIBLE")
    monkeypatch.setenv("MY_TOKEN", "secret")
    assert capture(CPU).variables == {"MKL_CBWR": "COMPATIBLE"}


def test_the_packages_are_those_that_can_change_numbers_and_every_plugin() -> None:
    installed = {d.name: d.version for d in distributions()}
    ours = {name for name in installed if name.startswith("pubench")}
    groups = ("pubench", "pubench.tools")
    plugins = {point.dist.name for group in groups for point in entry_points(group=group) if point.dist is not None}
    found = capture(CPU).packages
    assert ours | plugins <= set(found) <= ours | plugins | set(NOTED)
    assert "numpy" in found
    assert found == {name: installed[name] for name in found}
    assert list(found) == sorted(found)


def test_peak_memory_counts_from_where_it_was_created() -> None:
    earlier = _pages(480_000_000)  # released before measuring starts
    del earlier
    before = PeakMemoryMeter(CPU)
    low = before.read()
    held = _pages(200_000_000)
    high = before.read()
    if high.what == "peak resident since the process started":
        pytest.skip("the system does not let a process reset its own peak")
    assert held.nbytes * 0.9 < high.bytes - low.bytes < held.nbytes * 1.5
    del held
    assert PeakMemoryMeter(CPU).read().bytes < high.bytes - 100_000_000


def _pages(size: int) -> NDArray[np.uint8]:
    """An array in pages of its own: an allocator that keeps freed memory, as a run tells it to, has no part in it."""
    array = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    array[:] = 1
    return array
