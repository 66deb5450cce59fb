"""Study files, plans, records, tables and options from a grammar: each is used or refused in one line, in bounded time.

Five seconds in the test suite, always of the same examples; ``make fuzz`` goes on for an hour, or
PUBENCH_FUZZ_SECONDS seconds.
"""

from __future__ import annotations

import copy
import json
import math
import os
import shutil
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis import strategies as st
from hypothesis.strategies import SearchStrategy
from pubench_study.plan import read_plan, write_plan
from pubench_study.planning import freeze
from pubench_study.spec import StudySpec
from pubench_study.study_file import StudyFolder, read_study

import pubench
from pubench_cli.main import app
from pubench_cli.process import Over
from pubench_cli.yaml_layers import assigned
from pubench_core.data.dataset import DataRoot
from pubench_core.engine.resolve import resolve
from pubench_core.errors import PubenchError
from pubench_core.plugins.registry import registry
from pubench_core.specs import RunSpec

#: Seconds for each of the kinds below.
SECONDS = float(os.environ.get("PUBENCH_FUZZ_SECONDS", "5")) / 5
#: Seconds that one example may take: what takes longer is denial of service by a file.
LONGEST = 60.0

NUMBERS = st.one_of(
    st.integers(-(10**20), 10**20),
    st.floats(),
    st.sampled_from([0, 1, -1, 2, 0.5, 0.1, math.nan, math.inf, 10**400]),
)
WORDS = st.one_of(
    st.text(max_size=12),
    st.sampled_from(["", "a", "upu", "nnpu", "digits", "breast-cancer", "scar", "true", "all", "null", "~", "[", "{"]),
    st.sampled_from(["!!x", "*a", "-", "=", "\0", "case-control", "one-sample", "estimated:all", "scaled:2"]),
    st.sampled_from(["0.1", "1e400", "../x", "/dev/null"]),
)
SCALARS = st.one_of(st.none(), st.booleans(), NUMBERS, WORDS)


def values(keys: SearchStrategy[str]) -> SearchStrategy[Any]:
    """Anything that YAML or JSON can hold, with these keys."""
    return st.recursive(
        SCALARS,
        lambda inner: st.one_of(st.lists(inner, max_size=4), st.dictionaries(keys, inner, max_size=4)),
        max_leaves=12,
    )


NAMES = st.one_of(st.sampled_from([*StudySpec.model_fields, *RunSpec.model_fields, "key", "own", "path", "c"]), WORDS)
VALUES = values(NAMES)


def refuse_other_than_a_line(text: str) -> None:
    assert text.strip(), "an error without words"
    assert "\n" not in text, text


def fuzzed(strategy: SearchStrategy[Any], use: Callable[[Any], object]) -> None:
    """Uses examples until the time is over. What is raised must be an error of ours, of one line."""
    end, round_ = time.monotonic() + SECONDS, 0

    def attempt(example: Any) -> None:
        if time.monotonic() > end:
            return
        started = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                use(example)
        except (PubenchError, pubench.InvalidRequest) as error:
            refuse_other_than_a_line(str(error))
        assert time.process_time() - started < LONGEST  # of the processor: the machine may be busy

    while time.monotonic() < end:
        round_ += 1
        checks = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.large_base_example]
        options = settings(
            max_examples=100,
            deadline=None,
            database=None,
            suppress_health_check=checks,
            phases=[Phase.generate, Phase.shrink],
        )
        seed(round_ if "PUBENCH_FUZZ_SECONDS" not in os.environ else time.time_ns())(
            options(given(strategy)(attempt))
        )()


# -------------------------------------------------------------------- study files

STUDY = st.one_of(
    st.dictionaries(st.sampled_from([*StudySpec.model_fields]), VALUES, max_size=5).map(
        lambda found: {"name": "x", "methods": "upu", "data": "digits", "seeds": 1, **found}
    ),
    VALUES,
)
TEXT = st.one_of(STUDY.map(lambda found: yaml.safe_dump(found, allow_unicode=True)), st.text(max_size=200))


def test_a_study_file_is_planned_or_refused(tmp_path: Path) -> None:
    root = DataRoot(tmp_path, tmp_path / "cache")

    def use(text: str) -> None:
        path = tmp_path / "study.yaml"
        path.write_bytes(text.encode("utf-8", "surrogatepass"))
        file = read_study(path)
        if _runs(file.spec) <= 200:
            plan, _ = freeze(file, registry(), root)
            for run in plan.runs:
                str(run)

    fuzzed(TEXT, use)


def _runs(spec: StudySpec) -> float:
    """About how many combinations a study has."""
    lists = (spec.data, spec.mechanisms, spec.c, spec.priors, spec.seeds, spec.schemes, spec.positive_rates)
    methods = 40 if not isinstance(spec.methods, tuple) else len(spec.methods)
    draws = spec.draws.number if spec.draws is not None else 1
    return methods * draws * math.prod(len(one) for one in lists if one)


# -------------------------------------------------------------------- plans and records


@st.composite
def alterations(draw: Any, keys: SearchStrategy[str] = NAMES) -> list[tuple[list[int], Any]]:
    """Where something is put into nested values, as numbers that lead there, and what."""
    return draw(st.lists(st.tuples(st.lists(st.integers(0, 30), max_size=6), values(keys)), min_size=1, max_size=3))


def altered(content: Any, changes: list[tuple[list[int], Any]]) -> Any:
    """Nested values with others in some places."""
    content = copy.deepcopy(content)
    for way, value in changes:
        inner: Any = content
        for number in way:
            places = [*inner] if isinstance(inner, dict) else [*range(len(inner))] if isinstance(inner, list) else []
            if not places:
                break
            place = places[number % len(places)]
            if number == way[-1] or not isinstance(inner[place], (dict, list)):
                inner[place] = value
                break
            inner = inner[place]
    return content


