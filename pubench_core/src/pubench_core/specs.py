"""What a run is: a validated, complete, hashable description.

Flags, YAML files and the Python API all build a :class:`RunSpec` through :mod:`pubench_core.resolve`. Everything but
``execution`` (where and how it runs) and ``method.preset`` (how the values came about) decides the run id.
"""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, field_validator, model_validator

from .config import Strict

Scheme = Literal["case-control", "single-training-set", "two-sample", "one-sample"]
Artifact = Literal["scores", "trace"]

#: Key of the mechanism of a user's own file: its labels are taken as they are.
GIVEN = "given"

#: Schemes in which labeled and unlabeled rows together are one draw from the population (Wang et al.: one-sample).
ONE_SAMPLE_SCHEMES: frozenset[str] = frozenset({"single-training-set", "one-sample"})


class OwnFile(Strict):
    """A user's own table: which column says who is labeled, which columns are features.

    ``sha256`` of the files decides the run, their places do not. ``truth_col``: true labels, for measuring only.
    ``positive_value``: the texts that mean positive, where columns are not 1/0, 1/-1 or true/false. ``features``:
    shell patterns; empty means every column that is not something else.
    """

    path: Path
    sha256: str
    label_col: str
    truth_col: str | None = None
    positive_value: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    features: tuple[str, ...] = ()
    test: Path | None = None
    test_sha256: str | None = None

    @field_validator("positive_value", "drop", "features", mode="before")
    @classmethod
    def _list(cls, given: Any) -> Any:
        """``a,b`` means the list of a and b."""
        if isinstance(given, (list, tuple)):
            return tuple(str(word) for word in given)
        return tuple(word.strip() for word in str(given).split(","))


class DataSpec(Strict):
    """The binarized problem. ``positive``/``negative``: class indices; classes in neither list are dropped.

    ``own``: the user's file, where the data are one; ``key`` is then its file name.
    """

    key: str
    own: OwnFile | None = None
    binarization: str | None = None
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    scheme: Scheme = "case-control"
    preprocess: Literal["none", "standardize", "l2"] = "none"
    test_fraction: float = Field(0.2, gt=0, lt=1, description="share held out where a data set has no test part")

    @field_validator("positive", "negative")
    @classmethod
    def _in_order(cls, given: tuple[int, ...]) -> tuple[int, ...]:
        return tuple(sorted(set(given)))  # the same classes written differently are the same run

    @model_validator(mode="after")
    def _two_disjoint_classes(self) -> DataSpec:
        if not self.positive or not self.negative:
            raise ValueError("positive and negative must each name at least one class")
        if both := set(self.positive) & set(self.negative):
            raise ValueError(f"class {min(both)} is both positive and negative")
        return self


class MechanismSpec(Strict):
    """Who gets a label: ``c`` = p(labeled | positive), the label frequency; None where the labels are given."""

    key: str = "scar"
    c: float | None = Field(0.1, gt=0, le=1, json_schema_extra={"said as": "a number in (0, 1]"})
    variant: str = "paper"

    @model_validator(mode="after")
    def _c_unless_given(self) -> MechanismSpec:
        if (self.c is None) != (self.key == GIVEN):
            raise ValueError("c is a number in (0, 1], and absent where the labels are given")
        return self


class ValidationSpec(Strict):
    """``fraction`` of the training part, split off (stratified) before anything is labeled."""

    fraction: float = Field(0.2, ge=0, lt=1)


class MethodSpec(Strict):
    """``calibrate``: give a two-sample method U ∪ P as its unlabeled rows under one-sample data (Wang et al.)."""

    key: str
    preset: str | None = None
    calibrate: Literal["auto", "on", "off"] = "auto"
    config: dict[str, Any] = Field(default_factory=dict)


class BackboneSpec(Strict):
    """The network that ``run.backbone`` builds."""

    key: str


