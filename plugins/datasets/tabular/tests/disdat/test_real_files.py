"""The real files: counts as published, and how long a region takes once it is prepared."""

from __future__ import annotations

import time

import numpy as np
import pytest

from pubench_core.data.dataset import DataRoot, PUTasks
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

#: Region -> species, and smallest, median and largest number of records.
RECORDS = {
    "awt": (40, 9, 70, 265),
    "can": (20, 16, 193, 740),
    "nsw": (54, 2, 31, 426),
    "nz": (52, 18, 36, 211),
    "sa": (30, 17, 58, 216),
    "swi": (30, 36, 586, 5_822),
}


def test_species_and_records_of_every_region(real: DataRoot) -> None:
    tasks = source_of(registry().find(DatasetInfo, "disdat")).tasks(real)
    for region, (species, smallest, median, largest) in RECORDS.items():
        counts = [int(task.facts["presences"]) for task in tasks if task.facts["region"] == region]
        assert (len(counts), min(counts), max(counts)) == (species, smallest, largest)
        assert abs(float(np.median(counts)) - median) < 1
    assert all(0 < int(task.facts["present"]) < int(task.facts["sites"]) for task in tasks)
    assert sum(int(task.facts["presences"]) >= 30 for task in tasks) == 164


@pytest.mark.parametrize(("species", "features"), [("nsw14", 12 + 9), ("nz01", 11 + 3 + 4)])
def test_a_region_is_open_within_two_seconds_once_it_is_prepared(real: DataRoot, species: str, features: int) -> None:
    """Numbers, and a feature for each value of ``vegsys``; of ``age`` and ``toxicats``."""
    source = source_of(registry().find(DatasetInfo, f"disdat/{species}"))
    open_dataset(source, real, preprocess="standardize")
    started = time.perf_counter()
    data = open_dataset(source, real, preprocess="standardize").data
    assert time.perf_counter() - started < 2
    assert isinstance(data, PUTasks)
    assert data.x.shape[1] == features
    assert int((data.owner < 0).sum()) == 10_000
