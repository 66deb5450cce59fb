"""OpenML's files: where its cache keeps them, reading them, and downloading them with the ``openml`` package.

Only the data as published are read, ARFF or Parquet. The pickles that the package puts next to them are not: unpickling
a file runs whatever it says.
"""

from __future__ import annotations

import csv
import math
import os
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING
from xml.parsers.expat import ExpatError

from pubench_archives.archives import one_line, reading

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import Hint, RequestError
from pubench_core.plugins.info import DatasetInfo

if TYPE_CHECKING:
    from pandas import DataFrame

#: The servers of OpenML proper, as its cache names them; ids of its test server mean other sets.
_SERVERS = ("org/openml/www", "org/openml/api")
_SKIP_PARQUET = "OPENML_SKIP_PARQUET"


def cached(root: DataRoot, number: int) -> Path | None:
    """OpenML's file of a data set: of pubench's own downloads, else of the user's cache; None if there is none."""
    for cache in (root.cache / "openml", *_caches_of_user()):
        for server in _SERVERS:
            folder = cache / server / "datasets" / str(number)
            for name in (f"dataset_{number}.pq", "dataset.pq", "dataset.arff"):
                if (folder / name).exists():
                    return folder / name
    return None


def downloaded(root: DataRoot) -> list[Path]:
    """ARFF files of all data sets in pubench's own downloads, by number."""
    found = (path for server in _SERVERS for path in (root.cache / "openml" / server).glob("datasets/*/dataset.arff"))
    return sorted(found, key=lambda path: (len(path.parent.name), path.parent.name))


def _caches_of_user() -> Iterator[Path]:
    """Where the ``openml`` package keeps its files by default; importing it would take seconds and make folders."""
    if given := os.environ.get("OPENML_CACHE_DIR"):
        yield Path(given).expanduser()
    if xdg := os.environ.get("XDG_CACHE_HOME"):
        yield Path(xdg) / "openml"
        yield Path(xdg)  # its default before version 0.15
    else:
        yield Path("~/.cache/openml").expanduser()
    yield Path("~/.openml").expanduser()
    yield Path("~/.openml/cache").expanduser()  # its default before version 0.13


# -------------------------------------------------------------------- reading


def reading_download(path: Path, address: str) -> AbstractContextManager[None]:
    """A block that reads a download: RequestError names the file, and the address to fetch again if it is damaged."""
    import arff

    # liac-arff lets what goes wrong inside it out as it is for some malformed headers and lines; XML's is a SyntaxError
    damages = (arff.ArffException, csv.Error, SyntaxError, TypeError, LookupError)
    return reading(path, *damages, hint=Hint("fetch", address))


def read_arff(path: Path, *, rows: bool = True) -> tuple[list[tuple[str, str | list[str]]], list[tuple[object, ...]]]:
    """(name, type or values) of every column, and the columns; only the header without ``rows``.

    Raises what :func:`reading_download` knows.
    """
    import arff

    with path.open(encoding="utf-8") as stream:
        found = arff.load(stream, return_type=arff.DENSE if rows else arff.DENSE_GEN)
    attributes = found["attributes"]
    return attributes, (list(zip(*found["data"], strict=True)) or [()] * len(attributes)) if rows else []


def read_cells(path: Path) -> DataFrame:
    """A table as text: a missing value is ``?``, a whole number has no decimal point; names in lower case.

    Raises what :func:`reading_download` knows.
    """
    import pandas as pd
    from pyarrow import parquet

    if path.suffix == ".pq":
        with path.open("rb") as stream:
            table = parquet.read_table(stream)
        named = dict(zip(table.column_names, (column.to_pylist() for column in table.columns), strict=True))
    else:
        attributes, columns = read_arff(path)
        named = {name: list(column) for (name, _), column in zip(attributes, columns, strict=True)}
    return pd.DataFrame(
        {name.lower(): [_word(cell) for cell in column] for name, column in named.items()}, dtype=object
    )


def _word(cell: object) -> str:
    if cell is None or (isinstance(cell, float) and math.isnan(cell)):
        return "?"
    return str(int(cell)) if isinstance(cell, float) and cell.is_integer() else str(cell)


# -------------------------------------------------------------------- downloading


def download(info: DatasetInfo, root: DataRoot, number: int) -> None:
    """Has ``openml`` download a data set into ``<cache>/openml``.

    As ARFF: OpenML publishes a checksum for that and none for Parquet. Raises RequestError where the network or the
    server fails.
    """
    import openml
    from openml.exceptions import PyOpenMLError

    cache, place = root.cache / "openml", root.cache / "openml" if info.tasks else root.path / info.key
    elsewhere = f"get it from {info.source} and put it into {place}"
    root.say(f"{info.address}: downloading data set {number} of OpenML to {cache}")
    before, parquet = openml.config.get_config_as_dict()["cachedir"], os.environ.get(_SKIP_PARQUET)
    openml.config.set_root_cache_directory(cache)
    os.environ[_SKIP_PARQUET] = "true"
    try:
        openml.datasets.get_dataset(number, download_data=True)
    except (PyOpenMLError, ExpatError, OSError) as error:  # all errors of requests are OSErrors
        raise RequestError(
            f"{info.address} could not be downloaded ({one_line(error)}); try again, or {elsewhere}"
        ) from error
    finally:
        openml.config.set_root_cache_directory(before)
        os.environ.pop(_SKIP_PARQUET)
        if parquet is not None:
            os.environ[_SKIP_PARQUET] = parquet
    if cached(root, number) is None:
        raise RequestError(f"{info.address}: OpenML sent no file for its data set {number}; {elsewhere}")
