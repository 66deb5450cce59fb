"""The result of a finished run: the content of ``result.json``, field by field."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
from pydantic import AliasChoices, BaseModel, ConfigDict, Field, model_serializer, model_validator

from .errors import Cause
from .specs import RunSpec, Scheme, is_one_sample, population_prior
from .specs.fields import short_hash

#: Raised when the meaning of a field of ``result.json`` changes or one goes; a record of another version is not read.
RECORD_VERSION = 4
#: Seconds that a run may take: at most ten years.
_Time = Annotated[float, Field(ge=0, le=10 * 365 * 86_400)]


class Stored(BaseModel):
    """Base of what is written to records: unknown fields and numbers that JSON cannot hold are refused."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)


class _Compact(Stored):
    """Left out of the JSON where a field is at its default."""

    @model_serializer(mode="wrap")
    def _without_defaults(self, handler: Any) -> dict[str, Any]:
        plain: dict[str, Any] = handler(self)
        defaults = _defaults(type(self))
        return {
            name: value
            for name, value in plain.items()
            if name not in defaults or getattr(self, name) != defaults[name]
        }


@cache
def _defaults(kind: type[BaseModel]) -> dict[str, Any]:
    """Defaults of the fields that have one; pydantic looks at a factory's signature each time."""
    fields = kind.model_fields.items()
    return {name: field.get_default(call_default_factory=True) for name, field in fields if not field.is_required()}


class Measure(_Compact):
    """One metric on one part. It has a value, or says why it is undefined."""

    value: float | None = Field(None, description="the value; none where it is undefined")
    undefined: str = Field("", description="why there is no value")
    interval: tuple[float, float] | None = Field(None, description="lower and upper end, where the metric gives them")
    warnings: tuple[str, ...] = Field((), description="what a reader of the value must know")
    details: dict[str, Any] = Field(default_factory=dict, description="whatever else the metric says, as plain data")

    @model_validator(mode="after")
    def _value_or_reason(self) -> Measure:
        if (self.value is None) == (not self.undefined):
            raise ValueError("a measure has a value, or a reason why it has none")
        return self


def said_alike(part: str, *, positive: bool, rows: int | None = None) -> str:
    """How the warning begins that all rows of a part are decided alike. ``rows``: how many, where that is known."""
    number = "" if rows is None else f"{rows} "
    return f"all {number}{part} rows are decided {'positive' if positive else 'negative'}"


#: Which decision: scores above 0, or above the quantile of U that the prior gives.
DecisionRule = Literal["zero", "prior"]
AT_PRIOR = "-at-prior"


def at_prior_name(metric: str) -> str:
    """Name of a metric by the decision at the prior.

    >>> at_prior_name("f1")
    'f1-at-prior'
    """
    return f"{metric}{AT_PRIOR}"


#: Why a criterion is undefined that has a value on constant scores.
NEVER = "it had no value at any epoch"


class CriterionResult(_Compact):
    """State that one selection criterion chose, and its measures; nothing if the criterion is undefined."""

    oracle: bool = Field(description="whether the criterion reads true labels")
    undefined: str = Field("", description="why the criterion has no value on this split")
    epoch: int | None = Field(None, description="chosen epoch, from 1 over all stages")
    value: float | None = Field(None, description="value of the criterion there; none for last")
    candidate: str = Field("", description="chosen network, where the method offers several")
    stopped_at: int | None = Field(None, description="epoch at which its patience ran out")
    snapshot: str = Field("", description="name of the state in scores.npz: test_scores_<snapshot> and so on")
    code: str = Field("", description="hash of the criterion's code; empty for native (the method's) and last")
    warnings: tuple[str, ...] = Field((), description="what a reader of its decisions must know")
    measures: dict[str, dict[str, Measure]] = Field(
        default_factory=dict, description="part (test, validation) -> metric -> measure; decisions are scores above 0"
    )
    threshold: float | None = Field(
        None,
        description="decision at the prior: scores above it are positive; the (1 - prior) quantile of the scores of U "
        "in this state; none if no prior is known, and in older records",
    )
    at_prior: dict[str, dict[str, Measure]] = Field(
        default_factory=dict,
        description="part -> metric -> measure by the decision at the prior, of metrics that read a decision",
    )

    @model_validator(mode="after")
    def _nothing_where_undefined(self) -> CriterionResult:
        chosen = {"epoch", "value", "candidate", "stopped_at", "snapshot", "warnings", "measures", "threshold"}
        found = sorted(name for name in chosen if getattr(self, name) not in (None, "", (), {}))
        if self.undefined and found:
            raise ValueError(f"an undefined criterion must have no {found[0]}")
        return self

    def measured(self, part: str) -> dict[str, Measure]:
        """metric -> measure on one part: by the decision at 0, then as ``METRIC-at-prior`` by that at the prior."""
        at_prior = self.at_prior.get(part, {}).items()
        return {**self.measures.get(part, {}), **{at_prior_name(metric): measure for metric, measure in at_prior}}

    @property
    def alike_warning(self) -> str:
        """Warning that all rows are decided positive, or all negative (:func:`said_alike`); empty if they are not."""
        return next((text for text in self.warnings if text.startswith("all ") and " rows are decided " in text), "")

    @property
    def decided_alike(self) -> bool:
        """Whether all rows are decided positive, or all negative."""
        return bool(self.alike_warning)


