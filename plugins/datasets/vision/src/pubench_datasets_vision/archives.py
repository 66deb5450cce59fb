"""Reading .tar.gz archives without unpacking them to disk."""

from __future__ import annotations

import gzip
import tarfile
from collections.abc import Callable, Iterator
from pathlib import Path, PurePosixPath

from pubench_core.errors import RequestError

from .reading import BAD_PACKING, damaged, one_line, unreadable


def members(
    path: Path, wanted: Callable[[PurePosixPath], bool], limit: int
) -> Iterator[tuple[PurePosixPath, str, bytes]]:
    """(name, place, bytes) of the wanted regular files in a .tar.gz, in its order; ``place`` is for error messages.

    The archive is read once, as a stream, to its end: only there does gzip compare its checksum. ``limit``: the most
    bytes that one member may have. Raises RequestError naming the archive if it cannot be read, is damaged or cut
    short, holds a larger member, or has any member, wanted or not, whose name leads out of it.
    """
    try:
        with gzip.open(path) as packed:
            with tarfile.open(fileobj=packed, mode="r|") as archive:
                for member in archive:
                    name = PurePosixPath(member.name)
                    if name.is_absolute() or ".." in name.parts:
                        raise RequestError(
                            f"{path} has a member {member.name!r} that leads out of the archive: it is not the "
                            "published one; remove it and get it again"
                        )
                    if not (member.isfile() and wanted(name)):
                        continue
                    place = f"{path} (member {member.name!r})"
                    if member.size > limit:
                        raise damaged(place, f"{member.size} bytes; at most {limit} are right")
                    stream = archive.extractfile(member)
                    assert stream is not None  # a regular file
                    yield name, place, stream.read()
            while packed.read(1 << 20):
                pass
    except (tarfile.TarError, *BAD_PACKING) as error:
        raise damaged(path, one_line(error)) from error
    except OSError as error:
        raise unreadable(path, error) from error
