"""IMDb and 20 Newsgroups read the same from every form they are distributed in; what is wrong with one is one line."""

from __future__ import annotations

import gzip
import json
import lzma
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from made_archives import tar, tar_gz, write_files
from made_texts import vectors_of
from pyarrow import parquet

from pubench_core.data.dataset import ClassData, DataRoot

Read = Callable[[str], ClassData]
Refused = Callable[[str], str]
Write = Callable[[Path], object]

# -------------------------------------------------------------------- reviews

#: In the order of the archive: by part, class and number of the review.
REVIEWS = [
    ("train", 0, "train/neg/2_3.txt", "Dull.<br /><br />Very dull."),
    ("train", 0, "train/neg/10_1.txt", 'He said "no", and\nleft.'),
    ("train", 1, "train/pos/0_9.txt", "A café of wonders."),
    ("test", 0, "test/neg/0_2.txt", "Not again."),
    ("test", 1, "test/pos/0_10.txt", "Again, please."),
]
LINES = [
    json.dumps({"id": name, "split": part, "label": label, "rating": 3, "text": text})
    for part, label, name, text in REVIEWS
]
CONTENT = {name: text.encode() for _, _, name, text in reversed(REVIEWS)}
WITH_OTHERS = {
    "train/unsup/0_0.txt": b"Nobody knows.",
    "train/urls_neg.txt": b"an address",
    "README": b"read me",
    **CONTENT,
}
FIRST_SHARD = "train-00000-of-00001.parquet"


def lines(rows: Sequence[str] = LINES) -> bytes:
    return "".join(f"{row}\n" for row in rows).encode()


def table_of(part: str) -> pa.Table:
    rows = [(text, label) for which, label, _, text in REVIEWS if which == part]
    return pa.table({"text": [text for text, _ in rows], "label": [label for _, label in rows]})


def write_shards(folder: Path) -> None:
    folder.mkdir(exist_ok=True)
    for part in ("train", "test"):
        parquet.write_table(table_of(part), folder / f"{part}-00000-of-00001.parquet")
    (folder / "unsupervised-00000-of-00001.parquet").write_bytes(b"not even read")


# -------------------------------------------------------------------- posts

#: In no order; numbers whose order as numbers is not that as texts; a byte that is not UTF-8.
POSTS = {
    "20news-bydate-test/rec.autos/9": b"a car",
    "20news-bydate-train/talk.politics.misc/7": b"an opinion",
    "20news-bydate-train/comp.graphics/900": b"a triangle",
    "20news-bydate-train/comp.graphics/1000": b"caf\xe9 au lait",
    "20news-bydate-test/comp.graphics/5": b"a sphere",
    "20news-bydate-train/alt.atheism/3": b"a doubt",
    "20news-bydate-test/sci.space/4": b"a moon",
}
NO_POSTS = {
    "20news-bydate-train/alt.atheism/._3": b"a Mac was here",
    "20news-bydate-train/.DS_Store": b"x",
    "README": b"read me",
}
TWICE = gzip.compress(tar([("20news-bydate-train/alt.atheism/3", b"an older doubt"), *POSTS.items()]))


def files(content: Mapping[str, bytes]) -> Write:
    """Writes files into a folder."""
    return lambda folder: write_files(folder, content)


#: Key -> texts of the training and of the test part; labels of both; and what writes the whole set into a folder.
SETS: dict[str, tuple[list[str], list[str], list[int], list[int], dict[str, Write]]] = {
    "imdb": (
        ["Dull.  Very dull.", 'He said "no", and\nleft.', "A café of wonders."],
        ["Not again.", "Again, please."],
        [0, 0, 1],
        [0, 1],
        {
            "lines": files({"imdb.jsonl": lines() + b"\n"}),
            "lines-xz": files({"imdb.jsonl.xz": lzma.compress(lines())}),
            "lines-gz": files({"imdb.jsonl.gz": gzip.compress(lines())}),
            "folder": lambda folder: write_files(folder / "aclImdb", WITH_OTHERS),
            "contents": files(WITH_OTHERS),
            "archive": files({"aclImdb_v1.tar.gz": tar_gz(WITH_OTHERS, "aclImdb/")}),
            "parquet": write_shards,
            "hub-parquet": lambda folder: write_shards(folder / "plain_text"),
        },
    ),
    "20news": (
        ["a doubt", "café au lait", "a triangle", "an opinion"],
        ["a sphere", "a car", "a moon"],
        [0, 1, 1, 6],
        [1, 3, 4],
        {
            "gz": files({"20news-bydate.tar.gz": tar_gz(POSTS | NO_POSTS)}),
            "xz": files({"20news-bydate.tar.xz": lzma.compress(tar(POSTS.items(), "./"))}),
            "folders": files(POSTS | NO_POSTS),
            "twice": files({"20news-bydate.tar.gz": TWICE}),  # the later one, as on unpacking
        },
    ),
}


