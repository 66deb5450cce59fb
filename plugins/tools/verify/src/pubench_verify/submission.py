"""Submissions to a board, archives of ``study export``: unpacked from anybody."""

from __future__ import annotations

import io
import re
import shutil
import zipfile
import zlib
from pathlib import Path

from pubench_study.export import SUMS

from pubench_core.errors import RecordError, counted, shortened
from pubench_core.records.files import SCORES, read_small

#: A file of an archive that ``study export`` makes: of a record, a failure, or the plan.
_MEMBER = re.compile(r"(\w[\w.-]{0,99})(/\w[\w.-]{0,99}){1,3}", re.ASCII)
#: Most bytes of an archive and of what is in it, and most files; how each file begins in the list of them.
MOST_ARCHIVE, MOST_UNPACKED, MOST_FILES, LISTED = 1 << 28, 1 << 31, 20_000, b"PK\1\2"


def unpack(archive: Path, target: Path) -> Path:
    """Writes the files of an archive, which anybody may have made, into ``target``; the folder that holds them.

    Raises RecordError for what is no archive of a study: paths that lead elsewhere, two files of one name, and more or
    larger files than records have. Links come out as files.
    """
    try:
        content = read_small(archive, MOST_ARCHIVE)
        if content.count(LISTED) > MOST_FILES:  # before the list takes memory
            raise RecordError(f"it holds more than {counted(MOST_FILES, 'file')}")
        with zipfile.ZipFile(io.BytesIO(content)) as members:
            files, names, folders = members.infolist(), set[str](), set[str]()
            if sum(file.file_size for file in files) > MOST_UNPACKED:
                raise RecordError(f"it unpacks to more than {MOST_UNPACKED:,} bytes")
            for file in files:
                shown, place = shortened(file.filename), _MEMBER.fullmatch(file.filename)
                if place is None or file.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
                    raise RecordError(f"{shown} is no file of a submission; expected NAME/RUN/{SCORES} and the like")
                folders.add(place[1])
                if file.filename in names or len(folders) > 1:
                    raise RecordError(f"{shown} is in it twice, or in another folder than the rest")
                names.add(file.filename)
                (target / file.filename).parent.mkdir(parents=True, exist_ok=True)
                with members.open(file) as source, (target / file.filename).open("xb") as written:
                    shutil.copyfileobj(source, written)
    except (OSError, ValueError, EOFError, NotImplementedError, RuntimeError, zipfile.BadZipFile, zlib.error) as error:
        raise RecordError(f"it cannot be read as a .zip: {shortened(str(error))}") from error
    if not {f"{folder}/{SUMS}" for folder in folders} <= names or not names:
        raise RecordError(f"it has no {SUMS}; make it with pubench study export")
    return target / folders.pop()
