"""What a run does not import: every module here takes longer than a short run does."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from made_studies import made_study, stored
from pubench_study.plan import write_plan
from pubench_study.planning import freeze
from pubench_study.study_file import StudyFolder, read_study

from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec

#: torch's compiler, which its optimizers import unasked, and libraries that other commands need.
HEAVY = ("torch._dynamo", "torch._inductor", "sympy", "scipy.stats", "scipy.special", "sklearn", "pandas", "mlflow")
#: Runs the console script's function once per line of arguments, and says after each which of these are imported.
WATCHED = """
import json, sys
from pubench_cli.main import main
heavy, runs = json.loads(sys.argv[1])
for words in runs:
    sys.argv = ["pubench", *words]
    try:
        main()
    except SystemExit as stop:
        if stop.code:
            raise
    print(json.dumps([name for name in heavy if name in sys.modules]), file=sys.stderr)
"""
SHORT = ("--preset", "quick", "--set", "epochs=1", "--no-tracking", "--threads", "1", "--format", "json")


def imported(folder: Path, *runs: tuple[str, ...], heavy: tuple[str, ...] = HEAVY) -> list[list[str]]:
    """What is imported after each of these commands, carried out in one process that starts cold."""
    command = [sys.executable, "-c", WATCHED, json.dumps([heavy, runs])]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stderr.splitlines() if line.startswith("[")]


def test_a_run_and_its_stored_result_import_no_compiler_and_no_statistics(tmp_path: Path) -> None:
    """Of optimizers: Adam, Adam with a schedule, SGD, AdamW; then the first run again, which is stored.

    The last one is of the other data set that is embedded: neither needs scikit-learn to be imported.
    """
    kinds = (("nnpu",), ("pulda",), ("nnpu", "--set", "optimizer=sgd"), ("nnpu", "--set", "optimizer=adamw"), ("nnpu",))
    runs = [("run", "--data", "digits", *SHORT, "--method", *words) for words in kinds]
    runs.append(("run", "--data", "breast-cancer", *SHORT, "--method", "upu"))
    assert imported(tmp_path, *runs) == [[]] * len(runs)


def test_reports_sites_and_states_of_records_import_no_torch(tmp_path: Path) -> None:
    stored(tmp_path / "results", made_study(["nnpu", "vpu"], ["imdb"], [2, 25]))
    (tmp_path / "x.yaml").write_text("name: x\nmethods: [nnpu]\ndata: [digits]\nseeds: 2\n")
    file, folder = read_study(tmp_path / "x.yaml"), StudyFolder(tmp_path / "planned", "x")
    plan, cache = freeze(file, registry(), data_root(ExecutionSpec()))
    write_plan(folder, file, plan)
    cache.write(folder)
    status = ("study", "status", "--results", "planned")
    runs = (("study", "report", "results"), ("site", "results"), status)
    assert imported(tmp_path, *runs, heavy=("torch", "mlflow")) == [[]] * len(runs)


def test_listing_help_and_a_new_method_import_nothing_heavy(tmp_path: Path) -> None:
    """Listings no pydantic; only the help of ``run``, made from its fields, imports the models of a run."""
    unused = {"torch", "torchvision", "sklearn", "scipy", "numpy", "pandas", "mlflow", "openml", "matplotlib", "numba"}
    unused |= {"optuna", "sentence_transformers", "pubench_core.results", "pubench_core.specs"}
    lists, others = (("list", "methods"), ("list", "datasets")), (("--help",), ("help", "all"), ("new-method", "mine"))
    found = imported(tmp_path, *lists, *others, ("run", "--help"), heavy=(*unused, "pydantic"))
    assert found[:2] == [[], []]
    assert {name for names in found[2:5] for name in names} <= {"pydantic"}
    assert {*found[5]} <= {"pydantic", "pubench_core.results", "pubench_core.specs"}


def test_records_are_read_and_compared_in_python_without_what_is_heavy(tmp_path: Path) -> None:
    stored(tmp_path, made_study(["nnpu", "vpu"], ["imdb"], [2, 25]))
    code = f"import sys, pubench; found = pubench.load_results({str(tmp_path)!r}); print(found.table('accuracy'))\n"
    code += "assert not {'torch', 'pandas', 'scipy'} & {*sys.modules}\n"
    code += "found.to_frame(); found.significance('accuracy'); assert not {'torch', 'mlflow'} & {*sys.modules}"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_says_what_takes_long_before_it_begins() -> None:
    """As a fresh clone has it: nothing is there yet, and nothing is carried out here."""
    done = subprocess.run(
        ["make", "-n", "-B", "demo"], cwd=Path(__file__).parents[1], capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    for begins, what in (("installing", " sync "), ("running nnPU", "/pubench run ")):
        said = next(k for k, line in enumerate(lines) if line.startswith(f'echo "{begins}'))
        assert what in lines[said + 1]


@pytest.mark.skipif(shutil.which("make") is None, reason="there is no make here")
def test_make_keeps_byte_code_even_if_the_environment_forbids_it() -> None:
    probe = ["make", "--no-print-directory", "--eval", "probe: ; @echo [$$PYTHONDONTWRITEBYTECODE]", "probe"]
    env = {**os.environ, "PYTHONDONTWRITEBYTECODE": "1"}
    done = subprocess.run(probe, cwd=Path(__file__).parents[1], env=env, capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"