@pytest.mark.usefixtures("encoded")
@pytest.mark.parametrize(
    ("name", "form"),
    [*(("imdb", form) for form in SETS["imdb"][-1])]
    + [(name, form) for name in ("20news", "20newsgroups") for form in SETS["20news"][-1]],
)
def test_every_form_has_the_same_texts(root: DataRoot, read: Read, name: str, form: str) -> None:
    key = name.removesuffix("groups")
    train, test, labels, of_test, forms = SETS[key]
    (root.path / name).mkdir(parents=True)
    forms[form](root.path / name)
    data = read(key)
    assert data.x_test is not None
    assert data.y_test is not None
    assert np.array_equal(data.x, vectors_of(train))
    assert np.array_equal(data.x_test, vectors_of(test))
    assert (data.y.tolist(), data.y_test.tolist()) == (labels, of_test)
    assert (data.x.dtype, data.x_test.dtype, data.y.dtype) == (np.float32, np.float32, np.int64)


@pytest.mark.usefixtures("encoded")
def test_several_shards_are_one_part(root: DataRoot, read: Read) -> None:
    folder = root.path / "imdb"
    folder.mkdir(parents=True)
    missing_shard(folder)
    parquet.write_table(table_of("test"), folder / "train-00001-of-00002.parquet")
    assert len(read("imdb").x) == 5


# -------------------------------------------------------------------- what is wrong


def lines_of(*rows: object) -> Write:
    """Writes these reviews as lines."""
    return files({"imdb.jsonl": lines([row if isinstance(row, str) else json.dumps(row) for row in rows])})


def shard_of(table: dict[str, list[Any]]) -> Write:
    """Writes parquet files, of which the one of the training part is this."""

    def write(folder: Path) -> None:
        write_shards(folder)
        parquet.write_table(pa.table(table), folder / FIRST_SHARD)

    return write


def missing_shard(folder: Path) -> None:
    write_shards(folder)
    (folder / FIRST_SHARD).rename(folder / "train-00000-of-00002.parquet")


def link_to_nothing(folder: Path) -> None:
    write_files(folder / "aclImdb", CONTENT)
    path = folder / "aclImdb" / "train" / "neg" / "2_3.txt"
    path.unlink()
    path.symlink_to(folder / "nowhere")


OTHERS: list[object] = [
    *({**json.loads(LINES[1]), **change} for change in ({"label": 2}, {"split": "unsup"}, {"text": None})),
    {"label": 1, "text": "x"},
    [1, 2],
]
NEUTRAL = {**CONTENT, "train/neutral/1_5.txt": b"x"}
IMDB: list[tuple[Write, str]] = [
    (files({"imdb.jsonl.xz": lzma.compress(lines())[:-4]}), "{}/imdb.jsonl.xz is damaged ("),
    *((lines_of(LINES[0], row), "{}/imdb.jsonl is damaged (") for row in OTHERS),
    (lines_of('{"label": 1, "te'), "{}/imdb.jsonl is damaged (Invalid control character"),
    (lines_of(*LINES[:3]), "{}/imdb.jsonl has no document of the other part"),
    (
        files({"aclImdb_v1.tar.gz": tar_gz(NEUTRAL, "aclImdb/")}),
        "{}/aclImdb_v1.tar.gz has 'train/neutral/1_5.txt'; reviews lie in neg and pos",
    ),
    (files({f"aclImdb/{name}": b"caf\xe9" for name in CONTENT}), "2_3.txt is damaged ('utf-8' codec"),
    (link_to_nothing, "cannot read {}/aclImdb/train/neg/2_3.txt: "),
    (lambda folder: (folder / "aclImdb" / "train" / "neg").mkdir(parents=True), "{}/aclImdb lacks the folder test"),
    *(
        (shard_of(table), f"{{}}/{FIRST_SHARD} is damaged (")
        for table in (
            {"text": ["a"], "stars": [1]},
            {"text": ["a", "b"], "label": [1, -1]},
            {"text": [None], "label": [1]},
        )
    ),
    (missing_shard, "{} has 1 of the 2 files train-*"),
]


def archive(posts: Mapping[str, bytes]) -> Write:
    return files({"20news-bydate.tar.gz": tar_gz(posts)})


NEWS: list[tuple[Write, str]] = [
    (archive({}), "{}/20news-bydate.tar.gz has no document of any part"),
    *(
        (archive({k: v for k, v in POSTS.items() if f"-{part}/" in k}), "has no document of the other part")
        for part in ("train", "test")
    ),
    (files({"20news-bydate-train/alt.atheism/3": b""}), "{} lacks the folder 20news-bydate-test"),
    *(
        (
            write(POSTS | {f"20news-bydate-train/{place}": b"x"}),
            f"20news-bydate-train/{place}', which is no post of 20 Newsgroups",
        )
        for write, place in (
            (archive, "humanities.misc/1"),
            (files, "humanities.misc/1"),
            (archive, "stray"),
            (archive, "alt.atheism/deeper/1"),
        )
    ),
]


@pytest.mark.parametrize(
    ("key", "write", "words"), [*(("imdb", *case) for case in IMDB), *(("20news", *case) for case in NEWS)]
)
def test_what_is_damaged_is_one_line(root: DataRoot, refused: Refused, key: str, write: Write, words: str) -> None:
    """It names the file and what is wrong; no encoder is needed before."""
    folder = root.path / key
    folder.mkdir(parents=True)
    write(folder)
    line = refused(key)
    assert words.format(folder) in line
    assert str(folder) in line
