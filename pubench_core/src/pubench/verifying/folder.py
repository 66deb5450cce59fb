"""The records of a folder, and its list of checksums."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Mapping
from os.path import isdir, isfile
from pathlib import Path, PurePosixPath

from pydantic import ValidationError

from pubench_core.errors import RecordError, shortened
from pubench_core.records.files import ENVIRONMENT, RESULT, SPEC
from pubench_core.records.record import Record, read_record
from pubench_core.records.store import RecordStore
from pubench_core.results import Environment, Result
from pubench_core.study.export import SUMS

from ..words import InvalidRequest
from .found import Problem

_RUN_ID = re.compile(r"[0-9a-f]{16}")
_SUM = re.compile(r"(?P<sum>[0-9a-f]{64})  (?P<path>\S.*)")


def records_in(place: Path) -> tuple[list[Record], list[Problem]]:
    """The records of a folder, or the one that it is; folders that should hold one and do not.

    Raises InvalidRequest for what is no folder, or holds nothing of the kind.
    """
    if not isdir(place):
        raise InvalidRequest(f"{shortened(str(place))} is not a folder; the folder of records is right")
    if isfile(place / RESULT):
        try:
            return [read_record(place)], []
        except RecordError as error:
            return [], [Problem(place.resolve().name, str(error))]
    found = RecordStore(place).all()
    problems = [Problem(place.name, str(error)) for error in found.unreadable]
    problems += [
        Problem(path.name, f"{RESULT} is missing")
        for path in sorted(place.iterdir())
        if _RUN_ID.fullmatch(path.name) and path.is_dir() and not isfile(path / RESULT)
    ]
    if not found.readable and not problems:
        inside = "; the records of a site are in its folder records" if isdir(place / "records") else ""
        raise InvalidRequest(f"{shortened(str(place))} holds no records{inside}")
    return list(found.readable), problems


def compared_sums(place: Path) -> tuple[dict[str, str] | None, list[Problem]]:
    """Path -> SHA-256, as the folder's list has it, and what differs from it; None where there is no list."""
    path = place / SUMS
    if not isfile(path):
        return None, []
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        return None, [Problem(SUMS, f"it cannot be read: {error}")]
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for number, line in enumerate(lines, 1):
        entry = _SUM.fullmatch(line)
        inside = PurePosixPath(entry["path"]) if entry is not None else PurePosixPath("/")
        if entry is None or inside.is_absolute() or ".." in inside.parts:
            problems.append(Problem(SUMS, f"line {number} is not a checksum and a path in this folder"))
            continue
        found[str(inside)] = entry["sum"]
        if (wrong := _other_file(place, inside, entry["sum"])) is not None:
            problems.append(wrong)
    return found, problems


def _other_file(place: Path, inside: PurePosixPath, listed: str) -> Problem | None:
    """What is wrong with a file that is listed with this checksum."""
    of = inside.parts[0] if len(inside.parts) > 1 else SUMS
    try:
        now = hashlib.sha256((place / inside).read_bytes()).hexdigest()
    except OSError as error:
        return Problem(of, f"{inside.name} is listed in {SUMS} and not there ({error.strerror})")
    return None if now == listed else Problem(of, f"{inside.name} is not the file that {SUMS} lists")


def wrong_files(folder: Path, result: Result, sums: Mapping[str, str] | None) -> Iterator[str]:
    """Of a record: files that every record has, none elsewhere, and none that the list of checksums does not know."""
    for name in (SPEC, ENVIRONMENT):
        if not isfile(folder / name):
            yield f"{name} is missing"
    if isfile(folder / ENVIRONMENT):
        try:
            environment = Environment.model_validate_json((folder / ENVIRONMENT).read_bytes())
        except (OSError, ValidationError) as error:
            yield f"{ENVIRONMENT} cannot be read: {shortened(' '.join(str(error).split()))}"
        else:
            for name in ("threads", "device"):
                there, here = getattr(environment, name), getattr(result, name)
                if there != here:
                    yield f"{ENVIRONMENT} is not that of its result: {name} is {there} there and {here} here"
            for name, version in result.code.versions.items():
                if (there := environment.packages.get(name, version)) != version:
                    yield f"{ENVIRONMENT} is not that of its result: {name} is {there} there and {version} here"
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield f"{path.name} is a link to a file elsewhere"
    if sums is not None:
        for path in sorted(folder.iterdir()):
            if f"{folder.name}/{path.name}" not in sums:
                yield f"{path.name} is not listed in {SUMS}"
