"""Spec of a run: a validated, complete, hashable description.

Flags, YAML files and the Python API all build a :class:`RunSpec` through :mod:`pubench_core.engine.resolve`. The run id
hashes what decides the trained scores and nothing else: what only looks at a run (``selection``, ``decision``,
``evaluation``), where and how it is carried out (``execution``) and how values came about (``method.preset``,
``data.binarization``) are not in it.

This is the one file to open to add a field of a run. ``flag`` makes it an option of the command line and ``argument``
one of :func:`pubench.run`, ``compare`` and ``tune``; help, default, type and the recipe that reproduces a run are read
from here as well (:mod:`pubench_core.specs.run_fields`). ``make generated`` then writes what is generated from it.
"""

from __future__ import annotations

import csv
from collections.abc import Iterable
from pathlib import Path
from typing import Annotated, Any, Literal, get_args

from pydantic import AfterValidator, field_serializer, field_validator, model_validator

from ..errors import shown, without_password
from .fields import Field, Strict, identity_of, short_hash
from .schemes import Scheme

Artifact = Literal["scores", "trace", "samples", "training-scores"]
Preprocess = Literal["none", "standardize", "l2"]
PriorScorer = Literal["logistic", "bagged-nets", "backbone"]
Precision = Literal["ieee", "tf32", "bf16"]

#: Key of the mechanism of data that bring their labels: they are taken as they are.
GIVEN = "given"
#: The share of positives in the test part: what no method can know, so a run with it is an oracle.
TEST = "test"
#: The prior of a run that knows none: its method needs none, and no measure reads one.
UNKNOWN = "unknown"
#: Share of P and U that is labeled where none is given: that of Wang et al.'s main tables.
USUAL_POSITIVE_RATE = 0.3
_EACH_ONCE = AfterValidator(lambda given: tuple(dict.fromkeys(given)))


class UserTableSpec(Strict):
    """A user's own table: which column says who is labeled, which columns are features.

    The checksums of the files decide the run, their places do not.
    """

    path: Path = Field(description="the file", identifies=False, flag="--data")
    sha256: str = Field(description="SHA-256 of the file")
    label_col: str = Field(
        description="column that says who is labeled: 1/0, 1/-1 or true/false; blank: not",
        flag="--label-col",
        argument="labeled",
    )
    truth_col: str | None = Field(
        None,
        description="column of true labels, for measuring only",
        neutral=None,
        flag="--truth-col",
        argument="truth",
    )
    positive_value: tuple[str, ...] = Field(
        (),
        description="values that mean positive, if columns are not 1/0, 1/-1 or true/false: 'type A,type B'",
        neutral=(),
        flag="--positive-value",
    )
    known_negative: tuple[str, ...] = Field(
        (),
        description="values of the labels that mean a known negative; methods that learn from them train on such rows",
        neutral=(),
        flag="--known-negative",
    )
    drop: tuple[str, ...] = Field((), description="columns to leave out: id,name", neutral=(), flag="--drop")
    features: tuple[str, ...] = Field(
        (),
        description="columns to use, by name or as shell patterns: emb_*,age",
        neutral=(),
        flag="--features",
        unless_given="default: all others",
    )
    codes: tuple[str, ...] = Field(
        (),
        description="columns whose whole numbers are codes of categories: soil,icd*",
        neutral=(),
        flag="--categorical",
    )
    missing_values: tuple[str, ...] = Field(
        (),
        description="values that mean missing, in every feature or in one: -9999,cover=255",
        neutral=(),
        flag="--missing",
    )
    groups: str | None = Field(
        None,
        description="column of groups, such as patients, whose rows are never parted",
        neutral=None,
        flag="--groups",
    )
    weights: str | None = Field(None, description="column of weights of the rows", neutral=None, flag="--weights")
    no_header: bool = Field(
        False,
        description="the file has no line of names; columns are called c1, c2, ...",
        neutral=False,
        flag="--no-header",
    )
    positives: Path | None = Field(
        None,
        description="file of labeled positives, or list of their ids, if the data are the unlabeled rows",
        identifies=False,
        flag="--positives",
    )
    positives_sha256: str | None = Field(None, description="SHA-256 of the file of positives", neutral=None)
    unlabeled: Path | None = Field(
        None,
        description="file of unlabeled rows, if the data are the labeled positives",
        identifies=False,
        flag="--unlabeled",
    )
    test: Path | None = Field(
        None, description="file of test rows with the truth column", identifies=False, flag="--test"
    )
    test_sha256: str | None = Field(None, description="SHA-256 of the file of test rows", neutral=None)

    @field_validator("positive_value", "known_negative", "drop", "features", "codes", "missing_values", mode="before")
    @classmethod
    def _list(cls, given: Any) -> Any:
        """``a,"b, c"`` is the list of a and "b, c"; which parts are one name after all is seen next to the columns."""
        if isinstance(given, (list, tuple)):
            return tuple(str(word) for word in given)
        return tuple(word.strip() for word in next(csv.reader([str(given)], skipinitialspace=True), []))


