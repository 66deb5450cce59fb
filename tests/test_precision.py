"""Precision of a run: it decides the scores, it is recorded, and it ends with the run."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest
import torch
from pubench_models.saved_model import load_model
from torch import nn

from pubench_cli.yaml_layers import assigned
from pubench_core.backbone import Backbone, NetworkBuilder
from pubench_core.engine.execute import execute
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.results import Environment, RunResult


def plan_of(*sets: str) -> Plan:
    common = ("data.key=breast-cancer", "method.key=nnpu", "backbone.key=mlp", "epochs=2", "execution.threads=1")
    return resolve([assigned(*common, "execution.device=cpu", *sets)], registry())


def carried_out(folder: Path, *sets: str) -> RunResult:
    return execute(plan_of(f"execution.results={folder}", *sets))


def last_scores(done: RunResult) -> npt.NDArray[np.float64]:
    return read_scores(done.folder)[f"test_scores_{done.result.criteria['last'].snapshot}"]


class TestBfloat16:
    def test_scores_are_near_those_of_32_bits_and_not_the_same(self, tmp_path: Path) -> None:
        found = {name: carried_out(tmp_path, f"precision={name}") for name in ("ieee", "bf16")}
        ieee, half = (last_scores(found[name]) for name in ("ieee", "bf16"))
        assert found["ieee"].result.run_id != found["bf16"].result.run_id
        assert 0 < np.abs(ieee - half).max() < 0.2 * ieee.std() + 0.05
        assert np.corrcoef(ieee, half)[0, 1] > 0.99

    def test_a_saved_model_is_rebuilt_in_its_precision(self, tmp_path: Path) -> None:
        done = carried_out(tmp_path, "precision=bf16", "execution.save_model=true")
        model = load_model(done.folder / "model.safetensors", registry())
        network = next(value for value in vars(model.method).values() if isinstance(value, Backbone))
        assert network.in_bf16

    def test_the_head_and_what_a_network_returns_have_32_bits(self) -> None:
        seen: list[torch.dtype] = []
        layer = nn.Linear(3, 4)
        layer.register_forward_hook(lambda module, given, out: seen.append(out.dtype))
        network = NetworkBuilder("two", lambda shape, outputs: Backbone([layer], nn.ReLU(), 4, outputs), (3,))(1)
        network.head.register_forward_hook(lambda module, given, out: seen.append(out.dtype))
        x = torch.randn(5, 3)
        exact = network(x)
        network.in_bf16 = True
        half, hidden = network(x), network.until(x, 0)
        assert seen[:4] == [torch.float32, torch.float32, torch.bfloat16, torch.float32]
        assert (half.dtype, hidden.dtype, network.features(x).dtype) == (torch.float32,) * 3
        assert torch.allclose(network.onward(hidden, 0), half, atol=1e-2)
        assert torch.allclose(exact, half, atol=5e-2)


class TestRequests:
    def test_a_processor_computes_no_tf32(self, tmp_path: Path) -> None:
        with pytest.raises(RequestError, match=r"precision=tf32: cpu computes in ieee or bf16 only"):
            carried_out(tmp_path, "precision=tf32")


class TestProcess:
    def test_what_computed_is_recorded_and_settings_come_back(self, tmp_path: Path) -> None:
        torch.set_float32_matmul_precision("high")
        try:
            written = (carried_out(tmp_path).folder / "environment.json").read_text()
            assert torch.get_float32_matmul_precision() == "high"
        finally:
            torch.set_float32_matmul_precision("highest")
        environment = Environment.model_validate_json(written)
        assert (environment.products, environment.convolutions) == ("ieee", "ieee")
