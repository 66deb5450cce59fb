"""Downloading from OpenML: on demand only, to where it is found, and every failure is one line."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace

import pytest
from refusals import refusal, source

from pubench_core.data.dataset import DataRoot


class FakeOpenML(ModuleType):
    """Stands for the ``openml`` package: ``get_dataset`` does what the test says."""

    def __init__(self, get_dataset: Callable[..., None]) -> None:
        super().__init__("openml")
        self.folder = Path("its", "own")
        self.exceptions = SimpleNamespace(PyOpenMLError=type("PyOpenMLError", (Exception,), {}))
        self.datasets = SimpleNamespace(get_dataset=get_dataset)
        self.config = SimpleNamespace(
            get_config_as_dict=lambda: {"cachedir": self.folder}, set_root_cache_directory=self._move
        )

    def _move(self, folder: Path) -> None:
        self.folder = folder


@pytest.fixture
def fake(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[..., None]], FakeOpenML]:
    def install(get_dataset: Callable[..., None]) -> FakeOpenML:
        module = FakeOpenML(get_dataset)
        monkeypatch.setitem(sys.modules, "openml", module)
        monkeypatch.setitem(sys.modules, "openml.exceptions", module.exceptions)
        return module

    return install


class TestFetch:
    def test_a_download_lies_where_it_is_found(self, fake: Callable[..., FakeOpenML], root: DataRoot) -> None:
        """As ARFF, which has a checksum; OpenML's own settings are as before."""
        said: list[str] = []

        def download(number: int, *, download_data: bool) -> None:
            assert download_data
            assert os.environ["OPENML_SKIP_PARQUET"] == "true"
            folder = module.folder / "org" / "openml" / "www" / "datasets" / str(number)
            folder.mkdir(parents=True)
            (folder / "dataset.arff").write_text("@RELATION set")

        module = fake(download)
        source("spambase").fetch(replace(root, say=said.append))
        (found,) = source("spambase").locate(root)
        assert found.read_text() == "@RELATION set"
        assert module.folder == Path("its", "own")
        assert "OPENML_SKIP_PARQUET" not in os.environ
        assert said == [f"spambase: downloading data set 44 of OpenML to {root.cache / 'openml'}"]

    @pytest.mark.parametrize("kind", ["network", "server", "nothing"])
    def test_a_failure_is_one_line(self, kind: str, fake: Callable[..., FakeOpenML], root: DataRoot) -> None:
        def fail(number: int, *, download_data: bool) -> None:
            if kind != "nothing":
                error = ConnectionError if kind == "network" else module.exceptions.PyOpenMLError
                raise error("no way\nto the server")

        module = fake(fail)
        line = refusal(lambda: source("letter").fetch(root))
        sent = "letter: OpenML sent no file for its data set 6; "
        failed = "letter could not be downloaded (no way to the server); try again, or "
        where = f"get it from {source('letter').info.source} and put it into {root.path / 'letter'}"
        assert line == (sent if kind == "nothing" else failed) + where
        assert module.folder == Path("its", "own")

    @pytest.mark.filterwarnings("default")  # the package's own warnings are not ours
    def test_the_real_package_without_a_network(self, root: DataRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        """Its functions are called as they are; the first connection is refused."""
        openml = pytest.importorskip("openml")

        def refuse(*given: object, **more: object) -> None:
            raise ConnectionRefusedError("refused by the test")

        monkeypatch.setattr(socket, "create_connection", refuse)
        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        for name in ("http_proxy", "https_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "all_proxy"):
            monkeypatch.delenv(name, raising=False)
        monkeypatch.setattr(openml.config, "connection_n_retries", 1)
        before = openml.config.get_cache_directory()
        assert "spambase could not be downloaded (" in refusal(lambda: source("spambase").fetch(root))
        assert openml.config.get_cache_directory() == before
        assert "no spambase.data" in refusal(lambda: source("spambase").locate(root))
