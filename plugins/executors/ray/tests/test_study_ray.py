"""The same study on a Ray cluster of two nodes, one of which is killed: the records are those of this machine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from pubench_ray.pool import RayPool
from pubench_study.plan import PlannedRun
from pubench_study.planning import freeze
from pubench_study.scheduler import Stop, Study, Summary
from pubench_study.state import Digests, Expected, states_of
from pubench_study.study_file import StudyFolder, read_study
from pubench_study.task import Ended, Orders, Progressed

import pubench
from pubench_core.data.dataset import data_root
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores
from pubench_core.records.store import RecordStore
from pubench_core.specs import ExecutionSpec

STUDY = """
name: both
methods: [{key: upu, config: {epochs: 2}}, {key: nnpu, config: {epochs: 2}}]
data: [digits]
seeds: [2, 25]
"""
RUNS = 4
#: A node without the processes that show its output and that scale a cluster.
NODE = {"num_cpus": 1, "include_log_monitor": False}


class Listener:
    """Calls ``first`` when the first run is over."""

    def __init__(self, first: Callable[[], None]) -> None:
        self._first, self.ends = first, list[Ended]()

    def started(self, run: PlannedRun) -> None: ...
    def progressed(self, run: PlannedRun, event: Progressed) -> None: ...
    def waiting(self, runs: Sequence[PlannedRun]) -> None: ...

    def ended(self, run: PlannedRun, event: Ended, expected_left: float | None) -> None:
        if not self.ends:
            self._first()
        self.ends.append(event)


def carried_out(folder: Path, address: str, listener: Listener) -> Summary:
    """The study by two tasks at once of a cluster, in a folder of records."""
    file = folder.with_suffix(".yaml")
    file.write_text(STUDY)
    source, root = read_study(file), data_root(ExecutionSpec())
    plan, cache = freeze(source, registry(), root)
    store, digests = RecordStore(StudyFolder(folder, plan.name).results), Digests(registry(), root)
    study = Study(store, cache, digests, Expected(), RayPool.connect(address, 2, Orders(results=folder)), listener)
    return study.conduct(states_of(plan.runs, cache, store, digests), Stop())


def scores(folder: Path) -> dict[str, dict[str, np.ndarray[Any, Any]]]:
    return {path.parent.name: read_scores(path.parent) for path in folder.glob("*/result.json")}


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    from ray.cluster_utils import Cluster

    cluster = Cluster(initialize_head=True, head_node_args={**NODE, "include_dashboard": False, "no_monitor": True})
    yield cluster
    with contextlib.suppress(Exception):
        cluster.shutdown()


@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # so short a run may decide one-sidedly
def test_a_cluster_that_loses_a_node_makes_the_records_of_this_machine(tmp_path: Path, cluster: Any) -> None:
    second = cluster.add_node(**NODE)
    listener = Listener(first=lambda: cluster.remove_node(second, allow_graceful=False))
    there = carried_out(tmp_path / "ray", cluster.address, listener)
    given: Any = {"config": {"epochs": 2}, "threads": 1, "tracking": False}
    pubench.compare(["upu", "nnpu"], data="digits", seeds=[2, 25], results=tmp_path / "local", **given)

    assert len(there.of("finished")) == len(there.ended) == len(listener.ends) == RUNS
    on_ray, local = scores(tmp_path / "ray"), scores(tmp_path / "local")
    assert len(local) == RUNS
    assert on_ray.keys() == local.keys()
    for run_id, arrays in local.items():
        assert arrays.keys() == on_ray[run_id].keys()
        assert all(np.array_equal(arrays[name], on_ray[run_id][name]) for name in arrays)
    assert not (tmp_path / "ray" / "superseded").exists()
