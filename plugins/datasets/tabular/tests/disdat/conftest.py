"""Small files in the format of disdat: every region, few rows, made with the library that reads them."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pubench_datasets_tabular.disdat.groups import GROUPS, Group

from pubench_core.data.dataset import DataRoot

Change = Callable[[pd.DataFrame], pd.DataFrame]
#: Rows of a background, and of a survey.
BACKGROUND, SITES = 40, 12


def presences_of(species: str) -> int:
    """One record more than the number of a species: ``nsw14`` has 15."""
    return int(species[-2:]) + 1


def _variables(group: Group, n: int, rng: np.random.Generator) -> dict[str, object]:
    categories = {name: rng.integers(1, 4, n).astype(np.int32) for name in group.categorical}
    return {"rain": rng.integers(0, 900, n).astype(np.int32), **categories, "temp": rng.normal(15, 5, n)}


def write_files(folder: Path) -> None:
    """All 40 files."""
    folder.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(0)
    where = {"x": 150.0, "y": -30.0}
    for region in dict.fromkeys(group.region for group in GROUPS):
        groups = [group for group in GROUPS if group.region == region]
        records = [
            pd.DataFrame(
                {
                    "siteid": [f"{species}-{k}" for k in range(presences_of(species))],
                    "spid": species,
                    **where,
                    "occ": 1,
                    "group": group.name,
                    **_variables(group, presences_of(species), rng),
                }
            )
            for group in groups
            for species in group.species
        ]
        write_rds(folder / groups[0].files[0], pd.concat(records, ignore_index=True))
        sites = {"siteid": np.arange(BACKGROUND), "spid": "pseudo1", **where, "occ": 0, "group": "none"}
        write_rds(folder / groups[0].files[1], pd.DataFrame({**sites, **_variables(groups[0], BACKGROUND, rng)}))
        for group in groups:
            sites = {"group": group.name, "siteid": np.arange(SITES), **where}
            write_rds(folder / group.files[2], pd.DataFrame({**sites, **_variables(group, SITES, rng)}))
            found = {name: (np.arange(SITES) % 3 == k % 3).astype(np.int32) for k, name in enumerate(group.species)}
            write_rds(folder / group.files[3], pd.DataFrame({**sites, **found}))


def write_rds(path: Path, frame: pd.DataFrame) -> None:
    """A data frame as R would store it."""
    import pyreadr

    texts = dict.fromkeys(frame.select_dtypes("string"), object)
    pyreadr.write_rds(str(path), frame.astype(texts), compress="gzip")


@pytest.fixture(scope="session")
def prepared(tmp_path_factory: pytest.TempPathFactory) -> DataRoot:
    """A data root with small files of all regions, which no test changes."""
    place = tmp_path_factory.mktemp("species")
    write_files(place / "data" / "disdat")
    return DataRoot(place / "data", "a test", cache=place / "cache")


@pytest.fixture
def root(prepared: DataRoot, tmp_path: Path) -> DataRoot:
    """A copy of it, of which nothing is prepared."""
    shutil.copytree(prepared.path, tmp_path / "data")
    return DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache")


@pytest.fixture
def change(root: DataRoot) -> Callable[[str, Change], None]:
    """``change(file, function)``: rewrites a file with what the function makes of its frame."""

    import pyreadr

    def rewrite(name: str, function: Change) -> None:
        path = root.path / "disdat" / name
        write_rds(path, function(pyreadr.read_r(str(path))[None]))

    return rewrite
