"""``pubench study`` as a user meets it: what it prints, and what it refuses before anything runs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pandas
import pytest
import yaml
from printed import Run
from pubench_study.durations import seconds_of
from refusals import error_line

from pubench_cli.yaml_layers import assigned
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry

EXAMPLES = Path(__file__).parents[4] / "examples"
STUDY: dict[str, Any] = {
    "name": "short",
    "methods": [{"key": "upu", "config": {"epochs": 1}}, {"key": "nnpu", "config": {"epochs": 1}}],
    "data": ["breast-cancer"],
    "seeds": 2,
}


def write(folder: Path, **changes: Any) -> Path:
    path = folder / "short.yaml"
    path.write_text(yaml.safe_dump({**STUDY, **changes}))
    return path


@pytest.fixture(scope="module")
def done(pubench_in: Callable[[Path], Run], tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Run]:
    """A folder with a study that was planned, half of it run, then all of it."""
    folder = tmp_path_factory.mktemp("study")
    write(folder)
    run = pubench_in(folder)
    planned = run("study", "plan", "short.yaml")
    assert planned.returncode == 0, planned.stderr
    assert "short: 4 runs" in planned.stdout
    assert "2 methods (upu, nnpu); data set breast-cancer; mechanism scar; c 0.1" in planned.stdout
    assert "0 done, 4 to run" in planned.stdout
    half = run("study", "run", "short.yaml", "--only", "method=upu")
    assert half.returncode == 0, half.stderr
    assert "short: 2 of 2 runs done (2 trained now), 0 failed" in half.stdout
    assert "[2/2] upu on breast-cancer, c 0.1, seed 25: accuracy" in half.stderr
    status = run("study", "status")
    assert "short: 2 done, 2 to run of 4 runs" in status.stdout
    rest = run("study", "plan", "short.yaml")
    assert "for 2 runs, one after the other; a guess for 2 of them, from other methods or data" in rest.stdout
    whole = run("study", "run", "short.yaml", "-j", "2")
    assert whole.returncode == 0, whole.stderr
    assert "short: 4 of 4 runs done (2 trained now), 0 failed" in whole.stdout
    return folder, run


def test_a_finished_study_trains_nothing_and_says_so(done: tuple[Path, Run]) -> None:
    _, run = done
    again = run("study", "run", "short.yaml", "--format", "json")
    said = json.loads(again.stdout)
    assert (again.returncode, said["done"], said["trained"], said["failed"]) == (0, 4, 0, 0)
    assert "short: 4 runs, 4 done, 0 to run" in again.stderr


def test_status_is_a_table_of_methods_by_data(done: tuple[Path, Run]) -> None:
    folder, run = done
    lines = run("study", "status", "short").stdout.splitlines()
    assert [line.split() for line in lines[2:4]] == [["upu", "2", "/", "2"], ["nnpu", "2", "/", "2"]]
    assert lines[-1] == "frame: results/results.parquet"
    assert pandas.read_parquet(folder / "results" / "results.parquet").run_id.nunique() == 4
    as_json = json.loads(run("study", "status", "results", "--format", "json").stdout)
    assert {one["status"] for one in as_json["runs"]} == {"done"}
    assert not any("failure" in one for one in as_json["runs"])


def test_what_a_run_of_a_study_records_of_its_neighbors(done: tuple[Path, Run]) -> None:
    folder, _ = done
    frame = pandas.read_parquet(folder / "results" / "results.parquet")
    at_once = frame.drop_duplicates("run_id").groupby("method").at_once.apply(list).to_dict()
    assert at_once["upu"] == [1, 1]
    assert sorted(at_once["nnpu"]) in ([1, 2], [2, 2])  # the last one may have been given out alone


def test_a_changed_file_is_refused_until_it_is_planned_again(done: tuple[Path, Run], tmp_path: Path) -> None:
    folder, run = done
    changed = write(tmp_path, seeds=3)
    refused = run("study", "run", changed, "--results", folder / "results")
    assert "changed since its plan was frozen" in error_line(refused)
    again = run("study", "plan", changed, "--results", folder / "results", "--replan")
    assert "4 done, 2 to run" in again.stdout
    assert "a guess" not in again.stdout
    assert run("study", "plan", "short.yaml", "--replan").returncode == 0


def test_protocols_are_listed(pubench_within: Run) -> None:
    found = json.loads(pubench_within("list", "protocols", "--format", "json").stdout)
    named = {"quick", "conventional", "label-ratio", "selection-bias", "prior-misspecification"}
    assert named <= {one["key"] for one in found}
    assert all(one["name"] and Path(one["file"]).is_file() for one in found)


def test_a_plan_says_which_methods_have_which_preset(pubench_within: Run, tmp_path: Path) -> None:
    for presets, lines in {
        (): [],
        ("pubench",): ["preset pubench"],
        ("wang", "pubench"): ["preset wang: upu", "preset pubench: puet"],
    }.items():
        write(tmp_path, presets=list(presets), methods=["upu", "puet"])
        said = pubench_within("study", "plan", "short.yaml", "--replan").stdout.splitlines()
        assert [line for line in said if "preset" in line] == lines


def test_a_plan_warns_of_choices_by_few_held_out_labels(pubench_within: Run, tmp_path: Path) -> None:
    def few_held_out(**selection: str) -> int:
        settings = {"method": {"config": {"epochs": 2}}, "selection": selection}
        write(tmp_path, methods=["upu", "nnpu"], c=[0.1, 0.9], seeds=[2], settings=settings)
        plan = pubench_within("study", "plan", "short.yaml", "--replan", "--format", "json")
        return int(json.loads(plan.stdout)["few_held_out"])

    assert few_held_out() == 2
    said = " ".join(pubench_within("study", "plan", "short.yaml").stdout.split())
    request = assigned("method.key=upu", "data.key=breast-cancer", "mechanism.c=0.1")
    held_out = build_problem(resolve([request], registry())).split.validation.n_labeled
    assert f"2 of 4 runs choose the epoch by {held_out} held-out labeled positives: with fewer than 20" in said
    assert [few_held_out(criterion=criterion) for criterion in ("last", "f1")] == [0, 0]


def test_a_method_is_chosen_by_the_name_of_its_row_or_by_its_key(pubench_within: Run, tmp_path: Path) -> None:
    """A key that is a row's name too is that row."""
    rows = [
        {"key": "upu", "name": "slow"},
        {"key": "nnpu"},
        {"key": "nnpu", "name": "nnpu short", "config": {"epochs": 1}},
    ]
    write(tmp_path, methods=rows, seeds=[2])
    assert pubench_within("study", "plan", "short.yaml").returncode == 0
    for chosen, runs in {"slow": 1, "upu": 1, "nnpu": 1, "nnpu short": 1, "upu,nnpu short": 2}.items():
        said = pubench_within("study", "status", "short.yaml", "--only", f"method={chosen}")
        assert f"{runs} to run" in said.stdout, said
    refused = pubench_within("study", "status", "short.yaml", "--only", "method=vpu")
    assert "no run has method vpu; there are slow, nnpu, nnpu short" in refused.stderr


