"""The page of formats says what the files of a record are, and the schema of ``result.json`` is that of its models."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
from repository import ROOT, script

from pubench_core.records import files
from pubench_core.results import RECORD_VERSION

PAGE = (ROOT / "docs" / "pages" / "record-formats.md").read_text(encoding="utf-8")
SCHEMA = ROOT / "docs" / "pages" / "result.schema.json"
QUICK = ("--method", "nnpu", "--threads", 1, "--no-tracking", "--set", "epochs=2")


def section(title: str) -> str:
    return PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]


@pytest.fixture(scope="module")
def records(pubench_in: Callable[[Path], Any], tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """A run on a data set and one on a user table."""
    home = tmp_path_factory.mktemp("formats")
    rng = np.random.default_rng(0)
    positive = rng.random(200) < 0.4
    table = pd.DataFrame(rng.normal(size=(200, 2)) + positive[:, None], columns=["a", "b"])
    table["score"] = [f"p{k}" for k in range(200)]
    table["s"] = (positive & (rng.random(200) < 0.4)).astype(int)
    table.to_csv(home / "my.csv", index=False)
    found = []
    for data in (
        ("--data", "digits", "--set", "evaluation.trace=[test]"),
        ("--data", "my.csv", "--label-col", "s", "--prior", 0.4, "--save-model"),
    ):
        done = pubench_in(home)("run", *QUICK, *data, "--format", "json")
        assert done.returncode == 0, done.stderr
        found.append(home / json.loads(done.stdout)["record"])
    return found


def test_the_schema_is_that_of_the_models() -> None:
    schema = script("docs/record_pages.py").schema()
    assert SCHEMA.read_text(encoding="utf-8") == schema, "python docs/record_pages.py writes it again"
    assert json.loads(schema)["properties"]["record_version"]["const"] == RECORD_VERSION


def test_results_fit_the_schema(records: list[Path]) -> None:
    jsonschema = pytest.importorskip("jsonschema")
    schema = json.loads(SCHEMA.read_text(encoding="utf-8"))
    for folder in records:
        plain = json.loads((folder / files.RESULT).read_text())
        jsonschema.validate(plain, schema)
        with pytest.raises(jsonschema.ValidationError):
            jsonschema.validate(plain | {"seconds": 3}, schema)


def test_every_file_is_on_the_page(records: list[Path]) -> None:
    written = {path.name for folder in records for path in folder.iterdir()}
    results = (files.RESULT, files.SPEC, files.ENVIRONMENT, files.TRACE, files.SCORES)
    assert written == {*results, files.PREDICTIONS, files.MODEL}
    for name in (*written, files.SAMPLES, files.FAILURE):
        assert f"`{name}`" in PAGE or section(name), name


def test_arrays_have_names_types_and_shapes_of_the_table(records: list[Path]) -> None:
    rows = re.findall(r"^\| `(\w+)` \| (\w+) \| \((\w+),\) \|", section("scores.npz"), re.MULTILINE)
    known = {re.sub("OUTPUT|STATE", ".+", name): (kind, length) for name, kind, length in rows}
    assert len(known) == 11
    seen = set()
    for folder in records:
        sizes: dict[str, int] = {}
        for name, array in files.read_scores(folder).items():
            (pattern,) = [pattern for pattern in known if re.fullmatch(pattern, name)]
            kind, length = known[pattern]
            assert (str(array.dtype), array.shape) == (kind, (sizes.setdefault(length, len(array)),)), name
            seen.add(pattern)
    assert set(known) - seen == {"test_auxiliary_.+_.+", "validation_fold"}  # nnPU has no further outputs; no folds


def test_columns_of_trace_and_predictions_are_those_of_the_page(records: list[Path]) -> None:
    of_data, own = records
    heads = [next(csv.reader((folder / files.TRACE).read_text().splitlines())) for folder in records]
    fixed = ["stage", "epoch", "in_stage", "seconds", "evaluation_seconds", "loss"]
    assert [head[: len(fixed)] for head in heads] == [fixed, fixed]
    assert {"test-accuracy", "criterion-pa", "criterion-f1"} <= set(heads[0])
    assert all("positive_decisions" in head for head in heads)
    for name in (*fixed, "positive_decisions", "PART-METRIC", "criterion-NAME"):
        assert f"`{name}`" in section("trace.csv"), name
    head = next(csv.reader((own / files.PREDICTIONS).read_text().splitlines()))
    assert head == ["row", "score (of the table)", "score", "rank", "decision", "decision_at_prior"]
    for name in head:
        assert f"`{name}`" in section("predictions.csv"), name
    assert not (of_data / files.PREDICTIONS).exists()
