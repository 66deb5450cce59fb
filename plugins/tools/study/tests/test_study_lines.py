"""What a study that writes to a file or a pipe says while it runs."""

from __future__ import annotations

import pytest
from pubench_study import lines as said
from pubench_study.plan import PlannedRun
from pubench_study.task import Ended, Progressed

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry


def planned(method: str) -> PlannedRun:
    plan = resolve([assigned(f"method.key={method}", "data.key=digits")], registry())
    return PlannedRun(run_id=plan.run_id, row=method, facts={}, resolved=plan.spec.model_dump(mode="json"))


def test_after_a_long_silence_runs_in_work_are_said(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    lines, nnpu, upu = said.Lines(2), planned("nnpu"), planned("upu")
    lines.started(nnpu)
    lines.started(upu)
    lines.progressed(nnpu, Progressed(nnpu.run_id, "train", 3, 90))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(said, "SILENCE", 0)
    lines.progressed(nnpu, Progressed(nnpu.run_id, "train", 4, 90))
    assert capsys.readouterr().err == f"in work: {nnpu}: train 4 of 90; {upu}: begun\n"
    lines.ended(nnpu, Ended(nnpu.run_id, "failed", "the disk is full", "error"), None)
    assert capsys.readouterr().err == f"[1/2] {nnpu}: error: the disk is full\n"
    monkeypatch.setattr(said, "SILENCE", 1000)
    lines.progressed(upu, Progressed(upu.run_id, "train", 1, 2))
    assert capsys.readouterr().err == ""
    monkeypatch.setattr(said, "SILENCE", 0)
    lines.progressed(upu, Progressed(upu.run_id, "train", 2, 2))
    assert capsys.readouterr().err == f"in work: {upu}: train 2 of 2\n"


def test_on_a_terminal_the_runs_in_work_are_redrawn() -> None:
    shown: list[str] = []
    lines, nnpu, upu = said.Lines(2, show=shown.append), planned("nnpu"), planned("upu")
    lines.started(nnpu)
    lines.started(upu)
    for run, epoch in ((upu, 1), (nnpu, 3)):
        lines.progressed(run, Progressed(run.run_id, "train", epoch, 90))
    assert shown[0] == f"{nnpu}: begun"
    assert shown[-1] == f"{nnpu}: train 3 of 90\n{upu}: train 1 of 90"
