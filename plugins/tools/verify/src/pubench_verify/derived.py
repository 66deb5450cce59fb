"""Values that a record's spec, the installed code and the data give, compared with those in the record."""

from __future__ import annotations

import hashlib
import os
from collections.abc import Callable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt
from pubench_study.folds import folds_of, refit_of

from pubench_core.data.labeled import as_plain
from pubench_core.data.table_reader import in_memory
from pubench_core.errors import PubenchError, RequestError, shortened
from pubench_core.metric import MetricPlugin
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import SCORES, Arrays, open_regular
from pubench_core.records.scores import rows_and_labels
from pubench_core.results import Code, Result
from pubench_core.specs import is_one_sample, population_prior
from pubench_core.specs.run import TEST, run_id

from .difference import differences
from .folder import MOST_LISTED

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

Say = Callable[[str], None]
#: Arrays that a labeling mechanism does not decide.
_TEST = ("test_rows", "test_labels")


def plan_here(result: Result, data_root: object) -> Plan:
    """Plan of its spec under the installed plugins, with the data of a folder that the record does not choose.

    Metrics that are not installed are left out. Raises RequestError, PluginError if it cannot be resolved.
    """
    from pubench_core.engine.layers import Layer
    from pubench_core.engine.resolve import resolve, stored_spec

    spec, _ = stored_spec(result, registry())
    spec["execution"] |= {"data_root": str(data_root), "encoder": None, "device": "auto", "threads": None}
    return resolve([Layer(spec)], registry())


def absent_table(result: Result) -> str:
    """Why the user's table that a record names is not here; empty if it is, and for a data set.

    Nothing but a file of a table's size is read, and nothing of its content is said. Raises RequestError for a file
    that is another table.
    """
    own = result.spec.data.own
    for path, sha256 in () if own is None else ((own.path, own.sha256), (own.test, own.test_sha256)):
        if path is None or in_memory(path):
            continue
        name = shortened(str(path))
        try:
            with open_regular(path) as file:
                size = os.fstat(file.fileno()).st_size
                if not 0 < size <= MOST_LISTED:
                    return f"{name} has {size:,} bytes; 1 to {MOST_LISTED:,} are read"
                if hashlib.file_digest(file, "sha256").hexdigest() != sha256:
                    raise RequestError(f"{name} is not the table that the run read")
        except OSError as error:
            why = "is not here" if isinstance(error, FileNotFoundError) else f"cannot be read ({error.strerror})"
            return f"{name} {why} (a relative path counts from the current folder)"
    return ""


def other_code(plan: Plan, result: Result, plain: Mapping[str, Any], digest: str | None) -> Iterator[str]:
    """Code or data of a record that are not those of its plan.

    ``digest``: of the data as they are here; None if they are not, and are then taken to be those of the record.
    """
    parts = result.code.parts
    given = {"code.hash": Code.of(parts, {}).hash, "data.digest": parts.get(f"data {result.spec.data.key}") or None}
    yield from map(str, differences(plain, given, "the parts of its code give"))
    now = plan.code_reading(result.data.digest if digest is None else digest)
    if changed := now.changed_since(result.code):
        yield f"it is of other code than is installed (changed: {', '.join(changed)})"


@cache
def installed_metrics(named: frozenset[str]) -> Mapping[str, MetricPlugin]:
    """Installed metrics, with those of the named ones that take a number."""
    from pubench_core.engine.criteria import Installed

    return Installed.of(registry(), named).usable


def other_claims(
    metrics: Mapping[str, MetricPlugin], plan: Plan | None, result: Result, plain: Mapping[str, Any]
) -> Iterator[str]:
    """Fields that are not what spec, plugins, prior and counts give. ``plan``: None if its table is not here."""
    known = {name for name in result.criteria if name in ("native", "last") or name in metrics}
    yield from (f"criterion {name} is not installed" for name in result.criteria if name not in known)
    if result.selected not in result.criteria:
        yield f"selected is {result.selected!r}, a criterion that it did not track"
    given: dict[str, Any] = {
        "selected": result.spec.selection.criterion,
        "decision": None if result.spec.decision.rule == "zero" else result.spec.decision.rule,
        **(_by_method(result) if plan is None else _by_spec(plan, result)),
    }
    yield from map(str, differences(plain, {k: v for k, v in given.items() if k != "oracle"}, "its spec gives"))
    installed: dict[str, Any] = {"oracle": given["oracle"]}
    for name in known:
        plugin = metrics.get(name)
        installed[f"criteria.{name}.oracle"] = plugin is not None and plugin.info.oracle
        installed[f"criteria.{name}.code"] = None if plugin is None else plugin.code
    for name in {*result.metrics, *result.spec.evaluation.metrics} & metrics.keys():
        installed[f"metrics.{name}"] = metrics[name].code
    yield from map(str, differences(plain, installed, "the installed plugins give"))
    if plan is not None:
        yield from map(str, differences(plain, _by_counts(plan, result), "its prior and counts give"))


def _by_method(result: Result) -> dict[str, Any]:
    """What a spec gives without its data. Raises RequestError, PluginError, ValidationError for a false method."""
    from pubench_core.engine.resolve_method import method_class

    spec = result.spec
    method = method_class(registry().find(MethodInfo, spec.method.key))
    config = method.Config.model_validate(spec.method.config)
    return {
        "run_id": run_id(spec, config),
        "oracle": "truth" in method.requires(config) or spec.prior == TEST,
    }


