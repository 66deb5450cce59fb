"""``pubench data``, and runs on what it prepared: what is here is said, what is not is named, nothing is done twice."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed import Done, Run
from refusals import error_line

from pubench_core.plugins.registry import registry

Make = Callable[..., Path]

INFOS = """
from pubench_core import DatasetInfo, Reference, hookimpl

def info(key, load, **more):
    return DatasetInfo(**{**dict(
        key=key, name=key.title(), summary="measurements of screws", load=f"acme_screws_source:{load}",
        modality="tabular", classes=("long", "short", "bent"), positive=(1,), negative=(0,), backbone="mlp",
        source="the drawer [left]", license="CC0", binarizations={"bent": ((2,), (0, 1))},
        reference=Reference(authors="Acme", title="Screws", venue="Acta Helica", year=1999)), **more})

@hookimpl
def pubench_datasets():
    return [
        info("acme-screws", "Screws", aliases=("acme-bolts",)),
        info("acme-unit", "Screws", preprocess="l2"),
        info("acme-drawer", "OnlyByHand"),
        info("acme-bad-read", "BadRead"),
        info("acme-bad-place", "BadPlace"),
        info("acme-bad-fetch", "BadFetch"),
        info("acme-gone", "Gone"),
        info("acme-apart", "TestRowsApart"),
    ]
"""

#: Rows of ``screws.csv`` are three measurements and a class. Reading and downloading leave a line in ``<root>/log``.
SOURCE = """
import numpy as np

from pubench_core.data.dataset import ClassData
from pubench_core.data.source import DataSource


def log(root, what):
    root.path.mkdir(parents=True, exist_ok=True)
    with (root.path / "log").open("a") as file:
        print(what, file=file)


class Screws(DataSource):
    def locate(self, root):
        for folder in root.folders(self.info):
            if (folder / "screws.csv").is_file():
                return (folder / "screws.csv",)
        raise root.missing(self.info, ["screws.csv"], root.folders(self.info))

    def read(self, files, root):
        log(root, "read")
        table = np.loadtxt(files[0], delimiter=",", ndmin=2)
        return ClassData(x=table[:, :3].astype(np.float32), y=table[:, 3].astype(np.int64))

    def fetch(self, root):  # does not ask whether it may
        log(root, "network")
        folder = root.path / self.info.key
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "screws.csv").write_text("".join(f"{k % 7},{k % 5},{k % 3},{k % 2}\\n" for k in range(20)))


class OnlyByHand(Screws):
    fetch = DataSource.fetch


class TestRowsApart(Screws):  # the last 40 rows are the test part
    def read(self, files, root):
        whole = super().read(files, root)
        return ClassData(x=whole.x[:-40], y=whole.y[:-40], x_test=whole.x[-40:], y_test=whole.y[-40:])


class BadRead(Screws):
    def read(self, files, root):
        raise ValueError("the thread\\nis worn")


class BadPlace(Screws):
    def locate(self, root):
        raise KeyError("drawer")


class BadFetch(Screws):
    def fetch(self, root):
        raise ConnectionError("nobody answers")
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Make) -> Iterator[Path]:
    """The folder that the plugin is installed in, for this process."""
    modules = {"acme_screws": INFOS, "acme_screws_source": SOURCE}
    folder = make_distribution(tmp_path_factory.mktemp("site"), "acme-screws", modules)
    sys.path.insert(0, str(folder))
    registry.cache_clear()
    yield folder
    sys.path.remove(str(folder))
    registry.cache_clear()
    for name in modules:
        sys.modules.pop(name, None)


