"""Info records: what a plugin says about itself without importing anything heavy.

Entry-point modules hold these records and nothing else; ``load`` is an import string, resolved only when the thing
is used. Listing every installed plugin therefore imports neither torch nor scikit-learn.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from functools import cache
from types import MappingProxyType, UnionType
from typing import Any, ClassVar, Literal, get_args, get_origin, get_type_hints

from ..errors import shortened, shown

_IMPORT_STRING = re.compile(r"[A-Za-z_][\w.]*:[A-Za-z_]\w*")
#: Most characters of a key: tables, files and pages show it.
LONGEST_KEY = 64

Setting = Literal["two-sample", "one-sample", "either"]
Modality = Literal["image", "text", "tabular"]
#: Where labels come from: a mechanism simulates them, or the data bring them, sampled under one of these schemes.
Labels = Literal["simulated", "one-sample", "two-sample"]


@dataclass(frozen=True, kw_only=True)
class Reference:
    """Where a method, data set or measure was published."""

    authors: str
    title: str
    venue: str
    year: int
    url: str = ""

    def __str__(self) -> str:
        return f"{self.authors}, {self.title}, {self.venue} {self.year}"


@dataclass(frozen=True, kw_only=True)
class Preset:
    """Named hyper-parameter values that replace a Config's defaults, with overrides for single data sets."""

    values: Mapping[str, Any] = field(default_factory=dict)
    per_data: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    note: str = ""

    def resolve(self, data_key: str) -> dict[str, Any]:
        """The values for one data set."""
        return {**self.values, **self.per_data.get(data_key, {})}


@dataclass(frozen=True, kw_only=True)
class Info:
    """Fields of every plugin's info record.

    Raises TypeError on a field of another type than declared, ValueError on a key that is not lower-case words joined
    by hyphens, or a ``load`` that is not ``package.module:attribute``.
    """

    kind: ClassVar[str]
    #: Hook that gives a list of these records.
    hook: ClassVar[str] = ""
    #: Fields that decide numbers and that no spec holds; they count as code.
    deciding: ClassVar[tuple[str, ...]] = ()
    #: Whether its code takes part in runs and is hashed.
    computes: ClassVar[bool] = True
    #: Pattern of its keys, and the same in words.
    spelling: ClassVar[tuple[str, str]] = (
        r"[a-z0-9]+(-[a-z0-9]+)*",
        "lower-case letters and digits, words joined by hyphens (macro-f1)",
    )

    key: str
    name: str
    summary: str
    load: str
    family: str = ""
    reference: Reference | None = None
    follows: str = ""
    aliases: tuple[str, ...] = ()
    presets: Mapping[str, Preset] = field(default_factory=lambda: MappingProxyType({}))

    def __init_subclass__(cls, kind: str = "", hook: str | None = None, **options: Any) -> None:
        """``class MetricInfo(Info, kind="metric")``: its hook is ``pubench_metrics`` unless another is given."""
        super().__init_subclass__(**options)
        if kind:
            cls.kind, cls.hook = kind, f"pubench_{kind}s" if hook is None else hook

    def __post_init__(self) -> None:
        check_fields(self)
        for key in (self.key, *self.aliases):
            if not re.fullmatch(self.spelling[0], key):
                raise ValueError(f"key {key!r} must be {self.spelling[1]}")
            if len(key) > LONGEST_KEY:
                raise ValueError(f"key {shortened(key)!r} must have at most {LONGEST_KEY} characters, got {len(key)}")
        if not _IMPORT_STRING.fullmatch(self.load) and (self.load or self.kind != "command"):
            raise ValueError(f"load of '{self.key}' is {self.load!r}; it must read 'package.module:attribute'")

    @property
    def decisions(self) -> dict[str, Any]:
        """Fields that decide numbers besides the implementation, as plain data."""
        values = {name: getattr(self, name) for name in self.deciding}
        return {name: sorted(value) if isinstance(value, frozenset) else value for name, value in values.items()}

    @property
    def package(self) -> str:
        """Top-level import name of the code behind this record."""
        return self.load.split(":")[0].split(".")[0]


@dataclass(frozen=True, kw_only=True)
class MethodInfo(Info, kind="method"):
    """A PU learning method.

    ``needs``: what the default configuration requires (prior, truth). ``devices``: what its tensors may live on.

    ``role``: a ``baseline`` is what methods have to beat. Tables show it as such, and never as best or ranked.
    ``out_of_sample``: while it trains, it scores unlabeled rows by members that did not see them (out of bag), so that
    what it makes of these scores needs no folds. ``learns_from_negatives``: its table has known negatives, if there are
    any; for other methods they are left out. ``declared_failures``: conformance checks that the method fails by its
    nature, with the reason.
    """

    deciding: ClassVar[tuple[str, ...]] = ("setting",)
    needs: frozenset[Literal["prior", "truth"]] = frozenset()
    role: Literal["method", "baseline"] = "method"
    setting: Setting = "either"
    devices: tuple[str, ...] = ("cpu", "cuda")
    out_of_sample: bool = False
    learns_from_negatives: bool = False
    declared_failures: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True, kw_only=True)