class Code(Stored):
    """Which code computed the scores."""

    hash: str = Field(description="16 digits over the parts; a record answers for this code only")
    parts: dict[str, str] = Field(description="what computes (method nnpu, data digits, engine ...) -> hash of it")
    versions: dict[str, str] = Field(description="distribution -> version; recorded, not hashed")

    @classmethod
    def of(cls, parts: Mapping[str, str], versions: Mapping[str, str]) -> Code:
        """The code with these parts."""
        return cls(hash=short_hash(dict(parts)), parts=dict(parts), versions=dict(versions))

    def changed_since(self, older: Code) -> list[str]:
        """Names of the parts in which the two differ."""
        return sorted(name for name in {*self.parts, *older.parts} if self.parts.get(name) != older.parts.get(name))


class PartFacts(_Compact):
    """Counts of one part of the split. What needs true labels is absent if there are none."""

    rows: int = Field(description="instances")
    labeled: int | None = Field(None, description="labeled positives; none in the test part")
    unlabeled: int | None = Field(None, description="rows of U (training part)")
    positive: int | None = Field(None, description="positive instances")
    negative: int | None = Field(None, description="negative instances")
    unlabeled_positive: int | None = Field(None, description="positives in U (training part)")
    unlabeled_negative: int | None = Field(None, description="negatives in U (training part)")


class Estimate(_Compact):
    """Estimate of a class-prior estimator."""

    estimator: str = Field(description="its key")
    share: float = Field(description="estimated share of positives in U")
    interval: tuple[float, float] | None = Field(None, description="of the share, where the estimator gives one")
    true_share: float | None = Field(None, description="true share of positives in U, where the truth is known")
    diagnostics: dict[str, Any] = Field(default_factory=dict, description="whatever else it says, as plain data")
    seconds: float = Field(description="time it took")

    def prior_interval(self, n_labeled: int, n: int, scheme: Scheme) -> tuple[float, float] | None:
        """Interval of π, if there is one. ``n``: rows of the training pool, ``n_labeled`` labeled."""
        if self.interval is None or not is_one_sample(scheme):
            return self.interval
        low, high = (population_prior(share, n_labeled, n) for share in self.interval)
        return low, high


class PriorFacts(_Compact):
    """The class prior π = p(y = 1) of the training pool."""

    given: float | None = Field(None, description="what the method was given; none where it needs none")
    given_unlabeled: float | None = Field(
        None,
        description="the share of positives in U that the method was to believe; π itself in case-control, under "
        "calibration, and where a two-sample method was run without calibration on purpose; none in older records",
    )
    true: float | None = Field(None, description="|P| / n of the pool, where the truth is known")
    estimate: Estimate | None = Field(None, description="where the given one was estimated")


class DataFacts(_Compact):
    """The labeled problem in numbers."""

    modality: str = Field(description="image, text or tabular")
    shape: tuple[int, ...] = Field(description="shape of one row")
    dropped: int = Field(description="rows of classes in neither list")
    train: PartFacts = Field(description="the training pool")
    validation: PartFacts = Field(description="the validation part")
    test: PartFacts | None = Field(None, description="the test part; none where nothing can be tested")
    prior: PriorFacts = Field(description="class priors")
    calibrated: bool = Field(description="whether U ∪ P was the unlabeled table under one-sample data")
    negatives: int = Field(0, description="rows known to be negative that the method learned from")
    checked: tuple[int, int] = Field((0, 0), description="positives and negatives among the rows that were checked")
    digest: str = Field("", description="hash of the arrays that were read; empty for a user's table")
    encoding: tuple[dict[str, Any], ...] | None = Field(None, description="what became of a user's columns")
    notes: tuple[str, ...] = Field((), description="what was read in a user's file and what looked odd")