@pytest.fixture
def data(pubench_within: Run, site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """``data(*words)``: the command next to the plugin, with a data root and a cache of the test's own."""
    monkeypatch.setenv("PUBENCH_DATA", str(root_of(tmp_path)))
    monkeypatch.setenv("PUBENCH_CACHE", str(tmp_path / "cache"))
    return pubench_within


def root_of(folder: Path) -> Path:
    return folder / "data"


def content(count: int = 200, seed: int = 0) -> str:
    """Rows of classes 0 0 1 1 0 0 1 1 ..., the last one of class 2; every text has the same length."""
    rng = np.random.default_rng(seed)
    y = np.append(np.arange(count - 1) // 2 % 2, 2)
    x = rng.integers(10, 50, (count, 3)) + 40 * (y[:, None] == 1)
    return "".join(f"{a},{b},{c},{k}\n" for (a, b, c), k in zip(x, y, strict=True))


def put(folder: Path, text: str | None = None, key: str = "acme-screws") -> Path:
    path = root_of(folder) / key / "screws.csv"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text or content())
    return path


def happened(folder: Path) -> list[str]:
    log = root_of(folder) / "log"
    return log.read_text().splitlines() if log.exists() else []


def copy_of(folder: Path, key: str = "acme-screws") -> Path:
    (found,) = (folder / "cache" / "prepared" / key).glob("*/manifest.json")
    return found.parent


@pytest.fixture
def ready(data: Run, tmp_path: Path) -> Path:
    """The prepared copy of ``acme-screws``."""
    put(tmp_path)
    assert data("data", "fetch", "acme-screws").returncode == 0
    return copy_of(tmp_path)


def rows_by_key(done: Done) -> dict[str, dict[str, Any]]:
    assert (done.returncode, done.stderr) == (0, "")
    return {row["key"]: row for row in json.loads(done.stdout)}


class TestList:
    COLUMNS = frozenset({"key", "state", "size", "rows", "test", "classes", "prior", "license"})

    def test_data_list_says_what_is_here_of_every_set(self, data: Run, tmp_path: Path) -> None:
        put(tmp_path)
        put(tmp_path, key="acme-drawer")
        assert data("data", "fetch", "acme-screws").returncode == 0
        rows = rows_by_key(data("list", "datasets", "--here", "--format", "json"))
        assert all(row.keys() > self.COLUMNS for row in rows.values())
        assert {name: rows["acme-screws"][name] for name in self.COLUMNS} == {
            "key": "acme-screws",
            "state": "prepared",
            "size": sum(path.stat().st_size for path in copy_of(tmp_path).glob("*.npy")),
            "rows": 200,
            "test": None,
            "classes": 3,
            "prior": round(99 / 199, 4),
            "license": "CC0",
        }
        assert (rows["acme-drawer"]["state"], rows["acme-drawer"]["rows"]) == ("files", None)
        assert rows["acme-drawer"]["size"] == len(content())
        assert (rows["acme-unit"]["state"], rows["acme-unit"]["size"]) == ("absent", None)
        assert (rows["digits"]["state"], rows["digits"]["license"]) == ("packaged", "CC BY 4.0")

    def test_a_source_that_fails_is_broken_and_the_others_are_listed(self, data: Run) -> None:
        rows = rows_by_key(data("list", "datasets", "--here", "--format", "json"))
        assert {k: rows[k]["state"] for k in ("acme-bad-place", "acme-gone", "acme-bad-read")} == {
            "acme-bad-place": "broken",
            "acme-gone": "broken",
            "acme-bad-read": "absent",
        }

    def test_the_table_ends_with_the_folders(self, data: Run, ready: Path, tmp_path: Path) -> None:
        done = data("list", "datasets", "--here")
        assert (done.returncode, done.stderr) == (0, "")
        head, *_, last = done.stdout.splitlines()
        assert set(head.split()) > self.COLUMNS - {"test"}  # no set here has a test part
        line = next(line for line in done.stdout.splitlines() if line.startswith("acme-screws "))
        assert {"prepared", "0.0", "MiB", "200", "3", "0.4975", "CC0"} <= set(line.split())
        assert last.rstrip() == (
            f"files: {root_of(tmp_path)} (from PUBENCH_DATA); prepared copies: {tmp_path / 'cache' / 'prepared'}"
        )

    def test_data_root_wins_over_the_environment(self, data: Run, tmp_path: Path) -> None:
        put(tmp_path / "other")
        words = ("data", "fetch", "acme-screws", "--offline")
        assert data(*words).returncode == 2
        assert data(*words, "--data-root", tmp_path / "other" / "data").returncode == 0

    def test_only_data_sets_are_here(self, data: Run) -> None:
        assert error_line(data("list", "methods", "--here"), 2) == (
            "error: --here lists what is here of data sets: pubench list datasets --here, got list methods"
        )


class TestInfo:
    def test_json_says_everything(self, data: Run, tmp_path: Path) -> None:
        path = put(tmp_path)
        data("data", "fetch", "acme-screws")
        done = data("info", "acme-bolts", "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        facts = json.loads(done.stdout)
        assert (facts["key"], facts["state"], facts["rows"], facts["missing"]) == ("acme-screws", "prepared", 200, "")
        assert facts["classes"] == [
            {"index": 0, "name": "long", "rows": 100, "test": None},
            {"index": 1, "name": "short", "rows": 99, "test": None},
            {"index": 2, "name": "bent", "rows": 1, "test": None},
        ]
        assert facts["binarizations"] == {
            "default": {"positive": [1], "negative": [0]},
            "bent": {"positive": [2], "negative": [0, 1]},
        }
        assert (facts["files"], facts["n_files"]) == ([str(path)], 1)
        (copy,) = facts["copies"]
        assert (copy["folder"], copy["bytes"]) == (str(copy_of(tmp_path)), facts["size"])
        assert (facts["license"], facts["source"]) == ("CC0", "the drawer [left]")

    def test_the_table_says_it_in_words(self, data: Run, ready: Path) -> None:
        lines = [line.rstrip() for line in data("info", "acme-bolts").stdout.splitlines()]
        assert lines[:2] == ["acme-screws  dataset: Acme-Screws", "Acme, Screws, Acta Helica 1999"]
        for line in (
            "  license: CC0",
            "  source: the drawer [left]",
            "  state: prepared",
            "  size: 0.0 MiB",
            "default: positive 1; negative 0",
            "bent: positive 2; negative 0, 1",
        ):
            assert line in lines
        assert "1 short 99" in [" ".join(line.split()) for line in lines]
        assert any(line.startswith(f"copy: {ready} (0.0 MiB, ") for line in lines)

    def test_data_info_says_what_is_missing_of_an_absent_set(self, data: Run, tmp_path: Path) -> None:
        done = data("info", "acme-bolts", "--format", "json")
        facts = json.loads(done.stdout)
        assert (facts["state"], facts["rows"], facts["files"], facts["copies"]) == ("absent", None, [], [])
        assert facts["missing"].startswith(f"acme-screws: no screws.csv in {root_of(tmp_path) / 'acme-screws'} and ")
        assert facts["missing"] in " ".join(data("info", "acme-bolts").stdout.split())

    def test_data_info_says_what_to_do_about_a_damaged_copy(self, data: Run, ready: Path) -> None:
        (ready / "manifest.json").write_text("{")
        facts = json.loads(data("info", "acme-bolts", "--format", "json").stdout)
        assert facts["state"] == "damaged"
        assert facts["missing"].endswith("(pubench data remove acme-screws)")
        assert facts["missing"] in data("info", "acme-bolts").stdout


class TestFetch:
    def test_what_is_absent_is_downloaded_and_prepared_once(self, data: Run, tmp_path: Path) -> None:
        first, second = data("data", "fetch", "acme-screws"), data("data", "fetch", "acme-screws")
        ready = f"acme-screws: ready, 20 rows, {copy_of(tmp_path)}"
        assert (first.returncode, first.stdout, second.returncode) == (0, "", 0)
        assert first.stderr.splitlines() == ["acme-screws: fetching", ready]
        assert second.stderr.splitlines() == [ready]
        assert happened(tmp_path) == ["network", "read"]

    def test_several_that_are_here_are_prepared_as_a_run_opens_them(self, data: Run, tmp_path: Path) -> None:
        for key in ("acme-screws", "acme-unit"):
            put(tmp_path, key=key)
        done = data("data", "fetch", "acme-screws", "acme-unit", "digits", "--offline")
        assert done.returncode == 0
        assert done.stderr.splitlines()[-1] == "digits: ready, 1797 rows, comes with its package"
        assert np.allclose(np.linalg.norm(np.load(copy_of(tmp_path, "acme-unit") / "x.npy"), axis=1), 1)
        assert happened(tmp_path) == ["read", "read"]

    def test_offline_nothing_is_downloaded_whatever_the_source_would_do(self, data: Run, tmp_path: Path) -> None:
        line = error_line(data("data", "fetch", "acme-screws", "--offline"), 2)
        assert line.startswith(f"error: acme-screws: no screws.csv in {root_of(tmp_path) / 'acme-screws'}")
        assert line.endswith("; nothing is downloaded with --offline")
        assert happened(tmp_path) == []

    @pytest.mark.parametrize("key", ["mnist", "cifar10", "usps", "imagenette", "imdb", "20news"])
    def test_offline_none_of_ours_is_downloaded(self, pubench_within: Run, tmp_path: Path, key: str) -> None:
        line = error_line(pubench_within("data", "fetch", key, "--offline", "--data-root", root_of(tmp_path)), 2)
        assert key in line
        assert "--offline" in line
        assert not root_of(tmp_path).exists()

    def test_a_set_that_nobody_can_download_says_where_it_is_from(self, data: Run, tmp_path: Path) -> None:
        done = data("data", "fetch", "acme-drawer")
        assert done.returncode == 2
        assert done.stderr.splitlines() == [
            "acme-drawer: fetching",
            "error: acme-drawer cannot be downloaded by pubench: get it from the drawer [left] and put it into "
            f"{root_of(tmp_path) / 'acme-drawer'}",
        ]

    @pytest.mark.parametrize(
        ("key", "words"),
        [
            ("acme-bad-fetch", "dataset 'acme-bad-fetch' could not be fetched: ConnectionError: nobody answers"),
            ("acme-gone", "dataset 'acme-gone' cannot be loaded from acme_screws_source:Gone: AttributeError"),
        ],
    )
    def test_a_source_that_fails_is_named_with_its_cause(self, data: Run, tmp_path: Path, key: str, words: str) -> None:
        done = data("data", "fetch", key)
        assert done.returncode == 1
        assert "Traceback" not in done.stderr
        assert done.stderr.splitlines()[-1].startswith(f"error: {words}")
        assert not list((tmp_path / "cache").rglob("*.npy"))


class TestVerify:
    @pytest.mark.parametrize("words", [("acme-bolts",), ("--data",)], ids=["one", "all"])
    def test_a_sound_copy(self, data: Run, ready: Path, words: tuple[str, ...]) -> None:
        done = data("doctor", *words)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(f"acme-screws: {ready}: as prepared\n")

    def test_every_copy_is_verified_though_the_first_is_damaged(self, data: Run, ready: Path, tmp_path: Path) -> None:
        put(tmp_path, key="acme-unit")
        data("data", "fetch", "acme-unit")
        (ready / "manifest.json").write_text("{")
        (copy_of(tmp_path, "acme-unit") / "y.npy").unlink()
        done = data("doctor", "--data")
        assert done.returncode == 1
        assert [line.rsplit(": ", 1)[1] for line in done.stdout.splitlines()] == ["1 of its files differ"] * 2
        assert {line.split(" ")[1] for line in done.stderr.splitlines()} == {
            str(ready / "manifest.json"),
            str(copy_of(tmp_path, "acme-unit") / "y.npy"),
        }

    def test_where_nothing_is_prepared(self, data: Run, tmp_path: Path) -> None:
        put(tmp_path)
        done = data("doctor", "--data")
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout == f"no prepared copies in {tmp_path / 'cache' / 'prepared'}\n"
        assert data("doctor", "acme-bolts").returncode == data("doctor", "digits").returncode == 0


class TestRemove:
    def test_copies_go_and_files_stay(self, data: Run, tmp_path: Path) -> None:
        path = put(tmp_path, content(60_000))
        data("data", "fetch", "acme-screws")
        done = data("data", "remove", "acme-bolts")
        assert (done.returncode, done.stdout) == (0, "")
        assert done.stderr == "acme-screws: 1.1 MiB freed; the files as distributed stay\n"
        assert path.read_text() == content(60_000)
        assert not list((tmp_path / "cache").rglob("*.npy"))
        assert f"file: {path}\n" in data("info", "acme-bolts").stdout

    def test_data_remove_says_if_there_is_no_copy(self, data: Run) -> None:
        done = data("data", "remove", "acme-screws", "digits")
        assert (done.returncode, done.stderr) == (0, "acme-screws: no copy\ndigits: no copy\n")


@pytest.mark.parametrize("command", ["fetch", "remove"])
def test_an_unknown_set_is_refused_with_the_nearest_spelling(data: Run, tmp_path: Path, command: str) -> None:
    line = error_line(data("data", command, "acme-screw"), 2)
    assert line == "error: unknown dataset 'acme-screw'; did you mean 'acme-screws'? (pubench list datasets)"
    assert not (tmp_path / "cache").exists()


@pytest.mark.parametrize("command", ["fetch", "remove"])
def test_one_unknown_set_among_several_stops_all_before_anything_is_done(data: Run, ready: Path, command: str) -> None:
    done = data("data", command, "acme-screws", "nonsense")
    assert (done.returncode, done.stdout) == (2, "")
    assert "unknown dataset 'nonsense'" in done.stderr
    assert ready.exists()


def test_a_share_that_decides_nothing_is_said(data: Run, tmp_path: Path) -> None:
    put(tmp_path, key="acme-apart")
    words = ("run", "--method", "nnpu", "--data", "acme-apart", "--c", 0.5, "--no-tracking", "--set", "epochs=1")
    said = data(*words, "--set", "data.test_fraction=0.3").stderr
    line = next(line for line in said.splitlines() if "decides nothing" in line)
    assert line == (
        "acme-apart has a test part of its own: data.test_fraction 0.3 decides nothing; --set data.test=drawn "
        "draws one from all of its rows"
    )


def test_a_run_downloads_nothing(data: Run, tmp_path: Path) -> None:
    line = error_line(data("run", "--method", "nnpu", "--data", "acme-screws", "--c", 0.5), 2)
    assert "acme-screws: no screws.csv in " in line
    assert happened(tmp_path) == []
