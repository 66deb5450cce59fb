"""Whether files of a package hold rows of a data set: a method that carries the data knows their labels."""

from __future__ import annotations

import gzip
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import Registry

#: Rows of each data set that are looked for, types and factors that they may be stored in.
ROWS = 8
TYPES = ("u1", "i2", "i4", "i8", "f2", "f4", "f8")
FACTORS = (1.0, 16.0, 255.0, 1 / 16, 1 / 255)
#: Bytes of a file from which it can hold a row; most bytes that are looked at, unpacked.
SMALLEST, MOST = 64, 1 << 28


def known_rows(registry: Registry, root: DataRoot) -> Iterator[tuple[str, npt.NDArray[np.float64]]]:
    """Key and a few rows, (:data:`ROWS`, d), of every data set whose files are here."""
    for info in registry.infos(DatasetInfo):
        try:
            x = open_dataset(source_of(info), root).data.x
        except (RequestError, PluginError):
            continue
        chosen = np.linspace(0, len(x) - 1, ROWS).astype(int)
        yield info.key, np.stack([np.asarray(x[k], dtype=np.float64).ravel() for k in chosen])


def carried(files: Iterator[Path], known: Mapping[str, npt.NDArray[np.float64]]) -> Iterator[str]:
    """``file holds rows of KEY`` for every file that has most of a data set's rows, whatever their type and scale."""
    forms = {key: [_forms(row) for row in rows if len(set(row)) > 4] for key, rows in known.items()}
    for file in files:
        contents = list(_contents(file))
        for key, rows in forms.items():
            found = sum(any(form in content for form in row for content in contents) for row in rows)
            if rows and 2 * found > len(rows):
                yield f"{file.name} holds rows of {key}"


def _forms(row: npt.NDArray[np.float64]) -> set[bytes]:
    """The bytes of a row in every type and scale that keeps its values apart."""
    found = set()
    for factor in FACTORS:
        scaled = row * factor
        for kind in TYPES:
            with np.errstate(all="ignore"):
                stored = scaled.astype(kind)
            if len(set(stored.tolist())) == len(set(row)):
                found.add(stored.tobytes())
    return found


def _contents(file: Path) -> Iterator[bytes]:
    """What is in a file: as it is, unpacked, and as numbers, where it is a text of numbers."""
    if file.stat().st_size > MOST:
        return
    content = file.read_bytes()
    yield content
    if content[:2] == b"\x1f\x8b":
        try:
            content = gzip.GzipFile(fileobj=io.BytesIO(content)).read(MOST)
            yield content
        except (OSError, EOFError, zlib.error):
            return
    if zipfile.is_zipfile(io.BytesIO(content)):
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            for member in archive.infolist():
                with archive.open(member) as stream:
                    yield stream.read(MOST)
    numbers = _numbers(content)
    if numbers is not None:
        yield numbers


def _numbers(content: bytes) -> bytes | None:
    """The numbers of a text, in its order, as float64; None for what is no such text."""
    try:
        words = content.decode("ascii").replace(",", " ").replace(";", " ").split()
        return np.array([float(word) for word in words if word[-1].isdigit() or word[-1] == "."]).tobytes()
    except (UnicodeDecodeError, ValueError):
        return None