class DatasetInfo(Info, kind="dataset"):
    """A data set, or a source of many tasks.

    ``classes``: in index order. ``positive``, ``negative``: the default binarization, as class indices.

    ``binarizations``: named others, (positive, negative) each. ``source``: where the files come from, in words.
    ``license``: license or terms of use.

    ``tasks``: form of the addresses of its tasks, if the source holds many problems (``disdat/SPECIES``); empty if it
    holds one. ``task``: the one that a record made by :meth:`DataSource.task` describes. ``labels``: ``simulated``, or
    the scheme under which the data's own labels were sampled.
    """

    modality: Modality
    classes: tuple[str, ...]
    positive: tuple[int, ...]
    negative: tuple[int, ...]
    backbone: str
    preprocess: Literal["none", "standardize", "l2"] = "none"
    source: str = ""
    license: str = ""
    binarizations: Mapping[str, tuple[tuple[int, ...], tuple[int, ...]]] = field(
        default_factory=lambda: MappingProxyType({})
    )
    tasks: str = ""
    task: str = ""
    labels: Labels = "simulated"

    @property
    def address(self) -> str:
        """Value of ``data.key``: the key, and the task if there is one (``disdat/nsw14``)."""
        return f"{self.key}{self.tasks[len(self.key)]}{self.task}" if self.task else self.key

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.tasks and not re.match(rf"{self.key}[/:].", self.tasks):
            raise ValueError(
                f"tasks of '{self.key}' must read '{self.key}/NAME' or '{self.key}:NAME', got {self.tasks!r}"
            )
        for positive, negative in ((self.positive, self.negative), *self.binarizations.values()):
            if absent := [k for k in (*positive, *negative) if not 0 <= k < len(self.classes)]:
                raise ValueError(f"data set '{self.key}' has {len(self.classes)} classes and no class {absent[0]}")


@dataclass(frozen=True, kw_only=True)
class MechanismInfo(Info, kind="mechanism"):
    """A labeling mechanism.

    ``assumption``: SCAR or SAR. ``variants``: named readings of the mechanism; the first is the default.
    """

    deciding: ClassVar[tuple[str, ...]] = ("needs_posterior",)
    assumption: Literal["SCAR", "SAR"]
    needs_posterior: bool = False
    variants: tuple[str, ...] = ("paper",)

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.variants:
            raise ValueError(f"mechanism '{self.key}' has no variant; its first one is the default")


@dataclass(frozen=True, kw_only=True)
class MetricInfo(Info, kind="metric"):
    """A measure of scores and decisions.

    ``needs``: the fields of the view that the metric reads, besides scores and decisions.

    ``assumes``: what must hold for its value to mean what it says: ``prior`` (the prior that was given is right),
    ``SCAR`` (labeled positives are a random draw of all). ``criterion``: it may be used to choose an epoch.
    ``headline``: it has a column in every table of results, in percent; a larger number stands further left.
    ``parameter``: what a whole number in its name means, which the function is called with: ``recall-at`` of 200 rows
    is named ``recall-at-200``; empty for metrics without one.
    """

    deciding: ClassVar[tuple[str, ...]] = ("needs", "higher_is_better")
    needs: frozenset[Literal["truth", "labeled", "prior", "scheme"]] = frozenset()
    assumes: frozenset[Literal["prior", "SCAR"]] = frozenset()
    higher_is_better: bool = True
    criterion: bool = False
    headline: int = 0
    parameter: str = ""

    def __post_init__(self) -> None:
        super().__post_init__()
        if "prior" in self.needs and "prior" not in self.assumes:
            raise ValueError(f"metric '{self.key}' reads the prior and must say that it assumes it")

    @property
    def oracle(self) -> bool:
        """Whether it reads true labels."""
        return "truth" in self.needs


@dataclass(frozen=True, kw_only=True)
class PriorInfo(Info, kind="prior"):
    """A class-prior estimator.

    ``inputs``: what the estimator reads, raw features or the scores of a held-out P-versus-U classifier.

    ``slow``: whether a few thousand rows take it longer than half a minute; then it runs only on request. ``error``:
    mean absolute error of its share on data with known shares and SCAR labels, over estimates without a warning (over
    all if it never gave one); None if not measured.
    """

    deciding: ClassVar[tuple[str, ...]] = ("inputs",)
    inputs: Literal["scores", "features"]
    slow: bool = False
    error: float | None = None


@dataclass(frozen=True, kw_only=True)
class BackboneInfo(Info, kind="backbone"):
    """A network that methods train. ``inputs``: vector for (d,) rows, image for (channels, height, width) rows."""

    inputs: Literal["vector", "image"]


