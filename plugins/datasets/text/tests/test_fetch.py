"""Downloads: complete and right or not there at all; every failure is one line; none where the root is offline."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import huggingface_hub
import pyarrow as pa
import pytest
from made_archives import tar_gz
from pyarrow import parquet
from refusals import refusal, source
from sklearn.datasets import _twenty_newsgroups as sklearn_20news
from sklearn.datasets._base import RemoteFileMetadata

from pubench_core.data.dataset import ClassData, DataRoot


@pytest.fixture
def source_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A file on this machine in the place of the one that scikit-learn downloads."""
    path = tmp_path / "distributed.tar.gz"
    places = ("20news-bydate-train/sci.med/1", "20news-bydate-test/rec.autos/2")
    path.write_bytes(tar_gz(dict.fromkeys(places, b"text")))
    checksum = hashlib.sha256(path.read_bytes()).hexdigest()
    known = RemoteFileMetadata(filename="20news-bydate.tar.gz", url=path.as_uri(), checksum=checksum)
    monkeypatch.setattr(sklearn_20news, "ARCHIVE", known)
    return path


def failed(key: str, root: DataRoot) -> str:
    return refusal(lambda: source(key).fetch(root))


@pytest.mark.usefixtures("encoded")
class TestNewsgroups:
    def test_what_is_downloaded_is_read(
        self, root: DataRoot, source_file: Path, read: Callable[[str], ClassData]
    ) -> None:
        steps: list[int] = []

        @contextmanager
        def progress(label: str, total: int) -> Iterator[Callable[[int], None]]:
            assert (label, total) == ("downloading 20news-bydate.tar.gz", source_file.stat().st_size)
            yield steps.append

        source("20news").fetch(replace(root, progress=progress))
        assert sum(steps) == source_file.stat().st_size
        assert [path.name for path in (root.path / "20news").iterdir()] == ["20news-bydate.tar.gz"]
        assert read("20news").y.tolist() == [4]

    def test_a_download_that_is_not_the_known_file(self, root: DataRoot, source_file: Path) -> None:
        source_file.write_bytes(source_file.read_bytes()[:-10])
        line = failed("20news", root)
        assert line.startswith(
            f"20news could not be downloaded to {root.path / '20news'} (20news-bydate.tar.gz has SHA-256 "
        )


@pytest.mark.usefixtures("encoded")
class TestImdb:
    def test_what_is_downloaded_is_read(
        self, root: DataRoot, read: Callable[[str], ClassData], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        def download(name: str, *, repo_type: str, allow_patterns: list[str], local_dir: str) -> str:
            assert (name, repo_type) == ("stanfordnlp/imdb", "dataset")
            assert allow_patterns == ["plain_text/train-*.parquet", "plain_text/test-*.parquet"]
            (Path(local_dir) / "plain_text").mkdir()
            for part in ("train", "test"):
                table = pa.table({"text": ["bad", "good"], "label": [0, 1]})
                parquet.write_table(table, Path(local_dir) / "plain_text" / f"{part}-00000-of-00001.parquet")
            return local_dir

        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
        source("imdb").fetch(root)
        assert read("imdb").y.tolist() == [0, 1]
        assert [path.name for path in (root.path / "imdb").iterdir()] == ["plain_text"]

    def test_a_hub_without_the_files(self, root: DataRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, local_dir, **__: local_dir)
        assert "no longer has plain_text/train-*.parquet and plain_text/test-*.parquet" in failed("imdb", root)
