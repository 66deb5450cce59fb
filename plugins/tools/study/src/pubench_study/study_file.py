"""A study's folder and its files: ``<results>/studies/<name>/``, next to the records that it shares with others.

``study.yaml`` is the file as it was given, ``plan.json`` the frozen plan, ``cache.json`` what the installed code is and
which records answer (it may be deleted), ``logs/`` what workers printed. ``<results>/results.parquet`` is the frame of
all records.
"""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from importlib.metadata import version
from importlib.resources import files
from os.path import isfile
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pubench_cli.yaml_layers import read_yaml
from pubench_core.engine.explain import explain
from pubench_core.errors import RequestError, nearest, shortened

from .spec import StudySpec

STUDIES, STUDY, PLAN, CACHE, LOGS = "studies", "study.yaml", "plan.json", "cache.json", "logs"
_SUFFIXES = (".yaml", ".yml")


@dataclass(frozen=True)
class StudyFile:
    """A study and the text that describes it. ``origin``: where the text is from."""

    spec: StudySpec
    text: str
    origin: str
    origins: dict[tuple[str, ...], str]

    @property
    def sha256(self) -> str:
        """SHA-256 of the text."""
        return hashlib.sha256(self.text.encode()).hexdigest()


@dataclass(frozen=True)
class StudyFolder:
    """Where the plan of a study lies; its records are in ``results``."""

    results: Path
    name: str

    @property
    def path(self) -> Path:
        """``<results>/studies/<name>``."""
        return self.results / STUDIES / self.name

    @property
    def plan(self) -> Path:
        """The frozen plan."""
        return self.path / PLAN

    @property
    def cache(self) -> Path:
        """The codes of the plan's runs as they are installed, and the records that answer."""
        return self.path / CACHE


def read_study(path: Path) -> StudyFile:
    """A study file. Raises RequestError, with file and line, for what is wrong in it."""
    layer = read_yaml(path, what="a study file", fields=StudySpec.model_fields)
    try:
        spec = StudySpec.model_validate(layer.values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        if not first["loc"]:  # of the whole file
            raise RequestError(f"{path}: {first['msg'].removeprefix('Value error, ')}") from None
        raise explain(error, StudySpec, (), {(): str(path), **layer.origins}, owner="a study") from None
    return StudyFile(spec, path.read_text(encoding="utf-8"), str(path), dict(layer.origins))


# -------------------------------------------------------------------- shipped protocols


def protocols() -> dict[str, Path]:
    """Name -> file of every protocol that comes with pubench."""
    folder = Path(str(files("pubench_study") / "protocols"))
    return {path.stem: path for path in sorted(folder.glob("*.yaml"))}


def protocol_rows() -> list[dict[str, Any]]:
    """Rows of ``pubench list protocols``."""
    about = {"package": "pubench-study", "version": version("pubench-study"), "status": "ok"}
    found = {name: read_study(path).spec.description for name, path in protocols().items()}
    return [{"key": name, "name": text, "file": str(protocols()[name]), **about} for name, text in found.items()]


def find_study(given: str) -> StudyFile:
    """A study by its file, or a shipped protocol by its name. Raises RequestError if there is neither."""
    path, shipped = Path(given), protocols()
    if given in shipped and not isfile(path):
        return read_study(shipped[given])
    if path.suffix.lower() in _SUFFIXES or isfile(path):  # False for a name that is too long
        return read_study(path)
    raise RequestError(
        f"'{shortened(given)}' is neither a study file (.yaml) nor a shipped protocol; {nearest(given, shipped)}"
    )


def is_name(given: str) -> bool:
    """Whether a text can be the name of a study rather than a file's."""
    return bool(re.fullmatch(r"[a-z0-9][a-z0-9._-]*", given)) and Path(given).suffix.lower() not in _SUFFIXES


def studies_in(results: Path) -> list[StudyFolder]:
    """The studies that have a plan in a folder of records, by name."""
    return [StudyFolder(results, path.parent.name) for path in sorted((results / STUDIES).glob(f"*/{PLAN}"))]


def folder_of(results: Path, given: str | None) -> StudyFolder:
    """The folder of a study that has a plan, by its name, by its file, or the only one there is.

    Raises RequestError if there is none, or several and none is named.
    """
    found = studies_in(results)
    name = None if given is None else given if is_name(given) else find_study(given).spec.name
    chosen = [folder for folder in found if name in (None, folder.name)]
    if len(chosen) == 1:
        return chosen[0]
    listed = ", ".join(folder.name for folder in found)
    if name is not None:
        there = f"its studies are {listed}" if found else "it holds none"
        raise RequestError(f"no study '{shortened(name)}' in {results}; {there} (execution.results)")
    raise RequestError(
        f"{results} holds several studies ({listed}); name one of them"
        if found
        else f"{results} holds no study; name a folder that holds one (execution.results)",
        field="execution.results",
    )
