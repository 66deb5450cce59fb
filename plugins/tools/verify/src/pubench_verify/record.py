"""One record: everything that can be wrong with it and is seen without carrying its run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.errors import PluginError, RecordError, RequestError, counted, shortened
from pubench_core.records.files import SCORES, TRAINING_SCORES, read_scores
from pubench_core.records.record import Record
from pubench_core.results import Result

from .derived import DataHere, other_claims, other_code, plan_here
from .folder import wrong_files
from .result import RecordProblem
from .score_checks import STATE, other_measures

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan

#: Criteria that do not read the scores: two epochs with the same scores are two choices, and one state.
_UNSCORED = ("last", "native")


class RecordChecker:
    """Looks at one record after the other, and keeps what is looked up once for all.

    ``data_root``: folder of data files; ``sums``: path -> checksum, if there is a list.

    ``derived``: of how many records the measures were derived again so far; ``notes``: what a reader must know besides
    the problems, each once; ``missing``: run id -> data of it that are not here, so that it is not checked as a whole.
    """

    def __init__(self, data_root: Path, sums: Mapping[str, str] | None, say: Callable[[str], None]) -> None:
        self._data_root, self._sums = data_root, sums
        self.derived, self.missing = 0, dict[str, str]()
        self.notes: dict[str, None] = {}
        self._data = DataHere(say, self.notes.setdefault)
        self._own_functions: set[frozenset[str]] = set()

    def at(self, record: Record) -> list[RecordProblem]:
        """Problems of a record."""
        run_id = record.result.run_id
        return [RecordProblem(run_id, text) for text in self._wrong(record)]

    def _wrong(self, record: Record) -> Iterator[str]:
        result, folder = record.result, record.folder
        plain = result.model_dump(mode="json", exclude={"criteria": {"__all__": {"measures", "at_prior"}}})
        if folder.resolve().name != result.run_id:
            yield f"its folder is called {shortened(folder.resolve().name)}"
        yield from wrong_files(folder, result, plain, self._sums)
        yield from _impossible_states(result)
        try:
            plan = plan_here(result, self._data_root)
            self._refuse_replaced(plan)
        except (RequestError, PluginError) as error:
            own = result.spec.data.own
            if own is not None and not isfile(own.path):
                self.missing[result.run_id] = f"{own.path} is not here (a relative path counts from the current folder)"
            else:
                yield f"its spec does not resolve here: {error}"
            return
        digest = self._data.digest(plan)
        if digest is None:
            self.missing[result.run_id] = f"data set {plan.data.info.key} is not here"
        changed = list(other_code(plan, result, plain, digest))
        yield from changed
        yield from other_claims(plan, result, plain)
        if not isfile(folder / SCORES):
            return
        try:
            arrays = read_scores(folder)
            training = read_scores(folder, TRAINING_SCORES) if isfile(folder / TRAINING_SCORES) else {}
        except RecordError as error:
            yield str(error)
            return
        self.derived += 1
        yield from other_measures(plan, result, plain, arrays, training)
        if digest is not None and not changed:
            yield from self._data.other_rows(plan, plain, arrays)

    def _refuse_replaced(self, plan: Plan) -> None:
        """Raises PluginError if a plugin has replaced a function that a plan calls."""
        from pubench_core.engine.source_location import packages_called
        from pubench_core.plugins.replaced import refuse_replaced

        packages = packages_called(plan)
        if packages not in self._own_functions:
            refuse_replaced(packages)
            self._own_functions.add(packages)


def _impossible_states(result: Result) -> Iterator[str]:
    """Epochs that were not trained, or are not those of the stored states; a model of a state that is not there."""
    chosen = {name: criterion for name, criterion in result.criteria.items() if criterion.epoch is not None}
    for name, criterion in chosen.items():
        epoch, stopped = criterion.epoch or 0, criterion.stopped_at
        if stopped is not None and not epoch <= stopped <= result.epochs:
            yield f"criterion {name} says that its patience ran out at epoch {stopped}, after epoch {epoch}"
        if not 1 <= epoch <= result.epochs or (name == "last" and epoch != result.epochs):
            yield f"criterion {name} chose epoch {epoch} of {counted(result.epochs, 'epoch')}"
        elif (state := STATE.match(criterion.snapshot)) is not None:
            others = {other.epoch for other in chosen.values()} if name in _UNSCORED else {epoch}
            if int(state[1]) not in others:
                yield f"criterion {name} chose epoch {epoch}, and its scores are those of {criterion.snapshot}"
    if result.model is not None and all(one.snapshot != result.model.snapshot for one in result.criteria.values()):
        yield f"its model is of {shortened(result.model.snapshot)}, which no criterion chose"
