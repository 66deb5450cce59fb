"""``pubench study export`` of a folder that others made: nothing is written or packed that should not be."""

from __future__ import annotations

import json
import os
import shutil
import stat
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from printed import Run
from refusals import error_line

STUDY = {"name": "first", "methods": {"upu": {"preset": "quick"}}, "data": "digits", "mechanisms": "scar", "seeds": 1}


@pytest.fixture(scope="module")
def finished(pubench_in: Callable[[Path], Run], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a finished study of one run."""
    folder = tmp_path_factory.mktemp("finished")
    (folder / "first.yaml").write_text(yaml.safe_dump(STUDY))
    done = pubench_in(folder)("study", "run", "first.yaml")
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture
def study(finished: Path, tmp_path: Path) -> Path:
    """A copy of it."""
    return Path(shutil.copytree(finished, tmp_path / "copied"))


@pytest.fixture
def plan(study: Path) -> Path:
    return study / "results" / "studies" / "first" / "plan.json"


@pytest.fixture
def exported(study: Path, pubench_within: Run, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``exported(*options)``: ``pubench study export first`` there."""
    monkeypatch.chdir(study)
    return lambda *options: pubench_within("study", "export", "first", *options)


def record_in(study: Path) -> Path:
    return next(path.parent for path in (study / "results").glob("*/result.json"))


@pytest.mark.parametrize("name", ["/elsewhere/abs", "../../evilx", "second", "", "a/b"])
def test_a_plan_of_another_name_writes_nothing(study: Path, plan: Path, exported: Run, name: str) -> None:
    plan.write_text(json.dumps(json.loads(plan.read_text()) | {"name": name}))
    before = set(study.parent.rglob("*"))
    assert "plan.json is " in error_line(exported(), 1)
    assert set(study.parent.rglob("*")) == before


def test_files_that_no_record_has_are_left_out(study: Path, exported: Run) -> None:
    record = record_in(study)
    (record / "secret.txt").symlink_to("/etc/passwd")
    (record / "notes\nx").write_text("a")
    done = exported()
    assert done.returncode == 0, done.stderr
    with zipfile.ZipFile(study / "first.zip") as archive:
        names = {Path(name).name for name in archive.namelist()}
    assert {"result.json", "scores.npz", "SHA256SUMS", "plan.json"} <= names
    assert not names & {"secret.txt", "notes\nx"}


@pytest.mark.parametrize("name", ["trace.csv", "environment.json", "model.safetensors"])
@pytest.mark.parametrize("kind", ["link", "pipe"])
def test_what_is_no_file_is_refused(study: Path, exported: Run, name: str, kind: str) -> None:
    path = record_in(study) / name
    path.unlink(missing_ok=True)
    if kind == "link":
        path.symlink_to("/etc/passwd")
    else:
        os.mkfifo(path)
    assert f"{name} is no regular file" in error_line(exported(), 1)
    assert not list(study.glob("*.zip"))


@pytest.mark.parametrize("size", [-200, None], ids=["cut", "a bit flipped"])
def test_damaged_scores_get_no_checksum(study: Path, exported: Run, size: int | None) -> None:
    scores = record_in(study) / "scores.npz"
    content = bytearray(scores.read_bytes())
    content[len(content) // 3] ^= 1
    scores.write_bytes(content[:size])
    done = exported()
    assert (done.returncode, "0 records" in done.stdout, "1 runs have none" in done.stdout) == (0, True, True)
    with zipfile.ZipFile(study / "first.zip") as archive:
        assert "scores.npz" not in {Path(name).name for name in archive.namelist()}


def test_what_is_there_and_no_file_is_not_replaced(study: Path, exported: Run) -> None:
    os.mkfifo(study / "pipe")
    (study / "link").symlink_to("/dev/null")
    for target, words in {
        "pipe": "--out pipe is not a regular file",
        "link": "--out link is not a regular file",
        "": "--out . names no file",
        "results": "is a folder",
    }.items():
        assert words in error_line(exported("--out", target))
    assert "File name too long" in error_line(exported("--out", "x" * 300), 1)
    assert stat.S_ISFIFO((study / "pipe").stat().st_mode)
