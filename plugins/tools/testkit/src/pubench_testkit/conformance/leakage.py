"""Checks that a method learns from what it is given and from nothing else, and leaves the rest as it is."""

from __future__ import annotations

import gzip
import importlib
import io
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from pathlib import Path

import numpy as np
import numpy.typing as npt

from pubench_core.data.dataset import DataRoot, data_root
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.errors import PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import Registry
from pubench_testkit.disguise import other_labels, other_order
from pubench_testkit.opened import is_data, showing_labels

from .register import NotApplicable, check
from .source_text import reaching_out
from .subject import Subject, assert_same

#: Rows of each data set that are looked for, types and factors that they may be stored in.
ROWS = 8
TYPES = ("u1", "i2", "i4", "i8", "f2", "f4", "f8")
FACTORS = (1.0, 16.0, 255.0, 1 / 16, 1 / 255)
#: Bytes of a file from which it can hold a row; most bytes that are looked at, unpacked.
SMALLEST, MOST = 64, 1 << 28


@check("hidden-labels")
def hidden_labels(subject: Subject) -> None:
    """Permuting the true labels of unlabeled rows changes no bit, in training and validation, in both schemes.

    Criteria of true labels are tracked, and listeners that the method's package carries are called, meanwhile.
    """
    if subject.is_oracle:
        raise NotApplicable("an oracle: it is granted the true labels")
    for scheme in ("case-control", "single-training-set"):
        usual = subject.usual(scheme)
        changed = other_labels(usual.problem, np.random.default_rng(0))
        assert changed.truth_train is not None
        assert (changed.truth_train != usual.problem.truth_train).any()
        assert_same(usual.scores, subject.scores(usual.plan, changed), f"hidden labels permuted ({scheme})")


@check("order-of-the-file")
def order_of_the_file(subject: Subject) -> None:
    """The same rows in another order in their file change no bit: files are sorted by class."""
    usual = subject.usual()
    reordered = other_order(usual.problem, np.random.default_rng(0))
    assert_same(usual.scores, subject.scores(usual.plan, reordered), "the file's rows in another order")


@check("earlier-runs")
def earlier_runs(subject: Subject) -> None:
    """Earlier runs of the process change no bit: another split's run shows rows that are hidden now."""
    usual = subject.usual()
    subject.scores(subject.plan(seed=3))
    assert_same(usual.scores, subject.scores(usual.plan, usual.problem), "a run of another seed in between")


@check("own-arguments")
def own_arguments(subject: Subject) -> None:
    """Its source reaches for nothing but what it is given: no frames, no private attributes, no insides of core."""
    found = reaching_out(_source_of(subject))
    assert not found, f"{'; '.join(found[:3])}{f'; and {len(found) - 3} more' if len(found) > 3 else ''}"


def _source_of(subject: Subject) -> Path:
    """The folder of the package that implements the method, or its file where it is a single module."""
    module = importlib.import_module(subject.info.package)
    assert module.__file__ is not None, f"{subject.info.package} has no source"
    file = Path(module.__file__)
    return file.parent if file.name == "__init__.py" else file


@check("callers-random-state")
def callers_random_state(subject: Subject) -> None:
    """The global generators of python, numpy and torch neither influence a result nor are changed."""
    again = subject.again()
    assert not again.changed, f"the caller's random state was changed: {', '.join(again.changed)}"
    assert_same(subject.usual().scores, again.scores, "the caller's random state")


@check("writes-nothing")
def writes_nothing(subject: Subject) -> None:
    """Training opens no file for writing, byte-code and compiler caches apart: the engine writes what is recorded."""
    written = [opened.path for opened in subject.again().opened if opened.writes]
    written = [path for path in written if "__pycache__" not in path and not path.startswith(("/proc/", "/dev/"))]
    assert not written, f"training opened for writing: {', '.join(written[:3])}"


@check("reads-no-data")
def reads_no_data(subject: Subject) -> None:
    """Training opens no file of the data root, the cache or a results folder, nor data of an installed package.

    They hold true labels: scikit-learn brings ``digits`` and ``breast-cancer``. A package's own files are its own. Nor
    does it start a process, connect to one, or open the memory of one.
    """
    own = _source_of(subject).resolve()
    read = showing_labels(subject.again().opened, subject.plan().spec.execution, own)
    assert not read, f"training opened {', '.join(read[:3])}"


@check("carries-no-data")
def carries_no_data(subject: Subject) -> None:
    """No file of its package holds rows of a data set that is here: their labels would be no secret."""
    place = _source_of(subject)
    files = place.rglob("*") if place.is_dir() else ()
    mine = [file for file in files if file.is_file() and is_data(file) and file.stat().st_size > SMALLEST]
    if not mine:
        return
    known = dict(known_rows(subject.registry, data_root(subject.plan().spec.execution)))
    found = list(carried(iter(mine), known))
    assert not found, "; ".join(found[:3])


@check("plausible-accuracy")
def plausible_accuracy(subject: Subject) -> None:
    """After two short epochs it is wrong of some test row, in one of both schemes; one that knows the data never is."""
    if subject.is_oracle:
        raise NotApplicable("an oracle: it is granted the true labels")
    right, rows = [], 0
    for scheme in ("case-control", "single-training-set"):
        usual = subject.usual(scheme)
        scores, truth = usual.scores["last/test"], usual.problem.truth_test
        assert truth is not None
        rows = len(truth)
        right.append(float(((scores > 0) == (truth == 1)).mean()))
    assert min(right) < 1, f"every test row is right after two epochs, in both schemes ({rows} rows)"


# -------------------------------------------------------------------- files that hold rows of a data set


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
