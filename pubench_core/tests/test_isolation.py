"""What a run changed of the state of the process is undone and named; what libraries set for themselves stays."""

from __future__ import annotations

import os

import pytest
import torch

from pubench_core.isolation import left_as_found


def test_what_is_changed_is_put_back_and_named() -> None:
    before = torch.get_default_dtype()
    with left_as_found() as changed:
        torch.set_default_dtype(torch.float64)
        os.environ["PUBENCH_TEST_OF_ISOLATION"] = "1"
    assert changed == ["torch's default dtype", "environment variables (PUBENCH_TEST_OF_ISOLATION)"]
    assert torch.get_default_dtype() == before
    assert "PUBENCH_TEST_OF_ISOLATION" not in os.environ


@pytest.mark.parametrize("name", ["HF_HUB_DISABLE_TELEMETRY", "TOKENIZERS_PARALLELISM", "KMP_DUPLICATE_LIB_OK"])
def test_what_libraries_set_for_themselves_says_nothing_of_a_method(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    with left_as_found() as changed:
        monkeypatch.setenv(name, "1")
    assert changed == []
    assert os.environ[name] == "1"