class SelectionSpec(Strict):
    """``criterion`` names the result; all ``criteria`` are tracked, each with its own best epoch and patience.

    ``last`` means the state after every planned epoch: a run that tracks it never ends early.
    """

    criterion: str = "pa"
    criteria: tuple[str, ...]

    @field_validator("criteria")
    @classmethod
    def _each_once(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(given))

    @model_validator(mode="after")
    def _tracked(self) -> SelectionSpec:
        if self.criterion not in self.criteria:
            raise ValueError(f"criterion '{self.criterion}' is not tracked; criteria are {', '.join(self.criteria)}")
        return self


class EvaluationSpec(Strict):
    """``metrics`` of the test part; ``trace``: parts that are scored after every epoch as well, for the trace only."""

    metrics: tuple[str, ...]
    trace: tuple[Literal["train", "test"], ...] = ()

    @field_validator("metrics", "trace")
    @classmethod
    def _each_once(cls, given: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(dict.fromkeys(given))


class ExecutionSpec(Strict):
    """Where and how a run is carried out. Recorded, never hashed."""

    device: str = Field("auto", pattern=r"^(auto|cpu|cuda(:\d+)?)$")
    threads: int | None = Field(None, ge=1)
    results: Path = Path("results")
    data_root: Path | None = None
    encoder: Path | None = Field(None, description="folder of the sentence encoder for text data sets")
    offline: bool = False
    artifacts: tuple[Artifact, ...] = ("scores", "trace")
    save_model: bool = False
    tracking: bool = True
    tracking_uri: str | None = None


class RunSpec(Strict):
    """One run: data, labels, method, network, choice of epoch, measures, seed."""

    data: DataSpec
    mechanism: MechanismSpec
    prior: float | str = "true"
    validation: ValidationSpec = ValidationSpec()
    method: MethodSpec
    backbone: BackboneSpec
    selection: SelectionSpec
    evaluation: EvaluationSpec
    seed: int = Field(2, ge=0, lt=2**63)
    execution: ExecutionSpec = ExecutionSpec()

    @field_validator("prior", mode="before")  # runs before Strict's own look at truth values
    @classmethod
    def _prior(cls, given: Any) -> float | str:
        return parse_prior(given)

    def hashed(self) -> dict[str, Any]:
        """The part that decides the numbers, as plain data."""
        plain = self.model_dump(mode="json", exclude={"execution": True, "method": {"preset"}})
        assert isinstance(plain, dict)
        del plain["data"]["binarization"]  # a name for the two lists
        if self.data.own is None:
            del plain["data"]["own"]
        else:
            del plain["data"]["key"], plain["data"]["own"]["path"], plain["data"]["own"]["test"]
        return plain

    @property
    def run_id(self) -> str:
        """First 16 hexadecimal digits of the SHA-256 of the canonical JSON of :meth:`hashed`."""
        return hashlib.sha256(canonical_json(self.hashed()).encode()).hexdigest()[:16]


#: What is said where a true prior is asked for and there are no true labels.
NO_TRUE_PRIOR = (
    "prior {}: without true labels the true class prior is not known; say what you believe (--prior 0.3) or have it "
    "estimated (--prior estimated:KEY, pubench list priors)"
)


def canonical_json(value: Any) -> str:
    """JSON with sorted keys, no white space and no NaN: equal values give equal text."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=True, allow_nan=False)


def parse_prior(given: Any) -> float | str:
    """``true``, a number in (0, 1), ``scaled:FACTOR`` or ``estimated:KEY``; raises ValueError on anything else."""
    if given is True or given == "true":
        return "true"
    form = "a prior is 'true', a number between 0 and 1, 'scaled:1.2' or 'estimated:KEY'"
    if isinstance(given, str) and ":" in given:
        word, rest = given.split(":", 1)
        if word == "estimated" and rest:
            return given
        if word == "scaled":
            factor = _number(rest, form)
            if not 0 < factor < float("inf"):
                raise ValueError(f"a scaled prior needs a factor above 0; {form}")
            return f"scaled:{factor!r}"
        raise ValueError(form)
    number = _number(given, form)
    if not 0 < number < 1:
        raise ValueError(f"{number:g} is outside (0, 1); {form}")
    return number


def _number(given: Any, form: str) -> float:
    try:
        return float(given)
    except (TypeError, ValueError):
        raise ValueError(form) from None