def test_numbers_are_chosen_however_they_are_written(pubench_within: Run, tmp_path: Path) -> None:
    write(tmp_path, c=[0.1, 0.3], methods=["upu"], seeds=[2, 25])
    assert pubench_within("study", "plan", "short.yaml").returncode == 0
    for chosen in ("c=.1", "c=0.10", "c=1e-1", "seed=2.0"):
        assert "2 to run" in pubench_within("study", "status", "--only", chosen).stdout, chosen
    for absent in (".2", "x", "nan"):
        refused = pubench_within("study", "status", "--only", f"c={absent}")
        assert f"no run has c {absent}; there are 0.1, 0.3" in refused.stderr


def test_a_table_that_is_not_here_is_said_by_plan_and_run_alike(
    pubench_in: Callable[[Path], Run], tmp_path: Path
) -> None:
    """From another folder a relative path leads nowhere; a changed file is not the one that was planned."""
    table, test, elsewhere = tmp_path / "my.csv", tmp_path / "test.csv", tmp_path / "elsewhere"
    elsewhere.mkdir()
    test.write_text("\n".join(["a,b,y", *(f"{k},{k % 7},{k % 2}" for k in range(9))]))
    table.write_text("\n".join(["a,b,s", *(f"{k},{k % 7},{int(k % 5 == 0)}" for k in range(60))]))
    own = {"path": "my.csv", "label_col": "s", "test": "test.csv", "truth_col": "y"}
    write(tmp_path, data=[{"own": own}], priors=[0.3], seeds=[2])
    here, there = pubench_in(tmp_path), pubench_in(elsewhere)
    study = ("../short.yaml", "--results", "../results")
    assert here("study", "plan", "short.yaml").returncode == 0
    missing = f"cannot read my.csv: No such file or directory ({elsewhere / 'my.csv'}; a relative path counts from the"
    assert f"error: my.csv is not here. {missing} current folder)" in error_line(there("study", "run", *study))
    assert f"not here: {missing}" in there("study", "plan", *study).stdout
    assert "0 done, 2 to run" in there("study", "status", *study).stdout
    for changed in (test, table):
        changed.write_text(changed.read_text() + "\n1,1,1")
        assert f"{changed.name} changed since the plan was frozen" in error_line(here("study", "run", "short.yaml"))
    assert "failed" not in here("study", "status", "short").stdout


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["run", "shorter.yaml"], "cannot read shorter.yaml"),
        (["run", "quik"], "did you mean 'quick'"),
        (["run", "short.yaml", "--only", "methods=upu"], "expected NAME=VALUES, with a name of method, data"),
        (["run", "short.yaml", "--only", "method=vpu"], "no run has method vpu; there are upu, nnpu"),
        (["run", "short.yaml", "--only", "draw=1"], "no run has draw 1; the plan sets no draw"),
        (
            ["run", "short.yaml", "--only", "seed=2", "--only", "seed=25"],
            "--only seed=2 --only seed=25: no run of 4 fits all of them; NAME=A,B is for either value",
        ),
        (
            ["run", "short.yaml", "--max-time", "soon"],
            "--max-time must be a time such as 90s, 10m or 1h30m",
        ),
        (["run", "short.yaml", "--gpus", "a"], "--gpus must be numbers with commas between (0,1), got a"),
        (["run", "short.yaml", "--gpus", "0", "-j", "2"], "--jobs and --gpus exclude each other"),
        (["run", "short.yaml", "--gpus", "999"], "--gpus 999: "),
        (["run", "short.yaml", "--device", "cuda:999"], "--device cuda:999: "),
        (["run", "short.yaml", "--device", "x"], "--device must be auto, cpu, cuda or cuda:NUMBER, got 'x'"),
        (["run", "short.yaml", "--results", "short.yaml"], "cannot write records in short.yaml"),
        (["run", "a" * 5000], "is neither a study file (.yaml) nor a shipped protocol"),
        (["status"], "no study"),
        (["status", "nope"], "no study 'nope'"),
        (["status", "."], "holds no study"),
    ],
)
def test_a_wrong_request_is_one_line_and_nothing_runs(
    pubench_within: Run, tmp_path: Path, words: list[str], said: str
) -> None:
    write(tmp_path)
    assert said in error_line(pubench_within("study", *words))
    assert not list(tmp_path.glob("results/*/result.json"))


