"""Whatever happens to a study, the same command again completes exactly the runs that are missing, each once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
import yaml
from printed import Run

DOUBLES = Path(__file__).parent / "doubles"
#: Imported where the plugins are found, in the command and in its workers.
ELSEWHERE = "from pubench_core.records import store\nstore._HOST = 'elsewhere'\n"


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Callable[..., Path]) -> str:
    source = (DOUBLES / "pubench_worst.py").read_text()
    return str(make_distribution(tmp_path_factory.mktemp("site"), "worst", {"pubench_worst": source}))


class Place:
    """A folder with a study of a method that does as instructed; what it trained is counted in a file."""

    def __init__(self, folder: Path, site: str, pubench: Run, started: Callable[..., Any]) -> None:
        self.folder, self.results, self._mark = folder, folder / "results", folder / "trained"
        self.site, self._pubench = {"PYTHONPATH": site, "OMP_NUM_THREADS": "1"}, pubench
        self._started = started

    def write(self, seeds: int = 4, seconds: float = 0.0, does: str = "nothing") -> None:
        config = {"seconds": seconds, "mark": str(self._mark), "does": does}
        methods = [{"key": "worst", "config": config}]
        study = {"name": "faults", "methods": methods, "data": ["digits"], "seeds": list(range(1, seeds + 1))}
        (self.folder / "faults.yaml").write_text(yaml.safe_dump(study))

    def words(self, *more: str) -> list[str]:
        return ["study", "run", "faults.yaml", "--results", str(self.results), "--format", "json", *more]

    def plan(self) -> None:
        assert self.say("study", "plan", "faults.yaml", "--results", str(self.results)).returncode == 0

    def say(self, *words: str) -> subprocess.CompletedProcess[str]:
        return self._pubench(*words, env=self.site)

    def start(self, *more: str, **env: str) -> Any:
        return self._started(self.folder, *self.words(*more), env=self.site | env)

    def run(self, *more: str) -> tuple[int, dict[str, Any], str]:
        done = self.say(*self.words(*more))
        return done.returncode, json.loads(done.stdout), done.stderr

    def trainings(self) -> list[int]:
        """Process numbers of the workers, one per training that was started."""
        return [int(line) for line in self._mark.read_text().split()] if self._mark.exists() else []

    def records(self) -> list[str]:
        return sorted(path.parent.name for path in self.results.glob("*/result.json"))

    def wait_for(self, trainings: int) -> None:
        deadline = time.monotonic() + 120
        while len(self.trainings()) < trainings:
            assert time.monotonic() < deadline, "no training was started"
            time.sleep(0.02)


def status(place: Place) -> str:
    return place.say("study", "status", "--results", str(place.results)).stdout


@pytest.fixture
def place(tmp_path: Path, site: str, pubench: Run, pubench_started: Callable[..., Any]) -> Place:
    return Place(tmp_path, site, pubench, pubench_started)


def kill(process: int) -> None:
    with suppress(ProcessLookupError):
        os.kill(process, signal.SIGKILL)


def alive(process: int) -> bool:
    try:
        return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_killed_worker_costs_its_run_which_the_next_command_does(place: Place) -> None:
    place.write(seeds=4, seconds=0.5)
    started = place.start("-j", "2")
    place.wait_for(2)
    kill(place.trainings()[0])
    out, err = started.communicate()

    first = json.loads(out)
    assert started.returncode == 1
    assert (first["done"], first["failed"]) == (3, 1)
    assert "worker-died: its worker was killed (SIGKILL" in err
    failure = json.loads(next(place.results.glob("failed/*/failure.json")).read_text())
    assert failure["cause"] == "worker-died"

    code, again, _ = place.run("-j", "2")
    assert (code, again["trained"], again["done"]) == (0, 1, 4)
    assert len(place.records()) == 4
    assert len(place.trainings()) == 5  # the killed one was started in vain
    assert not (place.results / "superseded").exists()


def test_a_run_that_kills_its_worker_each_time_is_given_up(place: Place) -> None:
    place.write(seeds=1, does="killed")
    codes = [place.run()[0] for _ in range(2)]
    code, last, err = place.run()

    assert codes == [1, 1]
    assert (code, last["failed"], last["trained"]) == (1, 1, 0)
    assert len(place.trainings()) == 2
    assert "study status faults" in err


def causes(place: Place) -> list[str]:
    return [json.loads(path.read_text())["cause"] for path in sorted(place.results.glob("failed/*/failure.json"))]


def test_a_run_that_takes_longer_than_its_timeout_fails_and_the_study_goes_on(place: Place) -> None:
    place.write(seeds=2, seconds=60.0)
    code, first, err = place.run("--timeout", "1s")
    assert (code, first["done"], first["failed"], causes(place)) == (1, 0, 2, ["timeout", "timeout"])
    assert "its time of 1 s is over (--timeout)" in err
    assert len(set(place.trainings())) == 1  # the worker goes on with the next run


def test_a_worker_that_does_not_answer_is_killed_at_the_timeout(place: Place) -> None:
    place.write(seeds=2, seconds=0.5)
    started = place.start("--timeout", "2s")
    place.wait_for(1)
    os.kill(place.trainings()[0], signal.SIGSTOP)
    out, err = started.communicate()
    assert (json.loads(out)["done"], json.loads(out)["failed"], causes(place)) == (1, 1, ["timeout"])
    assert "it did not end at its timeout of 2 s, and its process was killed" in err


def test_a_killed_parent_takes_its_workers_along_and_loses_nothing(place: Place) -> None:
    place.write(seeds=5, seconds=0.7)
    started = place.start("-j", "2")
    place.wait_for(3)
    started.kill()
    started.communicate()
    workers = set(place.trainings())
    deadline = time.monotonic() + 30
    while any(map(alive, workers)):
        assert time.monotonic() < deadline, "workers outlive the command"
        time.sleep(0.05)
    before = place.records()

    code, again, _ = place.run("-j", "2")
    assert (code, again["done"]) == (0, 5)
    assert again["trained"] == 5 - len(before)
    assert len(place.records()) == 5
    assert not (place.results / "superseded").exists()


def test_ctrl_c_waits_for_what_is_in_work_and_says_how_to_go_on(place: Place) -> None:
    place.write(seeds=6, seconds=0.5)
    started = place.start("-j", "2")
    place.wait_for(2)
    started.send_signal(signal.SIGINT)
    out, err = started.communicate()

    first = json.loads(out)
    assert started.returncode == 130
    assert first["done"] == len(place.records()) == len(place.trainings()) >= 2
    assert first["left"] == 6 - first["done"] > 0
    assert "no more runs are started" in err
    assert "the same command again goes on" in err
    code, again, _ = place.run("-j", "2")
    assert (code, again["trained"]) == (0, first["left"])
    assert len(place.trainings()) == 6


def test_a_second_ctrl_c_gives_up_what_is_in_work(place: Place) -> None:
    place.write(seeds=2, seconds=60.0)
    started = place.start()
    place.wait_for(1)
    started.send_signal(signal.SIGINT)
    time.sleep(0.5)
    started.send_signal(signal.SIGINT)
    out, _ = started.communicate()

    assert (started.returncode, json.loads(out)["left"]) == (130, 2)
    assert place.records() == []
    assert not any(map(alive, place.trainings()))


def test_two_commands_share_the_work_also_under_another_host_name(
    place: Place, tmp_path: Path, make_distribution: Callable[..., Path]
) -> None:
    place.write(seeds=8, seconds=0.5)
    elsewhere = make_distribution(tmp_path / "elsewhere", "elsewhere", {"pubench_elsewhere": ELSEWHERE})
    path = os.pathsep.join([str(elsewhere), place.site["PYTHONPATH"]])
    place.plan()
    both = [place.start("-j", "1"), place.start("-j", "1", PYTHONPATH=path)]
    said = [json.loads(process.communicate()[0]) for process in both]

    assert [process.returncode for process in both] == [0, 0]
    assert [one["done"] for one in said] == [8, 8]
    assert sum(one["trained"] for one in said) == 8
    assert min(one["trained"] for one in said) > 0
    assert len(place.trainings()) == 8
    assert len(place.records()) == 8
    assert not (place.results / "superseded").exists()


def test_damaged_scores_are_seen_by_a_finished_study_and_made_again(place: Place) -> None:
    place.write(seeds=2)
    assert place.run()[0] == 0
    assert place.run()[1]["trained"] == 0
    scores = place.results / place.records()[0] / "scores.npz"
    for damage in ("gone", "flipped"):
        content = bytearray(scores.read_bytes())
        content[len(content) // 3] ^= 1
        scores.unlink()
        if damage != "gone":
            scores.write_bytes(content)
        assert "1 done, 1 to run" in status(place), damage
        code, again, _ = place.run()
        assert (code, again["done"], again["trained"]) == (0, 2, 1), damage
    assert "2 done, 0 to run" in status(place)


def test_a_study_counts_the_records_that_are_there_at_its_end(place: Place) -> None:
    place.write(seeds=3, seconds=1.0)
    started = place.start("-j", "1")
    place.wait_for(2)
    first = place.records()[0]
    (place.results / first).rename(place.results.parent / first)
    out, err = started.communicate()
    assert (started.returncode, json.loads(out)["done"]) == (1, 2)
    assert "the same command again goes on with what is left" in err


def test_status_comes_before_the_frame_that_cannot_be_written(place: Place) -> None:
    place.write(seeds=1)
    assert place.run()[0] == 0
    (place.results / "results.parquet").unlink()
    (place.results / "results.parquet").mkdir()
    done = place.say("study", "status", "--results", str(place.results))
    assert done.returncode == 1
    assert "1 done, 0 to run" in done.stdout
    assert "results.parquet could not be written" in done.stderr


def test_a_damaged_record_is_made_again_and_kept_aside(place: Place) -> None:
    place.write(seeds=3)
    assert place.run()[0] == 0
    damaged = place.results / place.records()[1] / "result.json"
    damaged.write_text(damaged.read_text()[:100])
    code, again, _ = place.run()

    assert (code, again["done"], again["trained"]) == (0, 3, 1)
    assert len(place.records()) == 3
    assert len(list((place.results / "superseded").iterdir())) == 1


def test_a_run_without_memory_is_tried_once_more_beside_fewer_others(place: Place) -> None:
    place.write(seeds=2, does="out of memory")
    code, said, err = place.run("-j", "2")
    assert (code, said["failed"]) == (1, 2)
    assert "out-of-memory: " in err
    assert len(place.trainings()) == 3  # the first is tried again by one worker; then there are no fewer to try


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    folder = tmp_path / "small"
    folder.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=600k", "tmpfs", folder], capture_output=True, text=True
    )
    if mounted.returncode:
        pytest.skip(f"no file system can be mounted here: {mounted.stderr.strip()}")
    yield folder
    subprocess.run(["umount", "-l", folder], check=False)


def test_a_full_disk_stops_the_study_and_the_same_command_completes_it(place: Place, small_disk: Path) -> None:
    place.write(seeds=3)
    place.results = small_disk / "results"
    place.plan()
    ballast = os.open(small_disk / "ballast", os.O_WRONLY | os.O_CREAT)
    with suppress(OSError):
        while True:
            os.write(ballast, b"0" * 4096)
    os.ftruncate(ballast, os.fstat(ballast).st_size - 3 * 4096)  # room for locks, and for no record
    os.close(ballast)
    done = place.say(*place.words())
    assert done.returncode in (1, 2)
    assert "No space left on device" in done.stderr
    assert "Traceback" not in done.stderr
    (small_disk / "ballast").unlink()

    code, again, _ = place.run()
    assert (code, again["done"]) == (0, 3)
    assert len(place.records()) == 3
    assert not (place.results / "superseded").exists()
