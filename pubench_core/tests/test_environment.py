"""What a run says of its machine and of the memory that it took."""

from __future__ import annotations

import json
from importlib.metadata import version

import numpy as np
import torch

from pubench_core.engine.resources import PeakMemoryMeter
from pubench_core.execution.environment import capture

CPU = torch.device("cpu")


def test_the_environment_is_plain_data_with_versions_and_processor() -> None:
    found = json.loads(json.dumps(capture(CPU).model_dump(mode="json")))
    assert found["packages"]["torch"] == version("torch")
    assert found["packages"]["pubench-core"] == version("pubench-core")
    assert found["threads"] == torch.get_num_threads()
    assert found["cpu"]
    assert found["device"] == "cpu"
    assert "gpu" not in found  # left out where there is none
    assert capture(CPU).gpu is None


def test_peak_memory_counts_from_where_it_was_created() -> None:
    big = np.ones(60_000_000)  # 480 MB, released before measuring starts
    del big
    before = PeakMemoryMeter(CPU)
    low = before.read().bytes
    held = np.ones(25_000_000)  # 200 MB
    high = before.read().bytes
    assert held.nbytes * 0.9 < high - low < held.nbytes * 1.5
    del held
    if before.read().what == "peak resident during the run":
        assert PeakMemoryMeter(CPU).read().bytes < high - 100_000_000
