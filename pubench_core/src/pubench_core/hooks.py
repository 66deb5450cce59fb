"""Hook specifications (pluggy). A plugin marks its functions with :data:`hookimpl`; entry-point group ``pubench``.

Registration hooks return lists of info records and import nothing heavy. Lifecycle hooks are for listeners (a
tracking server, a notifier, a user's own): each has many, all are told the same, and one that fails is reported
once and left out for the rest of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

if TYPE_CHECKING:
    from .events import EpochFinished, RunFinished, RunStarted, StudyFinished
    from .info import BackboneInfo, DatasetInfo, MechanismInfo, MethodInfo, MetricInfo, PriorInfo

PROJECT = "pubench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Registration:
    """What a plugin offers."""

    @hookspec
    def pubench_methods(self) -> list[MethodInfo]:
        """PU learning methods."""
        raise NotImplementedError

    @hookspec
    def pubench_datasets(self) -> list[DatasetInfo]:
        """Data sets with class labels, and how they are binarized by default."""
        raise NotImplementedError

    @hookspec
    def pubench_mechanisms(self) -> list[MechanismInfo]:
        """Labeling mechanisms: which positives get a label."""
        raise NotImplementedError

    @hookspec
    def pubench_metrics(self) -> list[MetricInfo]:
        """Measures of scores and decisions."""
        raise NotImplementedError

    @hookspec
    def pubench_priors(self) -> list[PriorInfo]:
        """Class-prior estimators."""
        raise NotImplementedError

    @hookspec
    def pubench_backbones(self) -> list[BackboneInfo]:
        """Networks that methods train."""
        raise NotImplementedError


class Lifecycle:
    """What a listener may hear. All values are plain data; a listener cannot change a run."""

    @hookspec
    def pubench_run_started(self, event: RunStarted) -> None:
        """A run has its data, split and device, and begins to train."""

    @hookspec
    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        """One epoch was trained and, if selectable, scored."""

    @hookspec
    def pubench_run_finished(self, event: RunFinished) -> None:
        """A run ended and its record (or failure record) is on disk."""

    @hookspec
    def pubench_study_finished(self, event: StudyFinished) -> None:
        """All runs of a study ended."""


#: Registration hook of each kind, in the order in which they are listed.
REGISTRATION = {
    "method": "pubench_methods",
    "dataset": "pubench_datasets",
    "mechanism": "pubench_mechanisms",
    "metric": "pubench_metrics",
    "prior": "pubench_priors",
    "backbone": "pubench_backbones",
}
