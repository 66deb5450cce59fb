"""What was read of a table counts as code of a run: another way of reading reruns it if the numbers are others."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from pubench_cli.yaml_layers import assigned
from pubench_core.data.labeled import LabeledData
from pubench_core.engine.plan import Plan
from pubench_core.engine.resolve import resolve
from pubench_core.plugins.registry import registry


@pytest.fixture
def plan(tmp_path: Path) -> Plan:
    path = tmp_path / "my.csv"
    path.write_text("a,b,s\n" + "".join(f"{k % 7}.5,{'xyz'[k % 3]},{int(k < 9)}\n" for k in range(40)))
    layer = assigned(f"data.own.path={path}", "data.own.label_col=s", "method.key=nnpu", "prior=0.4")
    return resolve([layer], registry())


def read(plan: Plan) -> LabeledData:
    assert plan.data.table is not None
    return plan.data.table


def test_the_arrays_of_a_table_are_a_part_of_the_code(plan: Plan) -> None:
    assert plan.code.parts["table"] == read(plan).digest


@pytest.mark.parametrize("changed", ["x", "labeled", "columns", "truth"])
def test_what_decides_numbers_changes_the_digest(plan: Plan, changed: str) -> None:
    table = read(plan)
    others = {
        "x": replace(table, x=table.x + 1),
        "labeled": replace(table, labeled=~table.labeled),
        "columns": replace(table, columns=table.columns[:1]),
        "truth": replace(table, truth=table.labeled.astype(np.int8)),
    }
    assert others[changed].digest != table.digest


def test_notes_on_a_table_do_not_change_the_code(plan: Plan) -> None:
    assert replace(read(plan), notes=("worded otherwise",), left_out={"c": "a reason"}).digest == read(plan).digest
