"""The files of a folder of records: which are there, are its own, and are those of its list of checksums."""

from __future__ import annotations

import errno
import hashlib
import os
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping
from os.path import isdir, isfile
from pathlib import Path, PurePosixPath
from typing import Any

from pubench_report.rows.files import RUN_ID
from pubench_study.export import SUMS
from pubench_study.plan import read_plan
from pubench_study.study_file import studies_in

from pubench.field_names import InvalidRequest
from pubench_core.errors import PubenchError, RecordError, shortened
from pubench_core.records.files import (
    ENVIRONMENT,
    MEASURES,
    MODEL,
    MOST_BYTES,
    RESULT,
    SCORES,
    SPEC,
    TRAINING_SCORES,
    fold_model,
    open_regular,
    predictions_by,
    read_small,
    scores_digest,
    yaml_text,
)
from pubench_core.results import Environment, Result
from pubench_core.specs import RunSpec

from .findings import Derived, RecordProblem

_SUM = re.compile(r"(?P<sum>[0-9a-f]{64})  (?P<path>[^\s\0][^\0]{0,4000})")
#: Most bytes of a file whose checksum is compared: an archive of arrays, unpacked, has at most a quarter.
MOST_LISTED = 4 * MOST_BYTES
#: Most lines of a list of checksums that are read, and most problems of one that have a line each.
MOST_SUMS, MOST_TOLD = 100_000, 20


def records_in(place: Path) -> list[Path]:
    """Folders of the records of a folder, or the one that it is; those that should hold one and do not as well.

    Raises InvalidRequest for what is no folder, or holds nothing of the kind.
    """
    if not isdir(place):
        raise InvalidRequest(f"{shortened(str(place))} is not there; expected records, a submission or a board")
    if isfile(place / RESULT):
        return [place]
    inside = (path for path in sorted(place.iterdir()) if not path.name.startswith("."))
    found = [path for path in inside if isfile(path / RESULT) or (RUN_ID.fullmatch(path.name) and isdir(path))]
    if not found:
        elsewhere = "; the records of a site are in its folder records" if isdir(place / "records") else ""
        raise InvalidRequest(f"{shortened(str(place))} holds no records{elsewhere}")
    return found


def names_in_plans(place: Path) -> tuple[dict[str, dict[str, str]], list[RecordProblem]]:
    """Run id -> study -> what its plan calls the run; plans that cannot be read."""
    found: dict[str, dict[str, str]] = defaultdict(dict)
    problems = []
    for folder in studies_in(place):
        try:
            plan = read_plan(folder)
        except RecordError as error:
            problems.append(RecordProblem(f"study {shortened(folder.name)}", str(error)))
        else:
            for run in () if plan is None else plan.runs:
                found[run.run_id][folder.name] = run.row
    return found, problems


# -------------------------------------------------------------------- the list of checksums


def compared_sums(place: Path) -> tuple[dict[str, str] | None, list[RecordProblem]]:
    """Path -> SHA-256, as the folder's list has it, and what differs from it; None if there is no list."""
    path = place / SUMS
    if not isfile(path):
        return None, []
    try:
        lines = read_small(path).decode().removesuffix("\n").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        return None, [RecordProblem(SUMS, f"it cannot be read: {error}")]
    if len(lines) > MOST_SUMS:
        return None, [RecordProblem(SUMS, f"it has {len(lines):,} lines; at most {MOST_SUMS:,} are read")]
    found: dict[str, str] = {}
    problems: list[RecordProblem] = []
    for number, line in enumerate(lines if lines != [""] else (), 1):
        entry = _SUM.fullmatch(line)
        inside = PurePosixPath(entry["path"]) if entry is not None else PurePosixPath("/")
        if entry is None or inside.is_absolute() or ".." in inside.parts:
            problems.append(RecordProblem(SUMS, f"line {number} is not a checksum and a path in this folder"))
            continue
        found[str(inside)] = entry["sum"]
        if wrong := _other_file(place, inside, entry["sum"]):
            of = inside.parts[0] if len(inside.parts) > 1 else SUMS
            problems.append(RecordProblem(of, f"{inside.name} is {wrong}"))
    if len(problems) > MOST_TOLD:
        more = RecordProblem(SUMS, f"and {len(problems) - MOST_TOLD:,} more lines are wrong")
        problems = [*problems[:MOST_TOLD], more]
    return found, problems