class Seconds(Stored):
    """Wall-clock time."""

    total: _Time = Field(description="everything between the first and the last instruction of the run's own work")
    training: _Time = Field(description="inside epochs, scoring apart")
    evaluation: _Time = Field(description="scoring and measuring")
    per_epoch: _Time = Field(description="mean of training and evaluation per epoch")
    per_epoch_training: _Time = Field(description="mean of training per epoch")


class PeakMemory(Stored):
    """The most memory that the run took."""

    bytes: int = Field(description="how much", ge=0, le=1 << 50)
    what: str = Field(description="allocated on the GPU, resident during the run, or since the process started")


class SavedModelFacts(Stored):
    """Which state ``model.safetensors`` holds."""

    snapshot: str = Field(description="the same name as in criteria")


class Environment(_Compact):
    """Environment of a run; the content of ``environment.json``."""

    python: str = Field(description="version of Python")
    platform: str = Field(description="operating system, as Python names it")
    packages: dict[str, str] = Field(description="distribution -> version, of those that can change numbers")
    git_commit: str | None = Field(None, description="of the source tree that core was imported from")
    git_dirty: bool | None = Field(None, description="whether that tree had uncommitted changes")
    cpu: str = Field(description="name of the processor")
    cpu_count: int | None = Field(description="logical processors of the machine; none where unknown")
    threads: int = Field(description="threads that torch used on the CPU")
    device: str = Field(description="what it was computed on: cpu, or cuda with its number")
    variables: dict[str, str] = Field(
        default_factory=dict, description="environment variables that were set and choose kernels: the last digits"
    )
    products: str | None = Field(None, description="arithmetic of matrix products of 32 bits: ieee or tf32")
    convolutions: str | None = Field(None, description="arithmetic of convolutions of 32 bits: ieee or tf32")
    gpu: str | None = Field(None, description="name of the GPU, where one computed")
    gpu_memory: int | None = Field(None, description="memory of the GPU in bytes")
    cuda: str | None = Field(None, description="version of CUDA that torch was built with, where a GPU computed")
    cudnn: str | None = Field(None, description="version of cuDNN, where a GPU computed")
    driver: str | None = Field(None, description="version of NVIDIA's driver, where a GPU computed")


class Result(_Compact):
    """Everything a reader of results needs about one finished run."""

    record_version: Literal[4] = Field(description="version of this format")
    run_id: str = Field(description="hash of what decides the scores; name of the record's folder")
    code: Code = Field(description="which code computed the scores")
    spec: RunSpec = Field(description="the resolved spec that was carried out")
    oracle: bool = Field(description="whether the method was granted true labels, or the prior of the test part")
    selected: str = Field(description="the criterion that names the result")
    decision: DecisionRule = Field("zero", description="the decision that is shown first")
    criteria: dict[str, CriterionResult] = Field(description="what each tracked criterion chose")
    metrics: dict[str, str] = Field(description="metric -> hash of the code that measured it")
    data: DataFacts = Field(description="the labeled problem in numbers")
    folds: tuple[str, ...] = Field(
        (), description="run ids of the folds that this record joins; their scores are out of fold"
    )
    refit: str | None = Field(
        None, description="run id of the model of all rows that scores new ones; none: the mean of the folds does"
    )
    epochs: int = Field(description="epochs that were trained", ge=0, le=1 << 40)
    seconds: Seconds = Field(description="wall-clock time")
    peak_memory: PeakMemory = Field(description="the most memory that the run took")
    model: SavedModelFacts | None = Field(None, description="which state was saved, where one was")
    scores: str = Field("", description="first 16 digits of the SHA-256 of scores.npz; empty if none were kept")
    warnings: tuple[str, ...] = Field((), description="what a reader of the result must know")
    device: str = Field(description="where it was computed: cpu or cuda:NUMBER", pattern=r"^(cpu|cuda(:[0-9]{1,3})?)$")
    threads: int = Field(description="CPU threads; another number may round differently", ge=1, le=1 << 20)
    at_once: int | None = Field(
        None,
        ge=1,
        le=1 << 20,
        description="how many runs of one study shared the machine, at most: seconds and memory are the method's own "
        "where it is 1; none where no study carried the run out",
    )
    finished_at: str = Field(description="UTC, ISO 8601", pattern="^20[0-9]{2}(-[0-9]{2}){2}T([0-9]{2}:){2}[0-9]{2}Z$")

    @property
    def chosen(self) -> CriterionResult:
        """State that the selected criterion chose."""
        return self.criteria[self.selected]

    def viewed(self, criterion: str, decision: DecisionRule) -> Result:
        """The same result, named by another criterion, with another decision first. Nothing else differs."""
        if criterion not in self.criteria or (self.selected, self.decision) == (criterion, decision):
            return self
        return self.model_copy(update={"selected": criterion, "decision": decision})

    @property
    def model_is_mean(self) -> bool:
        """Whether new rows have the mean score of the models of all folds."""
        return bool(self.folds) and self.refit is None

    @property
    def labeled(self) -> int:
        """Labeled rows that were trained on or held out, each counted once."""
        held_out = 0 if self.folds else self.data.validation.labeled or 0
        return (self.data.train.labeled or 0) + held_out

    @property
    def test(self) -> dict[str, float | None]:
        """metric -> value on the test part, under the criterion that names the result; empty without true labels.

        ``METRIC-at-prior``: by the decision at the prior.
        """
        return {name: measure.value for name, measure in self.chosen.measured("test").items()}


