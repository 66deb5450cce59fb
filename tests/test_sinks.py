"""Which sinks get a run, and what a request may say of them."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from printed import Run

import pubench
from pubench_core.errors import RequestError
from pubench_core.sinks import chosen_sinks, listeners_of
from pubench_core.specs import ExecutionSpec

Make = Callable[..., Path]
RUN = ("run", "--method", "upu", "--data", "breast-cancer", "--set", "epochs=1", "--threads", "1")

PLUGIN = """
from pubench_core import SinkInfo, hookimpl

@hookimpl
def pubench_sinks():
    return [SinkInfo(key="shelf", name="Shelf", summary="A shelf.", load="shelving:Shelf", automatic=True)]
"""
CODE = """
from pathlib import Path
from pubench_core.sinks import Sink

class Shelf(Sink):
    def __init__(self, results, address):
        self.where = address or "shelf"
        self._file = Path(self.where)

    def has(self, record):
        return self._file.exists() and record.result.run_id in self._file.read_text()

    def send(self, record):
        print("View run at http://...")
        with self._file.open("a") as file:
            print(record.result.run_id, file=file)
"""


@pytest.fixture
def shelf(tmp_path: Path, make_distribution: Make) -> Mapping[str, str]:
    """The environment of a process in which a sink from outside this repository is installed."""
    return {"PYTHONPATH": str(make_distribution(tmp_path / "site", "shelf", {"shelf": PLUGIN, "shelving": CODE}))}


class TestASinkOfAnyPlugin:
    def test_a_sink_of_a_plugin_is_listed(self, pubench: Run, shelf: Mapping[str, str]) -> None:
        rows = json.loads(pubench("list", "sinks", "--format", "json", env=shelf).stdout)
        assert {"key": "shelf", "automatic": True}.items() <= next(r for r in rows if r["key"] == "shelf").items()

    def test_an_automatic_one_gets_every_run_and_track_what_it_lacks(
        self, pubench_in: Callable[[Path], Run], tmp_path: Path, shelf: Mapping[str, str]
    ) -> None:
        command = pubench_in(tmp_path)
        done = command(*RUN, "--sinks", f"mlflow=sqlite:///{tmp_path}/nowhere/x.db", env=shelf)
        assert done.returncode == 0, done.stderr
        assert (tmp_path / "shelf").read_text().strip() in done.stdout
        assert "listener of sink mlflow failed" in done.stderr
        assert command("track", "--to", "shelf", env=shelf).stdout == "0 sent, 1 already there, 0 left out: shelf\n"
        (tmp_path / "shelf").unlink()
        sent = json.loads(command("track", "--to", "shelf=other", "--format", "json", env=shelf).stdout)
        assert sent == {"sent": 1, "already_there": 0, "left_out": [], "tracker": "other"}  # what it prints is no JSON


class TestSinksOfARequest:
    def test_a_request_has_automatic_and_named_sinks(self) -> None:
        assert chosen_sinks(ExecutionSpec()) == {"mlflow": None}
        assert chosen_sinks(ExecutionSpec(sinks={"jsonl": None})) == {"mlflow": None, "jsonl": None}
        assert chosen_sinks(ExecutionSpec(sinks={"mlflow": "http://a"})) == {"mlflow": "http://a"}

    def test_the_older_name_is_the_address_of_those_that_get_every_run(self) -> None:
        older = ExecutionSpec(tracking_uri="http://a", sinks={"jsonl": "x"})
        assert chosen_sinks(older) == {"mlflow": "http://a", "jsonl": "x"}

    def test_without_tracking_there_is_none(self) -> None:
        assert listeners_of(ExecutionSpec(tracking=False, sinks={"jsonl": "x"})) == []

    def test_one_that_is_not_installed_is_refused_before_anything_is_trained(self, tmp_path: Path) -> None:
        with pytest.raises(RequestError, match="unknown sink 'jsnl'; did you mean 'jsonl'"):
            listeners_of(ExecutionSpec(sinks={"jsnl": None}))
        with pytest.raises(pubench.InvalidRequest, match="unknown sink 'jsnl'"):
            pubench.run("upu", "digits", results=tmp_path / "none", settings={"execution.sinks": {"jsnl": None}})
        assert not (tmp_path / "none").exists()
