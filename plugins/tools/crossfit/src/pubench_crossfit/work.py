"""Work of a run that joins folds: each fold is carried out as a run with a record of its own, then they are joined."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from pubench_core.engine.build import build_problem
from pubench_core.engine.execute import Failed, Work, execute
from pubench_core.engine.finish import Finished
from pubench_core.engine.open import open_data
from pubench_core.engine.plan import Plan
from pubench_core.engine.publish import failure_of
from pubench_core.errors import RunFailed

from .joint import Fold, fold_of, joined
from .plans import parts_of


class JointWork(Work):
    """The folds of a plan, then the record that joins them."""

    def prepare(self, plan: Plan, options: dict[str, Any]) -> list[Fold]:
        """The folds of a plan, and the run on all rows if it refits.

        Each is carried out unless it has a record. One that another process carries out is waited for. A failure is
        recorded for the joint run too.
        """
        k, found = plan.spec.validation.folds or 0, []
        if plan.method.info.out_of_sample:
            key = plan.method.info.key
            self.say(f"{key} scores U out of bag while it trains; folds add held-out scores of labeled rows")
        for number, one in enumerate(parts_of(plan), start=1):
            which = f"fold {number} of {k}" if number <= k else "model of all rows"
            self.say(f"{which}: run {one.run_id}")
            try:
                done = execute(one, **options)
            except RunFailed as error:
                why = RunFailed(f"{which}: {error}", cause=error.cause)
                failed = Failed(failure_of(plan, plan.code, why, self.environment), error)
                raise self.recorded(plan, failed) from error
            found.append(fold_of(done.folder, done.result))
        return found

    def finish(self, plan: Plan, parts: list[Fold], ended: Callable[[], None], at_once: int | None) -> Finished:
        """Result of all folds together."""
        problem = build_problem(plan, opened=open_data(plan, self.root), root=self.root)
        k = plan.spec.validation.folds or 0
        return joined(plan, problem, parts[:k], self.environment, next(iter(parts[k:]), None))
