"""``pubench verify`` of a folder that anybody may have made: a line per problem, in bounded time and memory."""

from __future__ import annotations

import io
import os
import shutil
import time
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from pubench_study.export import SUMS

import pubench
from pubench_core.errors import RecordError
from pubench_core.records import files
from pubench_core.records.files import read_scores

pytestmark = [
    pytest.mark.filterwarnings("ignore::pubench.PubenchWarning"),  # so short a run may decide one-sidedly
    pytest.mark.filterwarnings("ignore:Duplicate name"),
    pytest.mark.usefixtures("forked_trainings"),
]
#: Seconds that a record of a stranger may take, on a busy machine; one of these took minutes, or never ended.
SECONDS = 30.0
ALIASES = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
    f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
)


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("strangers") / "results"
    return pubench.run("upu", "digits", config={"epochs": 1}, results=results, threads=1, tracking=False).folder


@pytest.fixture
def record(recorded: Path, tmp_path: Path) -> Path:
    return Path(shutil.copytree(recorded, tmp_path / "records" / recorded.name))


def _sums(line: str) -> Callable[[Path], None]:
    def write(record: Path) -> None:
        (record.parent / SUMS).write_text(f"{'0' * 64}  {line}\n")

    return write


def _listed(make: Callable[[Path], object], line: str = "z") -> Callable[[Path], None]:
    """A file ``z`` next to the record, and a line of the list of checksums."""

    def act(record: Path) -> None:
        make(record.parent / "z")
        _sums(line)(record)

    return act


def _grown(size: int) -> Callable[[Path], None]:
    def grow(path: Path) -> None:
        with path.open("ab") as file:
            file.truncate(size)  # of holes

    return grow


def _as_pipe(name: str) -> Callable[[Path], None]:
    def make(record: Path) -> None:
        (record / name).unlink()
        os.mkfifo(record / name)

    return make


def _with_array(shape: str, dtype: str = "<f8", content: bytes = b"") -> Callable[[Path], None]:
    """A header may say anything."""

    def put(record: Path) -> None:
        header = f"{{'descr': '{dtype}', 'fortran_order': False, 'shape': {shape}, }}".ljust(117).encode() + b"\n"
        array = b"\x93NUMPY\x01\x00" + len(header).to_bytes(2, "little") + header + content
        with zipfile.ZipFile(record / "scores.npz", "a") as archive:
            archive.writestr("more.npy", array)

    return put


LARGE = "it has more than 67,108,864 bytes"
ATTACKS: dict[str, tuple[Callable[[Path], object], str]] = {
    "aliases of aliases": (lambda f: (f / "spec.yaml").write_text(ALIASES), "by aliases, which pubench never writes"),
    "a tag": (lambda f: (f / "spec.yaml").write_text("!!python/object/apply:os.system [ls]"), "cannot be read"),
    "an endless device": (_listed(lambda z: z.symlink_to("/dev/zero")), "z is listed in SHA256SUMS and a link"),
    "a pipe": (_listed(os.mkfifo), "z is listed in SHA256SUMS and cannot be read (it is not a regular file)"),
    "a file elsewhere": (
        _listed(lambda z: z.symlink_to("/etc"), "z/passwd"),
        "passwd is listed in SHA256SUMS and a link",
    ),
    "a file of a terabyte": (
        _listed(_grown(1 << 40)),
        "z is listed in SHA256SUMS and cannot be read (it has more than 4,294,967,296 bytes)",
    ),
    "NUL in a path": (_sums("z\0z"), "line 1 is not a checksum and a path in this folder"),
    "a path without end": (_sums("z" * 5000), "line 1 is not a checksum and a path in this folder"),
    "scores as a pipe": (_as_pipe("scores.npz"), "scores.npz is missing"),
    "a result as a pipe": (_as_pipe("result.json"), "result.json is missing"),
    "a spec as a pipe": (_as_pipe("spec.yaml"), "spec.yaml is missing"),
    "an environment as a pipe": (_as_pipe("environment.json"), "environment.json is missing"),
    "a result of 64 GiB": (lambda f: _grown(1 << 36)(f / "result.json"), LARGE),
    "an environment of 64 GiB": (lambda f: _grown(1 << 36)(f / "environment.json"), LARGE),
    "a spec of 64 GiB": (lambda f: _grown(1 << 36)(f / "spec.yaml"), LARGE),
    "fewer rows than bytes": (_with_array("(1,)", content=b"x" * 80), "it is damaged"),
    "a table of scores": (_with_array("(2, 5)", content=b"x" * 80), "more is not a column of numbers"),
    "objects": (_with_array("(1,)", "|O", b"x" * 8), "more is not a column of numbers"),
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_every_attack_is_a_line_in_bounded_time(record: Path, attack: str) -> None:
    act, words = ATTACKS[attack]
    act(record)
    started = time.monotonic()
    found = pubench.verify(record.parent, rerun=1)
    assert any(words in problem.what for problem in found.problems), [str(problem) for problem in found.problems]
    assert time.monotonic() - started < SECONDS


def test_no_memory_is_taken_for_more_arrays_or_bytes_than_a_record_has(
    record: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez_compressed(record / "scores.npz", zeros=np.zeros(200_000))
    monkeypatch.setattr(files, "MOST_BYTES", 1 << 20)
    monkeypatch.setattr(np, "frombuffer", None)  # nothing is unpacked
    with pytest.raises(RecordError, match=r"holds 1 arrays of 1,600,128 bytes; at most 10,000 and 1,048,576 are read"):
        read_scores(record)
    monkeypatch.setattr(files, "MOST_ARRAYS", 1)
    np.savez(record / "scores.npz", a=np.zeros(1), b=np.zeros(1))
    with pytest.raises(RecordError, match="holds 2 arrays"):
        read_scores(record)


@pytest.mark.parametrize("dtype", ["<f8", "<f4", ">f8", "<i8", "|i1", "|b1", "<u2"])
def test_what_numpy_writes_is_read_as_it_reads_it(tmp_path: Path, dtype: str) -> None:
    array = np.arange(7).astype(dtype)
    stream = io.BytesIO()
    np.savez_compressed(stream, a=array, empty=array[:0])
    (tmp_path / "scores.npz").write_bytes(stream.getvalue())
    found = read_scores(tmp_path)
    assert found["a"].dtype == array.dtype
    assert found["a"].tobytes() == array.tobytes()
    assert found["a"].flags.writeable
    assert len(found["empty"]) == 0
