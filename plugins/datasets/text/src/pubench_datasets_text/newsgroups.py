"""20 Newsgroups, by-date version, seven classes: the first word of the group's name.

Files in ``<root>/20news/`` (or ``20newsgroups/``): ``20news-bydate.tar.gz`` as distributed, the same packed as
``.tar.xz``, or the two folders in it, ``20news-bydate-train/GROUP/ID`` and ``20news-bydate-test/GROUP/ID``.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path, PurePath
from urllib.request import urlopen

import numpy as np
from pubench_archives.archives import members
from pubench_archives.downloads import fetch_into

from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

from .source import Corpus, TextSource, contents, documents, folders

ARCHIVES = ("20news-bydate.tar.gz", "20news-bydate.tar.xz")
PARTS = ("20news-bydate-train", "20news-bydate-test")


class Newsgroups(TextSource):
    """Raw posts: headers, footers and quotes are kept, as in PU-Bench. Decoded as Latin-1, which never fails.

    Order: train then test, groups by alphabet, posts by the text of their number.
    """

    layouts = (*ARCHIVES, f"{PARTS[0]}/ with {PARTS[1]}/")

    def texts_in(self, folder: Path) -> tuple[Path, ...]:
        for name in ARCHIVES:
            if (folder / name).exists():
                return (folder / name,)
        if not any((folder / part).is_dir() for part in PARTS):
            return ()
        found = []
        for part in PARTS:
            if not (folder / part).is_dir():
                raise RequestError(f"{self.info.key}: {folder} lacks the folder {part}; unpack the whole archive there")
            for group in folders(folder / part):
                found += sorted(documents(group), key=lambda path: path.name)
        if not found:
            raise RequestError(f"{self.info.key}: {folder} has {PARTS[0]} and {PARTS[1]}, and no post in them")
        return tuple(found)

    def corpus(self, files: tuple[Path, ...], root: DataRoot) -> Corpus:
        if files[0].name in ARCHIVES:
            archive = files[0]
            found = members(archive, _is_of_a_part)
            return self._ordered(((name, content) for name, _, content in found), archive)
        return self._ordered(contents(files), files[0].parents[2])

    def class_of(self, name: str) -> int:
        return self.info.classes.index(name.partition(".")[0])

    def fetch(self, root: DataRoot) -> None:
        """Downloads the archive that scikit-learn knows; 14 MB."""
        from sklearn.datasets import _twenty_newsgroups as sklearn_20news

        archive = sklearn_20news.ARCHIVE

        def download(scratch: Path) -> list[Path]:
            path = scratch / ARCHIVES[0]
            with urlopen(archive.url, timeout=60) as answer, path.open("wb") as out:
                total = int(answer.headers.get("Content-Length") or 0)
                with root.progress(f"downloading {path.name}", total) as advance:
                    while block := answer.read(1 << 20):
                        advance(out.write(block))
            if (found := sha256_of(path)) != archive.checksum:
                raise OSError(f"{path.name} has SHA-256 {found[:16]}, expected {archive.checksum[:16]}")
            return [path]

        fetch_into(root.folders(self.info)[0], self.info, root, download)

    def _ordered(self, posts: Iterable[tuple[PurePath, bytes]], where: Path) -> Corpus:
        rows: dict[tuple[int, str, str], bytes] = {}
        for place, text in posts:
            part, group, name = ("", "", *place.parts)[-3:]
            if part not in PARTS or group.partition(".")[0] not in self.info.classes:
                raise RequestError(
                    f"{where} has '{place}', which is no post of 20 Newsgroups: posts lie in {PARTS[0]}/GROUP/ID and "
                    f"{PARTS[1]}/GROUP/ID, and groups begin with {', '.join(self.info.classes)}; get it again from "
                    f"{self.info.source}"
                )
            # a member that is there again replaces the first, as on unpacking
            rows[PARTS.index(part), group, name] = text
        order = sorted(rows)
        return Corpus(
            texts=[rows[key].decode("latin-1") for key in order],
            labels=np.array([self.class_of(group) for _, group, _ in order], dtype=np.int64),
            test=np.array([part == 1 for part, _, _ in order], dtype=bool),
            where=where,
        )


def _is_of_a_part(place: PurePath) -> bool:
    """Whether a member of the archive is in the training or the test folder, and not hidden."""
    return any(part in PARTS for part in place.parts[:-1]) and not any(part.startswith(".") for part in place.parts)
