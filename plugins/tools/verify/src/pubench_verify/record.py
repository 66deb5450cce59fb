"""One record: everything that can be wrong with it and is seen without carrying its run out."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from os.path import isfile
from pathlib import Path
from typing import TYPE_CHECKING

from pubench_core.errors import PluginError, RecordError, RequestError, shortened
from pubench_core.records.files import SCORES, TRAINING_SCORES, read_scores
from pubench_core.records.record import Record

from .code import Digests, other_code
from .folder import wrong_files
from .result import Problem
from .rows import Draws, other_rows
from .scores import other_measures
from .spec import believed, granted, impossible_epochs, other_folds, other_model, other_spec, plan_here, told

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan


@dataclass
class Look:
    """Facts that are looked up once for all records. ``data_root``: folder of data files; ``sums``: path -> checksum,
    if there is a list.

    ``derived``: of how many records the measures were derived again so far; ``notes``: what a reader must know besides
    the problems, each once; ``missing``: run id -> data of it that are not here, so that it is not checked as a whole.
    """

    data_root: Path
    sums: Mapping[str, str] | None
    say: Callable[[str], None]
    derived: int = 0
    notes: dict[str, None] = field(default_factory=dict)
    missing: dict[str, str] = field(default_factory=dict)
    _digests: Digests = field(default_factory=Digests)
    _draws: Draws = field(default_factory=Draws)
    _own_functions: set[frozenset[str]] = field(default_factory=set)

    def at(self, record: Record) -> list[Problem]:
        """Problems of a record."""
        run_id = record.result.run_id
        return [Problem(run_id, text) for text in self._wrong(record)]

    def _wrong(self, record: Record) -> Iterator[str]:
        result, folder = record.result, record.folder
        if folder.resolve().name != result.run_id:
            yield f"its folder is called {shortened(folder.resolve().name)}"
        yield from wrong_files(folder, result, self.sums)
        yield from other_model(result, folder)
        yield from other_spec(result, folder)
        yield from impossible_epochs(result)
        try:
            plan = plan_here(result, self.data_root)
            self._refuse_replaced(plan)
        except (RequestError, PluginError) as error:
            own = result.spec.data.own
            if own is not None and not isfile(own.path):
                self.missing[result.run_id] = f"{own.path} is not here (a relative path counts from the current folder)"
            else:
                yield f"its spec does not resolve here: {error}"
            return
        if plan.run_id != result.run_id:
            yield f"its spec is that of run {plan.run_id}"
        digest = self._digests.of(plan, self.say, self._note)
        if digest is None:
            self.missing[result.run_id] = f"data set {plan.data.info.key} is not here"
        changed = list(other_code(plan, result, digest))
        yield from changed
        yield from granted(plan, result)
        yield from other_folds(plan, result)
        yield from told(result)
        yield from believed(plan, result)
        if isfile(folder / SCORES):
            try:
                arrays = read_scores(folder)
                training = read_scores(folder, TRAINING_SCORES) if isfile(folder / TRAINING_SCORES) else {}
            except RecordError as error:
                yield str(error)
                return
            self.derived += 1
            yield from other_measures(plan, result, arrays, training)
            if digest is not None and not changed:
                yield from other_rows(plan, result, arrays, self._draws, self.say)

    def _refuse_replaced(self, plan: Plan) -> None:
        """Raises PluginError if a plugin has replaced a function that a plan calls."""
        from pubench_core.engine.source_location import packages_called
        from pubench_core.plugins.replaced import refuse_replaced

        packages = packages_called(plan)
        if packages not in self._own_functions:
            refuse_replaced(packages)
            self._own_functions.add(packages)

    def _note(self, text: str) -> None:
        self.notes[text] = None
