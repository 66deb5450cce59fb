"""OpenML's files: where its cache keeps them, reading them, and downloading them with the ``openml`` package.

Only the data as published are read, ARFF or Parquet. The pickles that the package puts next to them are not: unpickling
a file runs whatever it says.
"""

from __future__ import annotations

import csv
import os
from collections.abc import Iterator
from pathlib import Path

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError
from pubench_core.plugins.info import DatasetInfo

from .cells import Cells, Remedy

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


def is_openml(path: Path) -> bool:
    """Whether a file is one that :func:`cached` found."""
    return path.suffix in (".arff", ".pq")


def read_openml(path: Path, *, width: int, remedy: Remedy) -> Cells:
    """The cells of a file with ``width`` columns, of which the one called "class" is the label.

    Raises RequestError if it cannot be read, is damaged, or has other columns.
    """
    if path.suffix == ".pq":
        names, columns = _read_parquet(path, remedy)
    else:
        attributes, columns = read_arff(path, remedy)
        names = [name for name, _ in attributes]
    if len(names) != width:
        raise remedy.error(f"{path} has {len(names)} columns, expected {width}")
    labels = [j for j, name in enumerate(names) if name.lower() == "class"]
    if len(labels) != 1:
        raise remedy.error(f"{path} has {len(labels)} columns called 'class', expected one")
    if not columns[0]:
        raise remedy.error(f"{path} has no rows")
    return Cells(path=path, columns=list(columns), label=labels[0], remedy=remedy)


def download(info: DatasetInfo, root: DataRoot, number: int) -> None:
    """Has ``openml`` download a data set into ``<cache>/openml``.

    As ARFF: OpenML publishes a checksum for that and none for Parquet. Raises RequestError where the network or the
    server fails.
    """
    place = root.cache / "openml" if info.tasks else root.path / info.key
    elsewhere = f"get it from {info.source} and put it into {place}"
    root.say(f"{info.address}: downloading data set {number} of OpenML to {root.cache / 'openml'}")
    try:
        _download(number, root.cache / "openml")
    except OSError as error:  # of requests too: all its errors are OSErrors
        raise RequestError(
            f"{info.address} could not be downloaded ({_one_line(error)}); try again, or {elsewhere}"
        ) from error
    if cached(root, number) is None:
        raise RequestError(f"{info.address}: OpenML sent no file for its data set {number}; {elsewhere}")


# -------------------------------------------------------------------- where


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


def read_arff(
    path: Path, remedy: Remedy, *, rows: bool = True
) -> tuple[list[tuple[str, str | list[str]]], list[tuple[object, ...]]]:
    """(name, type or values) of every column, and the columns. Raises RequestError if it cannot be read.

    Without ``rows``, only the header is read.
    """
    import arff

    try:
        with path.open(encoding="utf-8") as stream:
            found = arff.load(stream, return_type=arff.DENSE if rows else arff.DENSE_GEN)
    except OSError as error:
        raise RequestError(f"cannot read {path}: {error.strerror or error}") from error
    except UnicodeDecodeError as error:
        raise remedy.error(f"{path} is not text (byte {error.start})") from error
    # liac-arff lets what goes wrong inside it out as it is for some malformed headers and lines
    except (arff.ArffException, csv.Error, ValueError, TypeError, LookupError) as error:
        raise remedy.error(f"{path} is not valid ARFF ({_one_line(error)})") from error
    attributes = found["attributes"]
    return attributes, (list(zip(*found["data"], strict=True)) or [()] * len(attributes)) if rows else []


def _read_parquet(path: Path, remedy: Remedy) -> tuple[list[str], list[tuple[object, ...]]]:
    import pyarrow
    from pyarrow import parquet

    try:
        with path.open("rb") as stream, parquet.ParquetFile(stream) as file:
            table = file.read()
        return list(table.column_names), [tuple(column.to_pylist()) for column in table.columns]
    except (pyarrow.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:
            raise RequestError(f"cannot read {path}: {error.strerror or error}") from error
        # pyarrow reports damage inside a file as an OSError too, without a number of the system's
        raise remedy.error(f"{path} is not valid Parquet ({_one_line(error)})") from error


# -------------------------------------------------------------------- downloading


def _download(number: int, cache: Path) -> None:
    """Raises OSError for everything that the network, the server or the disk did."""
    from xml.parsers.expat import ExpatError

    import openml
    from openml.exceptions import PyOpenMLError

    before, parquet = openml.config.get_config_as_dict()["cachedir"], os.environ.get(_SKIP_PARQUET)
    openml.config.set_root_cache_directory(cache)
    os.environ[_SKIP_PARQUET] = "true"
    try:
        openml.datasets.get_dataset(number, download_data=True)
    except (PyOpenMLError, ExpatError) as error:
        raise OSError(f"OpenML: {error}") from error
    finally:
        openml.config.set_root_cache_directory(before)
        os.environ.pop(_SKIP_PARQUET)
        if parquet is not None:
            os.environ[_SKIP_PARQUET] = parquet


def _one_line(error: Exception) -> str:
    try:
        text = " ".join(str(error).split()) or type(error).__name__
    except TypeError:  # liac-arff cannot word its own error where the line in question has a percent sign
        text = type(error).__name__
    return text if len(text) <= 200 else f"{text[:197]}..."