def _other_file(place: Path, inside: PurePosixPath, listed: str) -> str:
    """What is wrong with a file that is listed with this checksum; empty if nothing is."""
    if os.path.realpath(place / inside) != os.path.join(os.path.realpath(place), inside):
        return f"listed in {SUMS} and a link"
    try:
        return "" if digest_within(place / inside, MOST_LISTED) == listed else f"not the file that {SUMS} lists"
    except OSError as error:
        return f"listed in {SUMS} and cannot be read ({error.strerror})"


def digest_within(path: Path, most: int) -> str:
    """SHA-256 of a file. Raises OSError if it is not a regular file, or has more than ``most`` bytes."""
    with open_regular(path) as file:
        if os.fstat(file.fileno()).st_size > most:
            raise OSError(errno.EFBIG, f"it has more than {most:,} bytes", str(path))
        return hashlib.file_digest(file, "sha256").hexdigest()


# -------------------------------------------------------------------- the files of a record


def wrong_files(folder: Path, result: Result, sums: Mapping[str, str] | None) -> Iterator[str | Derived]:
    """Files of a record that are missing, links, of another run, or unknown to the list of checksums."""
    training = (TRAINING_SCORES,) if "training-scores" in result.spec.execution.artifacts else ()
    model = () if result.model is None else (fold_model(1) if result.model_is_mean else MODEL,)
    for name in (SPEC, ENVIRONMENT, SCORES, *training, *model):
        if not isfile(folder / name):
            yield f"{name} is missing"
    if folder.is_symlink():
        yield "it is a link to a folder elsewhere"
    for path in sorted(folder.iterdir()):
        if path.is_symlink():
            yield f"{path.name} is a link to a file elsewhere"
        derived = path.name == MEASURES or path.match(predictions_by("*"))  # later, of what is listed
        if sums is not None and not derived and f"{folder.name}/{path.name}" not in sums:
            yield f"{path.name} is not listed in {SUMS}"
    for name in (SPEC, ENVIRONMENT, *([SCORES] if result.scores else [])):
        if isfile(folder / name):
            try:
                yield Derived(f"{name} has", _said_again(folder, name, result))
            except (OSError, ValueError, PubenchError, RecursionError) as error:  # pydantic's is a ValueError
                yield f"{name} cannot be read: {shortened(' '.join(str(error).split()))}"


def _said_again(folder: Path, name: str, result: Result) -> dict[str, Any]:
    """Fields of a result that another file of its record says again. Raises as :func:`wrong_files` reports."""
    if name == SCORES:
        return {"scores": scores_digest(folder)}
    if name == SPEC:
        from pubench_cli.yaml_layers import read_yaml

        if read_small(folder / SPEC).decode() == yaml_text(result.spec.model_dump(mode="json")):
            return {}  # as it was written: parsing YAML takes longer than all else
        return {"spec": RunSpec.model_validate(read_yaml(folder / SPEC, aliases=False).values).model_dump(mode="json")}
    found = Environment.model_validate_json(read_small(folder / ENVIRONMENT))
    versions = {name: found.packages.get(name, version) for name, version in result.code.versions.items()}
    used = {found.products, found.convolutions} - {None, "ieee"} if result.spec.precision == "ieee" else set()
    same = {"threads": found.threads, "device": found.device, "code.versions": versions}
    return {**same, **({"spec.precision": min(map(str, used))} if used else {})}


def environment_of(folder: Path) -> dict[str, Any] | None:
    """The environment of a record; None if it has none."""
    path = folder / ENVIRONMENT
    try:
        return Environment.model_validate_json(read_small(path)).model_dump() if path.exists() else None
    except (OSError, ValueError) as error:  # pydantic's error is a ValueError
        raise RecordError(f"{path} cannot be read: {' '.join(str(error).split())[:200]}") from error