class DataSpec(Strict):
    """The binary problem. Classes in neither list are dropped."""

    key: str = Field(
        description="key of the data set, or a table of your own: .csv, .tsv, .xlsx, .parquet or .npz",
        flag="--data",
        names="dataset",
        unless_given="required, unless a run file names it",
    )
    own: UserTableSpec | None = Field(None, description="the user's own table, where the data are one", neutral=None)
    binarization: str | None = Field(
        None,
        description="named pair of class lists, such as case1 of Wang et al.",
        identifies=False,
        flag="--binarization",
    )
    positive: tuple[int, ...] = Field(
        description="positive classes, by index or name: 0,2,4",
        flag="--positive",
        unless_given="default: the data set's",
    )
    negative: tuple[int, ...] = Field(
        description="negative classes, by index or name; classes in neither list are dropped",
        flag="--negative",
        unless_given="default: the data set's",
    )
    scheme: Scheme = Field(
        "case-control",
        description="how labeled and unlabeled rows were sampled",
        flag="--scheme",
        unless_given="default: case-control; own table: one-sample",
    )
    preprocess: Preprocess = Field("none", description="what is done to features before a network sees them")
    test: Literal["own", "drawn"] = Field(
        "own",
        description="the test part: own, the data set's where it has one; drawn, a share of all rows, those included",
        neutral="own",
    )
    test_fraction: float = Field(
        0.2,
        gt=0,
        lt=1,
        description="share held out where a data set has no test part, or test is drawn",
        accepts="a number in (0, 1)",
    )
    total: int | None = Field(
        None,
        ge=2,
        description="rows of P and U together, validation part included, drawn class-balanced: schemes one-sample, "
        "two-sample",
        neutral=None,
        flag="--total",
        unless_given="default: as many as the data set has",
    )

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
        if self.own is not None and self.test == "drawn":
            raise ValueError("data.test drawn is for data sets; the test part of your own table is its test file")
        return self


class MechanismSpec(Strict):
    """Who gets a label."""

    key: str = Field(
        "scar", description="key of the labeling mechanism", flag="--mech", argument="mechanism", names="mechanism"
    )
    c: float | None = Field(
        0.1, gt=0, le=1, description="label frequency p(labeled | positive)", accepts="a number in (0, 1]", flag="--c"
    )
    positive_rate: float | None = Field(
        None,
        gt=0,
        lt=1,
        description="labeled rows as a share of P and U together, instead of c: schemes one-sample, two-sample",
        accepts="a number in (0, 1)",
        neutral=None,
        flag="--positive-rate",
        unless_given=f"default: {USUAL_POSITIVE_RATE:g}",
    )
    variant: str = Field("paper", description="which reading of the mechanism")

    @model_validator(mode="after")
    def _one_number_unless_given(self) -> MechanismSpec:
        if self.key == GIVEN:
            if (self.c, self.positive_rate) != (None, None):
                raise ValueError("c and positive_rate must be absent if the labels are given")
        elif (self.c is None) == (self.positive_rate is None):
            raise ValueError("give one of c in (0, 1] and positive_rate in (0, 1)")
        return self

    @property
    def amount(self) -> tuple[str, float] | None:
        """How many rows are labeled: the field's name and its value; None where the labels are given."""
        if self.positive_rate is not None:
            return "positive_rate", self.positive_rate
        return None if self.c is None else ("c", self.c)

    @property
    def amount_in_words(self) -> str:
        """``c = 0.1`` or ``positive rate = 0.3``; empty where the labels are given."""
        return "" if self.amount is None else f"{self.amount[0].replace('_', ' ')} = {self.amount[1]:g}"


