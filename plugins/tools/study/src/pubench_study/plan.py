"""The frozen plan of a study, as it lies in its folder. Read without torch."""

from __future__ import annotations

import re
from functools import cached_property
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from pubench_core.errors import Hint, RecordError, RequestError, shortened
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import MOST_BYTES, read_small, replace_text
from pubench_core.results import Stored
from pubench_core.specs import RunSpec
from pubench_core.specs.run import GIVEN

from .spec import NAME
from .study_file import STUDY, StudyFile, StudyFolder

#: Raised when the meaning of a field of ``plan.json`` changes.
PLAN_VERSION = 1


class PlannedRun(Stored):
    """One run of a study."""

    run_id: str = Field(description="name of its record's folder", pattern=r"^\w+$")
    row: str = Field(description="what its method is called in tables")
    facts: dict[str, Any] = Field(description="method, data, mechanism, c, scheme, prior, seed, preset as asked for")
    draw: int | None = Field(None, description="number of the hyper-parameter draw, from 0")
    held_out: int | None = Field(
        None, description="labeled positives of its validation part; none if its data were not prepared here"
    )
    resolved: dict[str, Any] = Field(
        description="the resolved spec; where and how it is carried out is not part of the plan"
    )

    @model_validator(mode="after")
    def _names_what_runs(self) -> PlannedRun:
        data, method = (self.resolved.get(section) for section in ("data", "method"))
        if not isinstance(data, dict) or not isinstance(method, dict):
            raise ValueError("a resolved run must have the sections data and method")
        if "preprocess" not in data or not all(isinstance(one.get("key"), str) for one in (data, method)):
            raise ValueError("a resolved run must have data.key, data.preprocess and method.key")
        return self

    @property
    def is_fold(self) -> bool:
        """Whether it is one of several folds, which another run of the plan joins."""
        validation = self.resolved.get("validation")
        return isinstance(validation, dict) and validation.get("fold") is not None

    @cached_property
    def spec(self) -> RunSpec:
        """The resolved spec. Raises RecordError if the plan was damaged there."""
        try:
            return RunSpec.model_validate(self.resolved)
        except ValidationError as error:
            raise RecordError(
                f"run {self.run_id} of the plan is damaged; freeze the plan again", hint=Hint("plan again")
            ) from error

    @property
    def data(self) -> str:
        """Key of the data set, name of the table; read without validating the whole spec, as the next two are."""
        return str(self.resolved["data"]["key"])

    @property
    def preprocess(self) -> str:
        """Preprocessing of the features."""
        return str(self.resolved["data"]["preprocess"])

    @property
    def own_table(self) -> bool:
        """Whether the data are a table of the user's own."""
        return self.resolved["data"].get("own") is not None

    @property
    def method(self) -> str:
        """Key of the method."""
        return str(self.resolved["method"]["key"])

    def __str__(self) -> str:
        """``nnpu on digits, c 0.1, seed 2``: what tells it from its neighbors."""
        mechanism = self.spec.mechanism
        more = {
            "mechanism": None if mechanism.key in ("scar", GIVEN) else mechanism.key,
            "draw": self.draw,
            "c": mechanism.c,
            "positive rate": mechanism.positive_rate,
            "seed": self.spec.seed,
            "prior": None if self.spec.prior == "true" else self.spec.prior,
        }
        return f"{self.row} on {self.data}, {', '.join(f'{k} {v}' for k, v in more.items() if v is not None)}"


def shown_row(row: str, spec: RunSpec) -> str:
    """Name of a run in tables: its row, with its method if the row names another one, or settings that the run does not
    have. A plan is no proof.

    ``nnpu``, ``mine`` and ``nnpu [lr=0.1]`` stay as they are; nnPU that a plan calls ``upu`` is ``nnpu (called upu)``.
    """
    method = spec.method.key
    first, _, settings = row.partition(" ")
    mine = {"preset": spec.method.preset, **spec.method.config}
    true = first == method or first not in {info.key for info in registry().infos(MethodInfo)}
    for name, value in re.findall(r"(\w+)=([^\s,\[\]{}()]+)[,\]]", settings):
        true = true and (name not in mine or _same_value(value, mine[name]))
    return row if true else f"{method} (called {row})"


def _same_value(text: str, value: object) -> bool:
    """Whether a name of a row says the value of a setting. Values of several words are not looked at."""
    try:
        return isinstance(value, (list, dict)) or float(text) == value or text == str(value)
    except ValueError:
        return text == str(value)


class Excluded(Stored):
    """A combination that is no run of the study."""

    cell: str = Field(description="which")
    reason: str = Field(description="why not")


class FrozenPlan(Stored):
    """The content of ``plan.json``."""

    plan_version: Literal[1] = Field(description="version of this format")
    name: str = Field(description="the study's name", pattern=NAME)
    sha256: str = Field(description="SHA-256 of the study file")
    made_at: str = Field(description="UTC, ISO 8601")
    versions: dict[str, str] = Field(description="distribution -> version, of what the runs were resolved with")
    runs: tuple[PlannedRun, ...] = Field(description="the runs")
    excluded: tuple[Excluded, ...] = Field((), description="combinations that are none")


# -------------------------------------------------------------------- on disk


def write_plan(folder: StudyFolder, file: StudyFile, plan: FrozenPlan) -> None:
    """The plan and the study file, in the study's folder; an older plan is kept as ``plan-1.json`` and so on.

    Raises RequestError if they cannot be written.
    """
    try:
        folder.path.mkdir(parents=True, exist_ok=True)
        if folder.plan.exists():
            number = 1
            while (older := folder.path / f"plan-{number}.json").exists():
                number += 1
            folder.plan.rename(older)
        replace_text(folder.path / STUDY, file.text)
        replace_text(folder.plan, plan.model_dump_json(indent=1) + "\n")
    except OSError as error:
        raise RequestError(
            f"the plan cannot be written in {folder.path}: {error.strerror or error}; name another folder "
            "(execution.results)",
            field="execution.results",
        ) from error


def read_plan(folder: StudyFolder) -> FrozenPlan | None:
    """The frozen plan of a study; None if there is none.

    Raises RecordError if it is damaged, of another version, or of another study than its folder is called.
    """
    try:
        text = read_small(folder.plan, MOST_BYTES)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise RecordError(f"{folder.plan} cannot be read ({error.strerror or error})") from error
    try:
        plan = FrozenPlan.model_validate_json(text)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(part) for part in first["loc"])
        what = f"is damaged ({shortened(f'{where}: ' + first['msg'])})"
        if where == "plan_version":
            given = shortened(str(first["input"]))
            what = f"is of version {given}; this version of pubench reads version {PLAN_VERSION}"
        raise RecordError(f"{folder.plan} {what}; freeze the plan again", hint=Hint("plan again")) from error
    if plan.name != folder.path.name:
        raise RecordError(
            f"{folder.plan} is the plan of study '{plan.name}'; rename its folder '{folder.path.name}' to '{plan.name}'"
        )
    return plan


def check_unchanged(plan: FrozenPlan, file: StudyFile, folder: StudyFolder) -> None:
    """Raises RequestError where the file is another than the plan was made of."""
    if plan.sha256 != file.sha256:
        raise RequestError(
            f"{file.origin} changed since its plan was frozen in {folder.path} ({plan.made_at}); give the changed "
            "study another name, use the file that is there, or freeze the plan again",
            hint=Hint("plan again"),
        )