@dataclass(frozen=True, kw_only=True)
class SinkInfo(Info, kind="sink"):
    """A place that gets copies of finished runs: a tracking server, a file.

    ``load``: a subclass of :class:`pubench_core.sinks.Sink`. ``automatic``: whether it gets every finished run without
    being named in ``execution.sinks``. ``address``: what its address is, with its default (``a file; by default
    <results>/copies.txt``).
    """

    computes: ClassVar[bool] = False
    automatic: bool = False
    address: str = ""


@dataclass(frozen=True, kw_only=True)
class CommandInfo(Info, kind="command"):
    """A command of ``pubench``.

    ``path``: the words that call it (``study run``). ``load``: a function that Typer can make a command of, whose
    docstring is its help; a record without one describes a group of commands (``study``) by ``help``. ``example``: a
    command line to copy. ``panel``: heading in the list of commands, for a path of one word.

    Raises ValueError on a path that is not lower-case words.
    """

    spelling: ClassVar[tuple[str, str]] = (
        r"[a-z0-9]+(-[a-z0-9]+)*( [a-z0-9]+(-[a-z0-9]+)*)*",
        "the words of a command, lower-case (study run)",
    )
    path: str
    help: str = ""
    example: str = ""
    panel: str = ""
    load: str = ""
    key: str = ""
    name: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        _same(self, self.path, self.help)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class ApiInfo(Info, kind="api", hook="pubench_api"):
    """A name of the package ``pubench`` that a tool provides.

    ``name``: the attribute (``tune``: :func:`pubench.tune`). ``load``: what it stands for.

    Raises ValueError on a text that is no Python name.
    """

    spelling: ClassVar[tuple[str, str]] = (r"[A-Za-z]\w*", "a Python name (tune)")
    key: str = ""
    summary: str = ""

    def __post_init__(self) -> None:
        _same(self, self.name, self.summary)
        super().__post_init__()


@dataclass(frozen=True, kw_only=True)
class PartInfo(ApiInfo, kind="part", hook=""):
    """A part that a hook of :data:`~pubench_core.plugins.hooks.PARTS` names: ``name`` is the hook."""


def _same(info: Info, name: str, summary: str) -> None:
    """Commands and names are their own keys."""
    for field_name, value in (("key", name), ("name", name), ("summary", summary)):
        object.__setattr__(info, field_name, value)


@dataclass(frozen=True, kw_only=True)
class TableInfo(Info, kind="table"):
    """A reader of users' tables. ``suffixes``: of the files that it reads.

    Its code is not hashed: what it read of a table counts by the digest of the arrays.
    """

    suffixes: tuple[str, ...] = ()


@dataclass(frozen=True, kw_only=True)
class ExecutorInfo(Info, kind="executor"):
    """A way to carry the runs of a study out.

    ``load``: a function that gets a :class:`pubench_study.executors.Wanted` and gives a
    :class:`pubench_study.scheduler.Pool`. ``address``: what its address is (``HOST:PORT of a cluster``); empty if it
    takes none. ``here``: its runs compute on this machine.
    """

    computes: ClassVar[bool] = False
    address: str = ""
    here: bool = False


# -------------------------------------------------------------------- types of fields


_parts: Any = cache(lambda declared: (get_origin(declared) or declared, get_args(declared)))  # type: ignore[unreachable]


def check_fields(info: Info) -> None:
    """Raises TypeError naming the first field of a record whose value is not of the type declared for it.

    Commands that list or run something else read it too; a field of another type would be an error there.
    """
    kind = next(one for one in type(info).__mro__ if one.__module__ == __name__)
    for name, declared in _types_of(kind).items():
        if (value := getattr(info, name)) is not getattr(kind, name, ...) and not _is(value, declared):
            raise TypeError(f"{name} of the info {shown(info.key)} is {shown(value)}, expected {_in_words(declared)}")


@cache
def _types_of(kind: type) -> dict[str, Any]:
    """Declared type of each field of a dataclass; of any other class, nothing."""
    if not is_dataclass(kind):
        return {}
    hints = get_type_hints(kind)
    return {one.name: hints[one.name] for one in fields(kind)}


def _is(value: Any, declared: Any) -> bool:
    """Whether a value, and everything in it, is of a declared type; a truth value is no number."""
    origin, parts = _parts(declared)
    if origin in (Any, Literal):
        return origin is Any or (isinstance(value, str) and value in parts)
    if origin is UnionType:
        return any(_is(value, part) for part in parts)
    if not isinstance(value, origin) or isinstance(value, bool) != (origin is bool):
        return False
    if origin is Mapping:
        return all(_is(key, parts[0]) and _is(one, parts[1]) for key, one in value.items())
    if origin is tuple and ... not in parts:
        return len(value) == len(parts) and all(map(_is, value, parts))
    if parts:
        return all(_is(one, parts[0]) for one in value)
    return all(_is(getattr(value, name), one) for name, one in _types_of(origin).items())


def _in_words(declared: Any) -> str:
    if get_origin(declared) is Literal:
        return "one of " + ", ".join(get_args(declared))
    text = declared.__name__ if isinstance(declared, type) and not get_args(declared) else str(declared)
    return re.sub(r"[\w.]+\.(?=\w)", "", text)
