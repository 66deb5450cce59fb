"""Reading the distributed ``.rds`` files: P are presences, U is the background, test rows are a survey's sites."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from pubench_archives.archives import damaged, reading
from pubench_archives.downloads import fetch_into

from pubench_core.data.dataset import DataRoot, PUTasks
from pubench_core.data.source import DataSource, Task
from pubench_core.data.store import open_dataset
from pubench_core.errors import unknown
from pubench_core.plugins.info import DatasetInfo

from .groups import GROUP_OF, GROUPS, MD5, Group

if TYPE_CHECKING:
    from pandas import DataFrame

#: Columns that say where and what a record is; no method sees them.
NO_FEATURES = ("siteid", "spid", "x", "y", "occ", "group")
#: The files of a mirror of the R package, at the commit of version 1.1-0.
URL = "https://raw.githubusercontent.com/cran/disdat/32a17d9199a07bd6f2e5985dadb326c5d83ece63/inst/extdata/"
FOLDER = "disdat"


class Species(DataSource):
    """The tasks of one group of species share a copy: its region's records, a background, its survey's sites.

    Features are the environmental variables, categorical ones one-hot; coordinates are none. Of ``disdat`` the
    background is the region's 10,000 random sites. Of ``disdat-target-group`` it is the records of all species of the
    group, the species' own among them (Phillips et al., Ecological Applications 19, 2009).
    """

    @classmethod
    def task(cls, info: DatasetInfo, name: str) -> DatasetInfo:
        """The record of a species. Raises RequestError if there is none of that name."""
        species = name.lower()
        if species not in GROUP_OF:
            raise unknown(f"species of {info.key}", name, GROUP_OF, field="data.key")
        group = GROUP_OF[species]
        return replace(
            info,
            task=species,
            name=f"{info.name}: {species}",
            summary=f"species {species} of region {group.region.upper()}, group {group.name}; {info.summary}",
        )

    @property
    def group(self) -> Group:
        """The group of the task's species."""
        return GROUP_OF[self.info.task]

    def tasks(self, root: DataRoot) -> tuple[Task, ...]:
        """All species with region, group, ``presences``, survey ``sites`` and how many of these have the species."""
        return tuple(task for part in self.parts(root) for task in _facts(part, root))

    def parts(self, root: DataRoot) -> tuple[DataSource, ...]:
        """A source for each group."""
        if self.info.task:
            return (self,)
        return tuple(Species(self.task(self.info, group.species[0])) for group in GROUPS)

    def locate(self, root: DataRoot) -> tuple[Path, ...]:
        """The four files of the task's group, of all groups without a task; RequestError names what is absent."""
        groups = (self.group,) if self.info.task else GROUPS
        names = dict.fromkeys(name for group in groups for name in group.files)
        if absent := [name for name in names if not (root.path / FOLDER / name).exists()]:
            listed = absent if len(absent) <= 4 else [*absent[:4], f"{len(absent) - 4} more"]
            raise root.missing(self.info, listed, [root.path / FOLDER])
        return tuple(root.path / FOLDER / name for name in names)

    def variant(self, root: DataRoot, files: tuple[Path, ...]) -> str:
        return f"{self.info.key} {self.group.region} {self.group.name}"

    def read(self, files: tuple[Path, ...], root: DataRoot) -> PUTasks:
        env = _frame(files[2])
        features = [name for name in env.columns if name not in NO_FEATURES]
        po, background = _frame(files[0], ["spid", *features]), _frame(files[1], features)
        pa = _frame(files[3], self.group.species)
        if len(env) != len(pa):
            raise damaged(files[3], f"{len(pa)} sites, and {files[2].name} has {len(env)}")
        presences = po[po["spid"].isin(self.group.species)]
        if self.info.key != FOLDER:
            background = presences
        parts = [frame[features] for frame in (presences, background, env)]
        split = _encoded(parts, features, self.group.categorical)
        for path, values in zip(files, split, strict=False):
            if not np.isfinite(values).all():
                raise damaged(path, "a variable has a value that is not a finite number")
        truth = pa.to_numpy()
        if not np.isin(truth, (0, 1)).all():
            raise damaged(files[3], "a species has a value other than 0 and 1")
        number = {species: k for k, species in enumerate(self.group.species)}
        return PUTasks(
            x=np.concatenate(split[:2]),
            owner=np.r_[presences["spid"].map(number).to_numpy(np.int64), np.full(len(background), -1)],
            x_test=split[2],
            truth_test=truth.astype(np.int8),
            names=np.array(self.group.species),
        )

    def fetch(self, root: DataRoot) -> None:
        """Downloads all files (3 MB) into ``<root>/disdat/`` and compares their checksums."""
        import pooch

        def download(scratch: Path) -> list[Path]:
            root.say(f"{self.info.key}: terms: {self.info.license}")
            with root.progress(f"downloading {self.info.key}", len(MD5)) as advance:
                for name, md5 in MD5.items():
                    pooch.retrieve(URL + name, f"md5:{md5}", name, scratch)
                    advance(1)
            return [scratch / name for name in MD5]

        fetch_into(root.path / FOLDER, self.info, root, download)


def _facts(part: DataSource, root: DataRoot) -> list[Task]:
    data = open_dataset(part, root, preprocess=part.info.preprocess).data
    assert isinstance(data, PUTasks)
    presences = np.bincount(data.owner[data.owner >= 0], minlength=len(data.names))
    found = data.truth_test.sum(axis=0, dtype=np.int64)
    return [
        Task(
            str(name),
            {
                "region": GROUP_OF[str(name)].region,
                "group": GROUP_OF[str(name)].name,
                "presences": int(n),
                "sites": len(data.truth_test),
                "present": int(present),
            },
        )
        for name, n, present in zip(data.names, presences, found, strict=True)
    ]


def _frame(path: Path, columns: Sequence[str] | None = None) -> DataFrame:
    """A stored data frame, or these columns of it. Raises RequestError if it cannot be read or lacks one."""
    import pyreadr

    with reading(path, pyreadr.LibrdataError, pyreadr.PyreadrError, KeyError):
        found: DataFrame = pyreadr.read_r(str(path))[None]
        return found if columns is None else found[list(columns)]


def _encoded(
    frames: Sequence[DataFrame], features: Sequence[str], categorical: Sequence[str]
) -> list[npt.NDArray[np.float32]]:
    """(n, d) of each frame: numbers as they are, a category one-hot over the values that any of the frames has."""
    import pandas as pd

    together = pd.concat(frames, ignore_index=True)
    columns = []
    for name in features:
        values = pd.to_numeric(together[name], errors="coerce").to_numpy(np.float64)
        if name in categorical:
            columns += [values == value for value in np.unique(values)]
        else:
            columns.append(values)
    x = np.stack(columns, axis=1).astype(np.float32)
    ends = np.cumsum([len(frame) for frame in frames])
    return np.split(x, ends[:-1])
