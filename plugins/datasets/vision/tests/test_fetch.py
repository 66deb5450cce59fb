"""Downloads: what is complete is where the loader looks, what is not leaves nothing behind. The network is a folder."""

from __future__ import annotations

import bz2
import gzip
import shutil
import struct
from pathlib import Path
from typing import Any

import pytest
from refusals import refusal, source

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

NAMES = [f"{part}-{kind}-ubyte.gz" for part in ("train", "t10k") for kind in ("images-idx3", "labels-idx1")]
FILES = {
    "mnist": NAMES,
    "fashion-mnist": NAMES,
    "cifar10": ["cifar-10-python.tar.gz"],
    "usps": ["usps.bz2", "usps.t.bz2"],
    "imagenette": ["imagenette2-160.tgz"],
}


IDX = {
    "images": gzip.compress(b"\0\0\x08\x03" + struct.pack(">3I", 5, 28, 28) + bytes(5 * 28 * 28)),
    "labels": gzip.compress(b"\0\0\x08\x01" + struct.pack(">I", 5) + bytes(range(5))),
}


def content(name: str) -> bytes:
    if name.endswith("ubyte.gz"):  # torchvision reads what it downloaded
        return IDX["images" if "images" in name else "labels"]
    return bz2.compress(name.encode()) if name.endswith(".bz2") else gzip.compress(name.encode() * 100, mtime=0)


class Network:
    """Stands in for the network, below torchvision's retries and checksums: a folder. ``opened``: addresses."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.opened = folder, []  # type: tuple[Path, list[str]]

    def get(self, url: str, target: str, **more: Any) -> None:
        self.opened.append(url)
        shutil.copyfile(self.folder / url.rsplit("/", 1)[1], target)


@pytest.fixture
def network(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Network:
    found = Network(tmp_path / "network")
    found.folder.mkdir()
    for names in FILES.values():
        for name in names:
            (found.folder / name).write_bytes(content(name))
    monkeypatch.setattr("torchvision.datasets.utils._get_redirect_url", lambda url, max_hops: url)
    monkeypatch.setattr("torchvision.datasets.utils._urlretrieve", found.get)
    return found


@pytest.fixture
def checksums_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torchvision.datasets.utils.check_integrity", lambda path, md5=None: Path(path).is_file())


def root_of(tmp_path: Path, **more: Any) -> DataRoot:
    return DataRoot(tmp_path / "root", "a test", **more)


def kept(tmp_path: Path) -> list[str]:
    return sorted(str(p.relative_to(tmp_path / "root")) for p in (tmp_path / "root").rglob("*") if p.is_file())


@pytest.mark.parametrize("key", FILES)
class TestEverySet:
    def test_what_was_downloaded_is_where_the_loader_looks(
        self, tmp_path: Path, network: Network, checksums_agree: None, key: str
    ) -> None:
        said: list[str] = []
        root = root_of(tmp_path, say=said.append)
        source(key).fetch(root)
        assert kept(tmp_path) == sorted(f"{key}/{name}" for name in FILES[key])
        assert {path.name for path in source(key).locate(root)} == set(FILES[key])
        assert said == [f"{key}: downloading to {tmp_path / 'root' / key}"]

    def test_a_truncated_download_leaves_nothing(self, tmp_path: Path, network: Network, key: str) -> None:
        """The files here have other checksums than the published ones, as a file that was cut short has."""
        line = refusal(lambda: source(key).fetch(root_of(tmp_path)))
        assert line.startswith(f"{key} could not be downloaded to {tmp_path / 'root' / key} (")
        assert network.opened
        assert kept(tmp_path) == []
        with pytest.raises(RequestError):
            source(key).locate(root_of(tmp_path))
