"""Embeddings next to the texts are taken instead of encoding once they are shown to be those of these texts."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest
from pubench_datasets_text import pubench_datasets
from refusals import refusal

from pubench_core.data.dataset import ClassData, DataRoot
from pubench_core.data.source import source_of

Read = Callable[[str], ClassData]
Vectors = npt.NDArray[np.float32]
AsVectors = Callable[[Sequence[str]], Vectors]
Arrays = dict[str, npt.NDArray[Any]]

INFOS = {info.key: info for info in pubench_datasets()}
N = 40
TEXTS = [f"review {row}" for row in range(N)]
LABELS = np.arange(N) % 2
SPLIT = np.where(np.arange(N) < 30, "train", "test")


@pytest.fixture
def folder(root: DataRoot) -> Path:
    found = root.path / "imdb"
    found.mkdir(parents=True)
    rows = zip(TEXTS, LABELS.tolist(), SPLIT.tolist(), strict=True)
    lines = [json.dumps({"id": f"{n}.txt", "split": s, "label": y, "text": t}) for n, (t, y, s) in enumerate(rows)]
    (found / "imdb.jsonl").write_text("\n".join(lines))
    return found


@pytest.fixture
def arrays(as_vectors: AsVectors) -> Arrays:
    """What a right file holds."""
    return {
        "embedding": as_vectors(TEXTS).astype(np.float16),
        "target": LABELS.astype(np.int8),
        "split": SPLIT,
        "index": np.arange(N, dtype=np.int32),
    }


def write(folder: Path, arrays: Arrays) -> Path:
    np.savez_compressed(folder / "minilm_l6_v2.npz", **arrays)
    return folder / "minilm_l6_v2.npz"


def refused(read: Read, path: Path) -> str:
    line = refusal(lambda: read("imdb"))
    assert line.startswith(f"{path} ")
    return line


class TestTaken:
    def test_float32_embeddings_are_taken_after_a_sample_is_encoded(
        self, folder: Path, read: Read, arrays: Arrays, encoded: list[str]
    ) -> None:
        write(folder, arrays)
        data = read("imdb")
        assert data.x.dtype == np.float32
        assert np.array_equal(data.x, arrays["embedding"][:30].astype(np.float32))
        assert data.x_test is not None
        assert np.array_equal(data.x_test, arrays["embedding"][30:].astype(np.float32))
        assert len(encoded) == 16
        assert {"review 0", "review 39"} <= set(encoded)  # from the first to the last, always the same

    @pytest.mark.usefixtures("hub_cache")
    def test_without_an_encoder_the_sample_is_left_out_which_is_said(
        self, folder: Path, read: Read, arrays: Arrays, said: list[str]
    ) -> None:
        write(folder, arrays)
        assert len(read("imdb").x) == 30
        assert said == [
            "minilm_l6_v2.npz: taken without comparing a sample, there is no sentence encoder on this machine"
        ]

    @pytest.mark.usefixtures("hub_cache")
    def test_targets_by_name_and_file_names(self, folder: Path, read: Read, arrays: Arrays) -> None:
        names = np.array(["pos", "neg"])
        files = np.array([f"{n}.txt" for n in range(N)])
        write(folder, {**arrays, "target": 1 - arrays["target"], "target_names": names, "filename": files})
        assert read("imdb").y.tolist() == LABELS[:30].tolist()

    def test_not_where_the_user_named_an_encoder(
        self, folder: Path, root: DataRoot, arrays: Arrays, encoded: list[str], make_model: Callable[..., Path]
    ) -> None:
        write(folder, arrays)
        source, own = source_of(INFOS["imdb"]), replace(root, encoder=make_model(folder / "own"))
        files = source.locate(own)
        assert [path.name for path in files] == ["imdb.jsonl"]
        assert source.variant(own, files) != "npz"
        source.read(files, own)
        assert sorted(encoded) == sorted(TEXTS)

    @pytest.mark.usefixtures("hub_cache")
    def test_the_variant_is_npz_and_needs_no_encoder(self, folder: Path, root: DataRoot, arrays: Arrays) -> None:
        path = write(folder, arrays)
        source = source_of(INFOS["imdb"])
        files = source.locate(replace(root, offline=True))
        assert files == (folder / "imdb.jsonl", path)
        assert source.variant(root, files) == "npz"


def with_value(array: npt.NDArray[Any], row: int, value: Any) -> npt.NDArray[Any]:
    changed = array.copy()
    changed[row] = value
    return changed


@pytest.mark.usefixtures("hub_cache")
class TestRefused:
    @pytest.mark.parametrize(
        ("change", "words"),
        [
            (lambda a: {"embedding": a["embedding"][:-1]}, "has 39 rows for 40 documents"),
            (
                lambda a: {"target": with_value(a["target"], 7, 0)},
                "target of row 7 is 0, that of the document there is 1",
            ),
            (lambda a: {"split": with_value(a["split"], 3, "test")}, "split of row 3 is test"),
            (lambda a: {"index": with_value(a["index"], 5, 6)}, "index of row 5 is 6"),
            (
                lambda a: {"filename": np.array(["x.txt"] * N)},
                "filename of row 0 is x.txt, that of the document there is 0",
            ),
            (lambda a: {"target": a["target"][:-2]}, "has 40 documents and 38 values of target"),
            (lambda a: {"target_names": np.array(["neg", "so-so"])}, "has a class 'so-so'"),
            (lambda a: {"target_names": np.array(["neg"])}, "none of its 1 target_names"),
            (lambda a: {"embedding": with_value(a["embedding"], 4, np.nan)}, "length nan in row 4"),
            (lambda a: {"embedding": with_value(a["embedding"], 4, np.inf)}, "length inf in row 4"),
            (lambda a: {"embedding": with_value(a["embedding"], 9, 0)}, "length 0 in row 9"),
            (lambda a: {"embedding": a["embedding"] * 2}, "in row 0; expected unit length"),
            (lambda a: {"embedding": a["embedding"][:, 0]}, "shape (40,); expected (n, 384) float16"),
            (lambda a: {"embedding": a["embedding"].astype(np.float64)}, "type float64"),
        ],
    )
    def test_arrays_that_do_not_fit_the_texts(
        self, folder: Path, read: Read, arrays: Arrays, change: Callable[[Arrays], Arrays], words: str
    ) -> None:
        line = refused(read, write(folder, {**arrays, **change(arrays)}))
        assert words in line
        assert line.endswith("get the right one, or delete it and the texts are encoded here")

    @pytest.mark.parametrize("name", ["embedding", "target", "split"])
    def test_an_array_that_is_missing(self, folder: Path, read: Read, arrays: Arrays, name: str) -> None:
        del arrays[name]
        assert f"has no array {name}" in refused(read, write(folder, arrays))

    @pytest.mark.parametrize(
        "damage",
        [
            lambda content: content[: len(content) // 2],
            lambda content: b"",
            lambda content: b"<html>not found</html>",
            lambda content: content[:2000] + b"\xff" * 500 + content[2500:],
        ],
        ids=["half", "empty", "a-web-page", "garbled"],
    )
    def test_a_file_that_is_damaged(
        self, folder: Path, read: Read, arrays: Arrays, damage: Callable[[bytes], bytes]
    ) -> None:
        path = write(folder, arrays)
        path.write_bytes(damage(path.read_bytes()))
        assert refused(read, path).startswith(f"{path} is damaged (")

    def test_a_file_of_one_array(self, folder: Path, read: Read, arrays: Arrays) -> None:
        path = folder / "minilm_l6_v2.npz"
        with path.open("wb") as stream:
            np.save(stream, arrays["embedding"])
        assert "is no npz file" in refused(read, path)

    def test_a_file_with_python_objects_which_are_not_run(self, folder: Path, read: Read, arrays: Arrays) -> None:
        arrays["target"] = np.array([object()] * N)
        assert "damaged" in refused(read, write(folder, arrays))


@pytest.mark.usefixtures("encoded")
class TestSample:
    def test_vectors_of_another_encoder(self, folder: Path, read: Read, arrays: Arrays, as_vectors: AsVectors) -> None:
        """Rows are called wrong one by one: the worst of the sample is named, with its cosine."""
        others = as_vectors([f"{text}!" for text in TEXTS])
        line = refused(read, write(folder, {**arrays, "embedding": others}))
        sample = np.unique(np.linspace(0, N - 1, 16).astype(int))
        cosines = (others * as_vectors(TEXTS)).sum(axis=1)[sample]
        worst = int(cosines.argmin())
        assert f"row {sample[worst]} has cosine {cosines[worst]:.4f}" in line

    def test_one_row_of_the_sample_is_enough(
        self, folder: Path, read: Read, arrays: Arrays, as_vectors: AsVectors
    ) -> None:
        arrays["embedding"][-1] = as_vectors(["another text"])[0]
        assert f"row {N - 1} has cosine" in refused(read, write(folder, arrays))

    def test_vectors_of_another_width(self, folder: Path, read: Read, arrays: Arrays) -> None:
        narrow = arrays["embedding"][:, :100].astype(np.float32)
        narrow /= np.linalg.norm(narrow, axis=1, keepdims=True)
        assert "has 100 values in a row, 384 are made by" in refused(
            read, write(folder, {**arrays, "embedding": narrow})
        )