class CheckedSpec(Strict):
    """Rows of U whose true label somebody looked up: a positive becomes labeled, a negative leaves U."""

    rows: int = Field(
        0, ge=0, description="rows of U to train on whose true label is looked up before training", flag="--checked"
    )
    by: Literal["random", "top", "uncertain", "sheet"] = Field(
        "random",
        description="which rows: random, or by a linear score of P against U: top, uncertain (nearest to its middle), "
        "or sheet (as audit draws them: half above its middle and half below, weighted by the design)",
    )


class ValidationSpec(Strict):
    """The validation part: split off (stratified) before anything is labeled, or each of ``folds`` parts in turn."""

    fraction: float = Field(
        0.2,
        ge=0,
        lt=1,
        description="share of the training part that is the validation part; 1 / folds under cross-fitting",
        argument="validation",
    )
    folds: int | None = Field(
        None,
        ge=2,
        le=100,
        description="cross-fitting: P and U are cut into so many parts, and each is scored by a model of the others",
        neutral=None,
        flag="--folds",
        unless_given="default: none, one validation part",
    )
    fold: int | None = Field(
        None,
        ge=0,
        description="the fold that is the validation part, from 1; 0: no part, for a model of all rows; none: all of "
        "them in turn, joined in one record",
        neutral=None,
    )
    refit: Literal["mean", "all"] = Field(
        "mean",
        description="what scores new rows under cross-fitting: mean, the mean of the models of all folds; all, one "
        "more model of all rows, in the epoch that the folds chose",
        neutral="mean",
        flag="--refit",
    )

    @model_validator(mode="before")
    @classmethod
    def _share_of_a_fold(cls, given: Any) -> Any:
        """A fold is a share of 1 / folds, whatever the default fraction is."""
        text = str(given.get("folds")) if isinstance(given, dict) else ""
        if not text.isdecimal() or int(text) < 2:
            return given  # no folds, or refused as what it is
        share = 1 / int(text)
        if given.get("fraction", share) != share:
            raise ValueError(f"{text} folds are a share of {share:g} each; leave out validation.fraction")
        return {**given, "fraction": share}

    @model_validator(mode="after")
    def _one_of_the_folds(self) -> ValidationSpec:
        if self.fold is not None and (self.folds is None or self.fold > self.folds):
            raise ValueError(f"validation.fold must be at most validation.folds, got {self.fold} of {self.folds}")
        if self.refit == "all" and not self.joint:
            raise ValueError("validation.refit all needs validation.folds, which choose its epoch")
        return self

    @property
    def joint(self) -> bool:
        """Whether the run is the joint record of its folds."""
        return self.folds is not None and self.fold is None


class MethodSpec(Strict):
    """The method and its complete configuration."""

    key: str = Field(
        description="key of the method",
        flag="--method",
        names="method",
        unless_given="required, unless a run file names it",
    )
    preset: str | None = Field(
        None,
        description="named hyper-parameter values of the method, which others change",
        identifies=False,
        flag="--preset",
        names="preset",
    )
    calibrate: Literal["auto", "on", "off"] = Field(
        "auto",
        description="whether a two-sample method gets U ∪ P as its unlabeled rows under one-sample data (Wang et al.); "
        "resolved to on or off there, auto where the scheme leaves nothing to calibrate",
        neutral="auto",
        argument="calibrate",
    )
    config: dict[str, Any] = Field(
        default_factory=dict, description="hyper-parameters of the method", argument="config"
    )


class BackboneSpec(Strict):
    """The network that ``run.backbone`` builds."""

    key: str = Field(
        description="key of the network", flag="--backbone", names="backbone", unless_given="default: the data set's"
    )


class SelectionSpec(Strict):
    """All ``criteria`` are tracked, each with its own best epoch and patience; one of them names the result.

    ``last`` means the state after every planned epoch: a run that tracks it never ends early.
    """

    criterion: str = Field(
        "pa",
        description="criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1",
        flag="--select",
        argument="criterion",
        also="select",
        names="criterion",
    )
    goal: str | None = Field(
        None,
        description="what scores are for, which chooses criterion and decision unless they are given: rank (pauc), "
        "decide (pa, at the prior; decide:0.2..0.3 by pa at both ends of its interval) or review:200 (what the top 200 "
        "find)",
        flag="--goal",
    )
    criteria: Annotated[tuple[str, ...], _EACH_ONCE] = Field(description="the criteria that are tracked")
    non_finite: Literal["fail", "stop"] = Field(
        "fail",
        description="what a loss or score that is not finite does: fail the run, or end its training, of which the "
        "epochs before count",
    )

    @model_validator(mode="after")
    def _tracked(self) -> SelectionSpec:
        if self.criterion not in self.criteria:
            raise ValueError(f"criterion '{self.criterion}' is not tracked; criteria are {', '.join(self.criteria)}")
        return self