def _by_spec(plan: Plan, result: Result) -> dict[str, Any]:
    from pubench_core.engine.build import calibration_of

    refit = refit_of(plan)
    found: dict[str, Any] = {
        "run_id": plan.run_id,
        "oracle": "truth" in plan.method.requires or plan.spec.prior == TEST,
        "folds": [fold.run_id for fold in folds_of(plan)] or None,
        "refit": None if refit is None else refit.run_id,
        "data.calibrated": calibration_of(plan).calibrated,
    }
    asked, prior, test = result.spec.prior, result.data.prior, result.data.test
    given = prior.true if asked == "true" else asked if isinstance(asked, float) else None
    if asked == TEST and test is not None and test.positive is not None:
        given = test.positive / test.rows
    if prior.given is not None and prior.estimate is None and given is not None:
        found["data.prior.given"] = given
    return found


def _by_counts(plan: Plan, result: Result) -> dict[str, Any]:
    """The prior that an estimate gives, and the share of positives that the method was to believe in U.

    Older records do not have the share.
    """
    from pubench_core.engine.build import calibration_of
    from pubench_core.engine.problem import share_to_believe

    found: dict[str, Any] = {}
    prior, train, scheme = result.data.prior, result.data.train, result.spec.data.scheme
    labeled = train.labeled or 0
    if (estimate := prior.estimate) is not None:
        one_sample = is_one_sample(scheme)
        if prior.given is not None:
            found["data.prior.given"] = (
                population_prior(estimate.share, labeled, train.rows) if one_sample else estimate.share
            )
        if train.unlabeled and train.unlabeled_positive is not None:
            found["data.prior.estimate.true_share"] = train.unlabeled_positive / train.unlabeled
    if prior.given_unlabeled is not None and train.labeled is not None and labeled < train.rows:
        whole = any(calibration_of(plan))
        found["data.prior.given_unlabeled"] = share_to_believe(prior.given, scheme, labeled, train.rows, whole=whole)
    return found


class Drawn(NamedTuple):
    """``arrays``: digests of rows and labels as ``scores.npz`` has them; ``fields``: as ``result.json`` has them."""

    arrays: dict[str, str]
    fields: dict[str, Any]


class DataHere:
    """Digests of the data sets that are here, and what specs draw from them; each looked up once."""

    def __init__(self, say: Say, note: Say) -> None:
        self._say, self._note = say, note
        self._digests: dict[tuple[str, str], str | None] = {}
        self._drawn: dict[str, Drawn] = {}

    def digest(self, plan: Plan) -> str | None:
        """Digest of the data of a plan; empty for a user table, None, with a note, for data that are not here."""
        from pubench_core.data.dataset import data_root
        from pubench_core.data.store import digest_now, located

        source = plan.data.source
        if source is None:
            return ""
        key = (plan.data.info.key, plan.spec.data.preprocess)
        if key not in self._digests:
            root = data_root(plan.spec.execution, self._say)
            try:
                self._digests[key] = digest_now(source, located(source, root), root, preprocess=key[1])
            except RequestError as error:
                self._note(f"data set {key[0]} is not here to be compared: {error}")
                self._digests[key] = None
        return self._digests[key]

    def drawn(self, plan: Plan) -> Drawn:
        """Rows and labels of a plan's parts; methods and their settings decide nothing of them.

        Raises PubenchError if the data cannot be drawn from.
        """
        from pubench_core.data.dataset import data_root
        from pubench_core.engine.build import draw_split
        from pubench_core.engine.open import open_data
        from pubench_core.engine.priors import true_prior
        from pubench_core.engine.problem import parts_of

        spec = plan.spec
        key = spec.model_dump_json(include={"seed", "data", "mechanism", "validation"})
        if key not in self._drawn:
            root = data_root(spec.execution, self._say)
            opened = open_data(plan, root)
            (split, truth, _), given = draw_split(plan, opened, root), opened.data.labeled
            unlabeled = None if given is None or opened.columns is None else np.flatnonzero(~given)
            rows = rows_and_labels(split, truth.test, truth.validation, unlabeled)
            parts: Mapping[str, Any] = parts_of(split, spec.data.scheme, *truth)
            self._drawn[key] = Drawn(
                arrays={name: _digest(array) for name, array in rows.items()},
                fields={
                    **{f"data.{part}": counts and counts.model_dump(mode="json") for part, counts in parts.items()},
                    "data.prior.true": true_prior(spec, split, truth.train),
                    "data.modality": opened.data.modality,
                    "data.shape": opened.data.shape,
                    "data.dropped": opened.data.dropped,
                    "data.encoding": None if opened.columns is None else as_plain(opened.columns),
                    "data.notes": opened.notes or None,
                },
            )
        return self._drawn[key]

    def other_rows(self, plan: Plan, plain: Mapping[str, Any], arrays: Arrays) -> Iterator[str]:
        """Stored rows, labels, counts and facts that are not those that its spec draws here.

        Of mechanisms that need a posterior the test part alone is compared: its last digits, which versions and
        processors decide, can label other rows.
        """
        try:
            drawn = self.drawn(plan)
        except PubenchError as error:
            yield f"its rows cannot be drawn here: {error}"
            return
        key = plan.spec.data.key
        fitted = plan.mechanism is not None and plan.mechanism.info.needs_posterior
        for name in _TEST if fitted else drawn.arrays:
            if name in drawn.arrays and (name not in arrays or _digest(arrays[name]) != drawn.arrays[name]):
                yield f"{SCORES}: {name} are not those that its spec draws from {key}"
        yield from map(str, differences(plain, drawn.fields, f"drawn from {key} it is"))


def _digest(array: npt.NDArray[Any]) -> str:
    """Digest of whole numbers or truth values."""
    return hashlib.sha256(array.astype(np.int64).tobytes()).hexdigest()