@dataclass(frozen=True)
class RunResult:
    """A finished run. ``result``: everything that is recorded. ``folder``: its record.

    ``reused``: nothing was trained, because a stored result of the same run and the same code answers it.
    """

    result: Result
    folder: Path
    reused: bool = False

    @property
    def run_id(self) -> str:
        """Hash of what decides the scores."""
        return self.result.run_id

    @property
    def test(self) -> dict[str, float | None]:
        """Metric -> value on the test part, under the selected criterion; empty without true labels.

        ``METRIC-at-prior``: by the decision at the prior.
        """
        return self.result.test

    @property
    def validation(self) -> dict[str, float | None]:
        """Metric -> value on the validation part, PU-only metrics included."""
        return {name: measure.value for name, measure in self.result.chosen.measured("validation").items()}

    def __repr__(self) -> str:
        spec, chosen = self.result.spec, self.result.chosen
        measures = {**self.test} or {name: self.validation.get(name) for name in ("pa", "pauc")}
        shown = ", ".join(f"{name} {value:.4g}" for name, value in list(measures.items())[:4] if value is not None)
        oracle = " (oracle)" if self.result.oracle else ""
        chosen_by = f"epoch {chosen.epoch} by {self.result.selected}"
        return f"<{spec.method.key}{oracle} on {spec.data.key}, seed {spec.seed}: {shown}; {chosen_by}; {self.folder}>"


class Failure(Stored):
    """A run that was refused after its split was built, or that started and did not finish."""

    failure_version: Literal[1] = Field(description="version of this format")
    run_id: str = Field(description="the run it would have been")
    cause: Cause = Field(description="what kind of failure it is")
    reason: str = Field(description="what happened, in words")
    stage: str | None = Field(None, description="stage of training that was reached")
    epoch: int | None = Field(None, description="epoch that was reached, from 1")
    step: int | None = Field(
        None,
        validation_alias=AliasChoices("step", "batch"),  # as it was called at first
        description="step of the epoch that was reached, from 1",
    )
    code: Code = Field(description="the code that failed")
    spec: RunSpec = Field(description="the resolved spec")
    traceback: str = Field(description="of the error")
    environment: Environment = Field(description="what it ran on")
    failed_at: str = Field(description="UTC, ISO 8601")


def plain_data(value: Any) -> Any:
    """Plain JSON data: lists instead of arrays, numbers instead of numpy's scalars, None for what is not finite."""
    if isinstance(value, (np.ndarray, np.generic)):
        return plain_data(value.tolist())
    if isinstance(value, Mapping):
        return {str(key): plain_data(inner) for key, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain_data(inner) for inner in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    return value if isinstance(value, (bool, int, str)) or value is None else str(value)