@pytest.mark.parametrize(
    ("address", "said"),
    [
        ("127.0.0.1:9", "error: no Ray cluster answers at 127.0.0.1:9: "),
        ("nonsense", "error: Ray address must be HOST:PORT, ray://HOST:PORT or auto, got nonsense"),
    ],
)
def test_a_ray_address_that_does_not_answer_is_one_line(
    pubench_within: Run, tmp_path: Path, address: str, said: str
) -> None:
    pytest.importorskip("pubench_ray", reason="pubench-ray is not installed")
    write(tmp_path)
    refused = pubench_within("study", "run", "short.yaml", "--executor", "ray", "--address", address)
    _, line = refused.stderr.splitlines()  # below what the study is
    assert (refused.returncode, line[: len(said)]) == (2, said)


def test_an_executor_of_another_package_carries_a_study_out(
    pubench_in: Callable[[Path], Run], tmp_path: Path, make_distribution: Callable[..., Path]
) -> None:
    example = (EXAMPLES / "executor" / "pubench_in_turn.py").read_text()
    make_distribution(tmp_path / "site", "pubench-in-turn", {"pubench_in_turn": example})
    write(tmp_path, seeds=1)
    run, env = pubench_in(tmp_path), {"PYTHONPATH": str(tmp_path / "site")}
    done = run("study", "run", "short.yaml", "--executor", "in-turn", "--lock", "soft", env=env)
    assert (done.returncode, "short: 2 of 2 runs done (2 trained now)" in done.stdout) == (0, True), done.stderr
    assert not list((tmp_path / "results").rglob("logs"))  # no worker was started
    assert "claims      leases, which need no locks" in run("doctor", "--results", "results").stdout
    absent = run("study", "run", "short.yaml", "--executor", "in-trun", env=env)
    assert "unknown executor 'in-trun'; did you mean 'in-turn'?" in error_line(absent)
    told = run("study", "run", "short.yaml", "--executor", "in-turn", "--address", "there:1", env=env)
    assert "--address there:1: the executor in-turn takes no address; leave it out" in error_line(told)