class DecisionSpec(Strict):
    """Which rows are called positive. Measures of both decisions are recorded; the rule says which is shown first."""

    rule: Literal["zero", "prior"] = Field(
        "zero",
        description="decision shown first: zero (scores above 0) or prior (as many rows of U as the prior that the "
        "method was given says)",
        flag="--decision",
    )


class EvaluationSpec(Strict):
    """Measures that are taken on the scores of a run."""

    metrics: Annotated[tuple[str, ...], _EACH_ONCE] = Field(
        description="metrics, measured on every part of which enough is known"
    )
    trace: Annotated[tuple[Literal["train", "validation", "test"], ...], _EACH_ONCE] = Field(
        (), description="parts on which the metrics are measured after every epoch as well, for the trace only"
    )


class ExecutionSpec(Strict):
    """Where and how a run is carried out. Recorded, never hashed."""

    device: str = Field(
        "auto",
        pattern=r"^(auto|cpu|cuda(:\d{1,3})?)$",
        description="where it is computed: auto, cpu or cuda:0",
        flag="--device",
    )
    threads: int | None = Field(
        None, ge=1, le=1024, description="CPU threads", flag="--threads", unless_given="default: torch's own choice"
    )
    timeout: float | None = Field(
        None,
        gt=0,
        description="seconds after which the run is ended, as failed with the cause timeout",
        flag="--timeout",
        unless_given="default: never",
    )
    results: Path = Field(Path("results"), description="folder of records", flag="--results")
    data_root: Path | None = Field(
        None,
        description="folder of data files",
        flag="--data-root",
        unless_given="default: PUBENCH_DATA, else the user cache",
    )
    encoder: Path | None = Field(
        None, description="folder of the sentence encoder for text data sets", flag="--encoder"
    )
    offline: bool = Field(False, description="never touch the network", flag="--offline")
    artifacts: tuple[Artifact, ...] = Field(
        ("scores", "trace"),
        description="files kept with the result: all, none, or some of scores, trace, samples and training-scores",
        flag="--artifacts",
    )
    save_model: bool = Field(False, description="keep what scores with: model.safetensors", flag="--save-model")
    tracking: bool = Field(
        True,
        description="send the run to sinks and call listeners of plugins when it is over",
        flag="--no-tracking",
        argument="tracking",
    )
    sinks: dict[str, str | None] = Field(
        {},
        description="sinks that get the run, KEY or KEY=ADDRESS; a password is used and never written",
        flag="--sinks",
        unless_given="default: those that get every run",
    )
    tracking_uri: str | None = Field(
        None,
        description="address of the sinks that get every run (an older name; sinks has an address for each)",
        flag="--tracking-uri",
        argument="",
    )

    @field_validator("artifacts", mode="before")
    @classmethod
    def _artifacts(cls, given: Any) -> Any:
        """``all``, ``none``, or ``a,b`` as the list of a and b."""
        if not isinstance(given, str):
            return given
        words = {"all": get_args(Artifact), "none": ()}
        return words[given] if given in words else tuple(word.strip() for word in given.split(","))

    @field_validator("sinks", mode="before")
    @classmethod
    def _sinks(cls, given: Any) -> Any:
        """``a,b=address`` as a mapping from keys to addresses."""
        return sinks_in(given.split(",")) if isinstance(given, str) else given

    @field_validator("results", "data_root", "encoder")
    @classmethod
    def _a_path(cls, given: Path | None) -> Path | None:
        if "\0" in str(given):
            raise ValueError("no path has a NUL character")
        return given

    @field_serializer("tracking_uri", when_used="json")
    def _without_password(self, uri: str | None) -> str | None:
        return None if uri is None else without_password(uri)

    @field_serializer("sinks", when_used="json")
    def _without_passwords(self, sinks: dict[str, str | None]) -> dict[str, str | None]:
        return {key: self._without_password(address) for key, address in sinks.items()}


