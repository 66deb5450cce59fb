"""Where the encoder is looked for, in which order, and what tells one from another."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import ModuleType

import huggingface_hub
import pytest
from made_texts import write_model
from pubench_datasets_text import model
from pubench_datasets_text.model import find, find_local, fingerprint, fingerprint_in_use
from refusals import refusal

from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, hub_cache: Path) -> Path:
    """An installed package that brings the model."""
    folder = write_model(tmp_path / "packaged")
    module = ModuleType("a_package_with_a_model")
    module.get_model_path = lambda: folder  # type: ignore[attr-defined]
    module.__spec__ = __import__("importlib.machinery").machinery.ModuleSpec("a_package_with_a_model", None)
    monkeypatch.setitem(sys.modules, "a_package_with_a_model", module)
    monkeypatch.setattr(model, "PACKAGE", "a_package_with_a_model")
    return folder


@pytest.fixture
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(huggingface_hub, "snapshot_download", lambda *_, **__: pytest.fail("the network was used"))


class TestOrder:
    @pytest.mark.usefixtures("no_network")
    def test_the_user_s_then_the_cache_s_then_the_package_s(
        self, root: DataRoot, tmp_path: Path, package: Path, put_in_hub_cache: Callable[[], Path]
    ) -> None:
        assert find(root).folder == package
        cached = put_in_hub_cache()
        assert (find(root).folder, find(root).revision) == (cached, "0123abc")
        own = write_model(tmp_path / "own")
        assert find(replace(root, encoder=own)).folder == own

    def test_a_half_downloaded_model_is_passed_over(
        self, root: DataRoot, package: Path, put_in_hub_cache: Callable[[], Path]
    ) -> None:
        (put_in_hub_cache() / "model.safetensors").unlink()
        assert find(root).folder == package

    def test_download_comes_last(
        self, root: DataRoot, tmp_path: Path, hub_cache: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        downloaded = []

        def download(name: str, **_: object) -> str:
            downloaded.append(name)
            return str(write_model(tmp_path / "0123abc"))

        monkeypatch.setattr(huggingface_hub, "snapshot_download", download)
        assert find_local(root) is None
        found = find(root)
        assert (downloaded, found.revision) == (["sentence-transformers/all-MiniLM-L6-v2"], "0123abc")

    @pytest.mark.usefixtures("hub_cache", "no_network")
    def test_offline_names_four_ways(self, root: DataRoot) -> None:
        line = refusal(lambda: find(replace(root, offline=True)))
        for way in (
            "execution.encoder=PATH",
            "Hugging Face cache",
            "pip install pubench-datasets-text[offline-encoder]",
            "without execution.offline",
        ):
            assert way in line

    @pytest.mark.usefixtures("hub_cache")
    def test_a_network_that_fails_is_one_line(self, root: DataRoot, monkeypatch: pytest.MonkeyPatch) -> None:
        def fail(*_: object, **__: object) -> str:
            raise ConnectionError("no\nroute")

        monkeypatch.setattr(huggingface_hub, "snapshot_download", fail)
        assert "could not be downloaded: no route; name" in refusal(lambda: find(root))


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (lambda folder: (folder / "modules.json").unlink(), "has no modules.json"),
        (lambda folder: (folder / "modules.json").write_text("{"), "has a modules.json that cannot be read"),
        (lambda folder: (folder / "modules.json").write_text("[1]"), "has a modules.json that cannot be read"),
        (lambda folder: (folder / "model.safetensors").unlink(), "has no weights"),
        (lambda folder: folder.rename(folder.with_name("elsewhere")), "is not a folder"),
    ],
)
def test_a_path_of_the_user_s_that_is_no_model(
    root: DataRoot, tmp_path: Path, spoil: Callable[[Path], None], words: str
) -> None:
    folder = write_model(tmp_path / "own")
    spoil(folder)
    line = refusal(lambda: find_local(replace(root, encoder=folder)))
    assert line.startswith(f"execution.encoder={folder} {words}")
    assert "sentence-transformers model" in line


@pytest.fixture
def found(tmp_path: Path) -> model.SentenceModel:
    return model.SentenceModel(write_model(tmp_path / "own"), "a test")


class TestFingerprint:
    def test_changes_with_what_decides_and_with_nothing_else(self, tmp_path: Path, found: model.SentenceModel) -> None:
        other = model.SentenceModel(write_model(tmp_path / "other"), "a test")
        before = fingerprint(found, tmp_path / "cache")
        assert fingerprint(other, tmp_path / "cache") == before
        (tmp_path / "file").write_text("in the way")
        assert fingerprint(found, tmp_path / "file") == before  # needs no cache that can be written
        for name in ("README.md", "data_config.json", "tf_model.h5", "pytorch_model.bin"):
            (found.folder / name).write_bytes(b"x")
        assert fingerprint(found, tmp_path / "cache") == before
        marks = {before}
        for name in ("model.safetensors", "tokenizer.json", "config.json", "1_Pooling/config.json"):
            (found.folder / name).write_bytes(b"{ }")
            marks.add(fingerprint(found, tmp_path / "cache"))
        assert len(marks) == 5

    def test_is_remembered_as_long_as_no_file_changes(
        self, tmp_path: Path, found: model.SentenceModel, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        before = fingerprint(found, tmp_path / "cache")
        opened: list[object] = []
        digest = model.hashlib.file_digest
        monkeypatch.setattr(
            model.hashlib, "file_digest", lambda stream, name: opened.append(stream) or digest(stream, name)
        )
        assert fingerprint(found, tmp_path / "cache") == before
        assert not opened
        os.utime(found.folder / "config.json", ns=(1, 1))
        assert fingerprint(found, tmp_path / "cache") == before
        assert opened

    @pytest.mark.usefixtures("no_network")
    def test_the_fingerprint_of_an_encoder_that_is_gone_is_known_where_it_was_used(
        self, root: DataRoot, put_in_hub_cache: Callable[[], Path], hub_cache: Path
    ) -> None:
        put_in_hub_cache()
        mark = fingerprint_in_use(root)
        model.remember_as_last(root, mark)
        hub_cache.rename(hub_cache.with_name("gone"))
        assert fingerprint_in_use(root) == mark
        with pytest.raises(RequestError, match="is not on this machine"):
            find(replace(root, offline=True))

    def test_the_fingerprint_of_the_user_s_encoder_is_not_the_default(
        self, root: DataRoot, tmp_path: Path, hub_cache: Path
    ) -> None:
        own = replace(root, encoder=write_model(tmp_path / "own"))
        model.remember_as_last(own, fingerprint_in_use(own))
        with pytest.raises(RequestError, match="is not on this machine"):
            fingerprint_in_use(replace(root, offline=True))