def test_failures_are_told_in_groups_and_tried_again_by_cause(pubench: Run, tmp_path: Path) -> None:
    write(tmp_path, c=[0.1, 0.001], seeds=3, methods=[{"key": "upu", "config": {"epochs": 1}}])
    assert pubench("study", "run", "short.yaml").returncode == 1
    told = pubench("study", "status").stdout
    assert "and 2 more" in told
    assert told.count("c = 0.001 labels nobody") == 1
    again = pubench("study", "run", "short.yaml", "--only", "failed=refused")
    assert "short: 3 runs, 0 done, 3 to run" in again.stderr
    none = pubench("study", "run", "short.yaml", "--only", "failed=timeout")
    assert "short: 0 runs, 0 done, 0 to run" in none.stderr
    assert "unknown cause 'tmeout'" in error_line(pubench("study", "run", "short.yaml", "--only", "failed=tmeout"))

    shown = pubench("remove", "--failed")
    assert "6 folders, " in shown.stdout
    assert len(list(tmp_path.glob("results/failed/*"))) == 6
    assert "6 folders, " in pubench("remove", "--failed", "--yes").stdout
    assert not list(tmp_path.glob("results/failed/*"))
    assert "nothing is named" in error_line(pubench("remove"))
    assert "no run of results begins with zz" in error_line(pubench("remove", "zz"))
    one = next(tmp_path.glob("results/*/result.json")).parent
    assert "1 folder, " in pubench("remove", one.name[:8], "--yes").stdout
    assert not one.exists()
    status = pubench("study", "status").stdout
    assert "short: 2 done, 4 to run of 6 runs" in status
    assert "MB in results" in status


def test_a_setting_holds_for_the_methods_that_have_it(pubench_within: Run, tmp_path: Path) -> None:
    methods = [{"key": "upu"}, {"key": "nnpu", "config": {"epochs": 2}}, {"key": "elkan-noto"}]
    write(tmp_path, methods=methods, seeds=1, config_where_known={"epochs": 3})
    assert pubench_within("study", "plan", "short.yaml").returncode == 0
    runs = json.loads((tmp_path / "results/studies/short/plan.json").read_text())["runs"]
    assert [run["resolved"]["method"]["config"].get("epochs") for run in runs] == [3, 2, None]
    write(tmp_path, methods=methods, seeds=1, config_where_known={"epoch": 3})
    refused = pubench_within("study", "plan", "short.yaml", "--replan")
    assert "config_where_known: no method of the study has a field 'epoch'" in error_line(refused)


def test_missing_data_name_what_can_be_run_without_them(pubench_within: Run, tmp_path: Path) -> None:
    write(tmp_path, data=["breast-cancer", "mnist"], seeds=1)
    refused = error_line(pubench_within("study", "run", "short.yaml"))
    assert "mnist is not here; --only data=breast-cancer runs the others" in refused


def test_a_terminal_has_a_live_view(pubench_on_terminal: Callable[..., tuple[int, str]], tmp_path: Path) -> None:
    write(tmp_path, seeds=1)
    code, written = pubench_on_terminal(tmp_path, 60, "study", "run", "short.yaml", "-j", "2")
    assert code == 0
    assert "begun" in written
    assert "2 of 2 runs done (2 trained now)" in " ".join(written.split())


@pytest.mark.parametrize(("text", "seconds"), [("90s", 90), ("10m", 600), ("1.5h", 5400), ("1h30m", 5400), (7, 7)])
def test_times(text: str | float, seconds: float) -> None:
    assert seconds_of(text, "time") == seconds


@pytest.mark.parametrize("text", ["0s", "m", "ten", -1, True, "10 d", float("nan")])
def test_other_times_are_refused(text: str | float) -> None:
    with pytest.raises(RequestError, match="time must be a time such as 90s, 10m or 1h30m, got"):
        seconds_of(text, "time", least=1)
