"""What a run changed of the state of the process is undone and named; what libraries set for themselves stays."""

from __future__ import annotations

import os

import pytest
import torch

from pubench_core.isolation import left_as_found, usual_settings


@pytest.mark.parametrize("name", ["HF_HUB_DISABLE_TELEMETRY", "TOKENIZERS_PARALLELISM", "KMP_DUPLICATE_LIB_OK"])
def test_what_libraries_set_for_themselves_says_nothing_of_a_method(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv(name, raising=False)
    with left_as_found() as changed:
        monkeypatch.setenv(name, "1")
    assert changed == []
    assert os.environ[name] == "1"


def test_what_others_set_of_torch_changes_no_number_of_a_run() -> None:
    """A plugin that is merely installed may register a hook on every module; a notebook may compute in float64."""
    net, x = torch.nn.Linear(3, 1), torch.ones(2, 3)
    plain = net(x)
    handle = torch.nn.modules.module.register_module_forward_hook(lambda module, args, output: -output)
    torch.set_default_dtype(torch.float64)
    try:
        with usual_settings():
            assert torch.equal(net(x), plain)
            assert torch.zeros(1).dtype == torch.float32
        assert torch.equal(net(x), -plain)
        assert torch.zeros(1).dtype == torch.float64
    finally:
        handle.remove()
        torch.set_default_dtype(torch.float32)


def test_a_hook_that_a_method_leaves_behind_is_removed_and_named() -> None:
    with left_as_found() as changed:
        torch.nn.modules.module.register_module_forward_pre_hook(lambda module, args: None)
    assert changed == ["torch's global hooks"]
    with left_as_found() as changed:
        pass
    assert changed == []