class RunSpec(Strict):
    """One run: data, labels, method, network, choice of epoch, measures, seed."""

    data: DataSpec = Field(description="the binary problem")
    mechanism: MechanismSpec = Field(description="who gets a label")
    checked: CheckedSpec = Field(CheckedSpec(), description="rows whose true label is looked up", neutral=CheckedSpec())
    prior: float | str = Field(
        "true",
        description="class prior given to the method: true, 0.4, scaled:1.2, estimated:KEY, unknown, or test, an "
        "oracle's",
        flag="--prior",
        unless_given="default: true; own table without true labels: unknown, and a method that needs one asks for it",
    )
    prior_scorer: PriorScorer = Field(
        "logistic",
        description="classifier of labeled against unlabeled rows whose held-out scores a prior estimator reads",
        neutral="logistic",
    )
    validation: ValidationSpec = Field(ValidationSpec(), description="the validation part")
    method: MethodSpec = Field(description="the method")
    backbone: BackboneSpec = Field(description="the network")
    precision: Precision = Field(
        "ieee",
        description="arithmetic of networks: ieee, 32 bits on every device; tf32, products of 10 bits on CUDA; bf16, "
        "bfloat16 in the backbone, with its head, risks and scores in 32 bits",
        neutral="ieee",
        flag="--precision",
    )
    selection: SelectionSpec = Field(description="choice of epoch", identifies=False)
    decision: DecisionSpec = Field(DecisionSpec(), description="choice of threshold", identifies=False)
    evaluation: EvaluationSpec = Field(description="measures", identifies=False)
    seed: int = Field(2, ge=0, lt=2**63, description="seed of split, labels, initialization and batches", flag="--seed")
    execution: ExecutionSpec = Field(ExecutionSpec(), description="where and how", identifies=False)

    @field_validator("prior", mode="before")  # runs before Strict looks for truth values
    @classmethod
    def _prior(cls, given: Any) -> float | str:
        return parse_prior(given)

    @model_validator(mode="after")
    def _can_be_checked(self) -> RunSpec:
        own, estimated = self.mechanism.key == GIVEN, str(self.prior).startswith("estimated:")
        if self.checked.rows and (own or estimated or self.validation.folds or self.data.scheme == "two-sample"):
            raise ValueError("checked.rows needs simulated labels, no estimated prior, no folds, no two-sample data")
        return self

    def identity(self, config: Strict | None = None) -> dict[str, Any]:
        """The part that decides the trained scores, as plain data.

        ``config``: the method's validated configuration, which knows the neutral values of its fields; without it,
        every hyper-parameter counts.
        """
        found = identity_of(self)
        if self.data.own is not None:
            del found["data"]["key"]  # the name of a file
        if config is not None:
            found["method"]["config"] = identity_of(config)
        return found


def sinks_in(texts: Iterable[str]) -> dict[str, str | None]:
    """``KEY`` or ``KEY=ADDRESS`` -> key and address.

    >>> sinks_in(["shelf=top", "server"])
    {'shelf': 'top', 'server': None}
    """
    return {key.strip(): address or None for key, _, address in (text.partition("=") for text in texts)}


def run_id(spec: RunSpec, config: Strict) -> str:
    """First 16 hexadecimal digits of the SHA-256 of :meth:`RunSpec.identity`."""
    return short_hash(spec.identity(config))


def parse_prior(given: Any) -> float | str:
    """``true``, a number in (0, 1), ``scaled:FACTOR``, ``estimated:KEY``, ``test`` or ``unknown``.

    Raises ValueError for anything else.
    """
    if given is True or given == "true":
        return "true"
    if given in (UNKNOWN, TEST):
        return str(given)
    form = "a prior is 'true', a number between 0 and 1, 'scaled:1.2', 'estimated:KEY', 'test' or 'unknown'"
    word, colon, rest = given.partition(":") if isinstance(given, str) else ("", "", "")
    if word == "estimated" and rest:
        return str(given)
    try:
        number = float(rest if word == "scaled" and colon else given)
    except (TypeError, ValueError, OverflowError):
        raise ValueError(f"given {shown(given)}; {form}") from None
    if word == "scaled":
        if not 0 < number < float("inf"):
            raise ValueError(f"given {shown(given)}; a scaled prior needs a factor above 0; {form}")
        return f"scaled:{number!r}"
    if not 0 < number < 1:
        raise ValueError(f"{number:g} is outside (0, 1); {form}")
    return number