def test_a_plan_is_read_or_refused(tmp_path: Path) -> None:
    (tmp_path / "x.yaml").write_text(yaml.safe_dump({"name": "x", "methods": "upu", "data": "digits", "seeds": 2}))
    file, folder = read_study(tmp_path / "x.yaml"), StudyFolder(tmp_path, "x")
    plan, _ = freeze(file, registry(), DataRoot(tmp_path, tmp_path / "cache"))
    write_plan(folder, file, plan)
    content = json.loads(folder.plan.read_text())

    def use(changes: list[tuple[list[int], Any]]) -> None:
        folder.plan.write_text(json.dumps(altered(content, changes)))
        read = read_plan(folder)
        assert read is not None
        for run in read.runs:
            _ = (str(run), run.spec)

    fuzzed(alterations(), use)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", pubench.PubenchWarning)
        results = tmp_path_factory.mktemp("fuzzed") / "results"
        metrics = {"selection.criteria": ["pa", "f1", "last"], "evaluation.metrics": ["accuracy", "pa"]}
        return pubench.run(
            "upu", "digits", config={"epochs": 1}, results=results, threads=1, tracking=False, settings=metrics
        ).folder


RECORD_FILES = st.sampled_from(["result.json", "environment.json", "spec.yaml", "scores.npz", "SHA256SUMS"])


def test_a_record_is_verified_or_a_line(tmp_path: Path, recorded: Path) -> None:
    def use(example: tuple[str, list[tuple[list[int], Any]], bytes, int]) -> None:
        name, changes, content, place = example
        shutil.rmtree(tmp_path / "records", ignore_errors=True)
        folder = Path(shutil.copytree(recorded, tmp_path / "records" / recorded.name))
        path = folder / name if name != "SHA256SUMS" else folder.parent / name
        if name.endswith((".json", ".yaml")):
            whole = yaml.safe_load(path.read_text())
            path.write_text(json.dumps(altered(whole, changes)))
        elif name == "scores.npz":
            whole = path.read_bytes()
            at = place % len(whole)
            path.write_bytes(whole[:at] + content + whole[at + len(content) :])
        else:
            path.write_bytes(content)
        found = pubench.verify(folder.parent, rerun=0)
        for problem in (*found.problems, *found.notes):
            assert "\n" not in str(problem), str(problem)

    fuzzed(st.tuples(RECORD_FILES, alterations(), st.binary(max_size=40), st.integers(0, 10**6)), use)


# -------------------------------------------------------------------- tables

CELLS = st.one_of(
    SCALARS.map(str), st.sampled_from(["", "NA", "nan", "1", "0", "1,5", "yes", '"', "2020-01-01", "1e999"])
)


def test_a_table_is_read_or_refused(tmp_path: Path) -> None:
    def use(example: tuple[list[str], list[list[str]], str, str, bytes]) -> None:
        head, rows, separator, ending, noise = example
        text = "\n".join(separator.join(line) for line in [head, *rows])
        path = tmp_path / f"table{ending}"
        path.write_bytes(text.encode("utf-8", "replace") + noise)
        table = pubench.data(path, labeled=head[0])
        str(table)

    head = st.lists(WORDS, min_size=1, max_size=4)
    rows = st.lists(st.lists(CELLS, max_size=5), max_size=30)
    separators, endings = st.sampled_from([",", ";", "\t", " "]), st.sampled_from([".csv", ".tsv", ".npz", ".parquet"])
    fuzzed(st.tuples(head, rows, separators, endings, st.binary(max_size=8)), use)


# -------------------------------------------------------------------- options

FIELDS = [
    *RunSpec.model_fields,
    *(f"data.{name}" for name in ("key", "positive", "negative", "scheme", "test_fraction", "total", "preprocess")),
    *(f"mechanism.{name}" for name in ("key", "c", "positive_rate", "variant")),
    *(f"method.{name}" for name in ("key", "preset", "calibrate", "config", "config.lr")),
    *("selection.criterion", "selection.criteria", "evaluation.metrics", "execution.threads", "lr", "epochs"),
]
SETS = st.tuples(st.one_of(st.sampled_from(FIELDS), WORDS), VALUES).map(
    lambda pair: f"{pair[0]}={yaml.safe_dump(pair[1], default_flow_style=True).strip() if pair[1] != '' else ''}"
)
COMMANDS = st.sampled_from([["list"], ["describe"], ["study", "status"], ["study", "export"], ["verify"], ["site"]])
OPTIONS = ["--format", "--results", "--out", "--seed", "--measure", "--rerun", "json", "csv", "nowhere", "-1"]
ARGUMENTS = st.lists(st.one_of(WORDS, st.sampled_from(OPTIONS)), max_size=4)


def test_options_are_taken_or_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)

    def use(example: tuple[list[str], list[str], list[str]]) -> None:
        sets, command, arguments = example
        try:
            resolve([assigned("method.key=upu", "data.key=digits", *sets)], registry())
        except PubenchError as error:
            refuse_other_than_a_line(str(error))
        words = [word.replace("/dev/null", "null") for word in arguments]
        try:
            app([*command, *words], standalone_mode=False)
        except (Over, SystemExit):
            pass
        except Exception as error:
            if type(error).__module__.partition(".")[0] not in ("typer", "click"):
                raise

    fuzzed(st.tuples(st.lists(SETS, max_size=3), COMMANDS, ARGUMENTS), use)


def test_altered_values_are_altered() -> None:
    assert altered({"a": [1, {"b": 2}]}, [([0, 1, 0], 3)]) != {"a": [1, {"b": 2}]}
    assert np.isfinite(SECONDS)
