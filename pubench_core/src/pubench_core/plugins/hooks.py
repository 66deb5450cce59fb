"""Hook specifications (pluggy). A plugin marks its functions with :data:`hookimpl`.

Entry-point groups: ``pubench`` for what runs are made of, ``pubench.tools`` for commands and Python names.

Registration hooks return lists of info records and import nothing heavy. Lifecycle hooks are for listeners (a
tracking server, a notifier): each hook has many, all receive the same event, and one that fails is reported once and
left out for the rest of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from .info import (
    ApiInfo,
    BackboneInfo,
    CommandInfo,
    DatasetInfo,
    ExecutorInfo,
    MechanismInfo,
    MethodInfo,
    MetricInfo,
    PriorInfo,
    SinkInfo,
    TableInfo,
)

if TYPE_CHECKING:  # events hold results, whose import takes longer than listing every plugin
    from .events import EpochFinished, RunFinished, RunStarted

PROJECT = "pubench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)


class Registration:
    """Hooks by which a plugin registers what it offers."""

    @hookspec
    def pubench_methods(self) -> list[MethodInfo]:
        """PU learning methods."""
        raise NotImplementedError

    @hookspec
    def pubench_datasets(self) -> list[DatasetInfo]:
        """Data sets with class labels, and how they are binarized by default."""
        raise NotImplementedError

    @hookspec
    def pubench_tables(self) -> list[TableInfo]:
        """Readers of users' tables."""
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

    @hookspec
    def pubench_sinks(self) -> list[SinkInfo]:
        """Places that get copies of finished runs."""
        raise NotImplementedError

    @hookspec
    def pubench_commands(self) -> list[CommandInfo]:
        """Commands of the command line."""
        raise NotImplementedError

    @hookspec
    def pubench_api(self) -> list[ApiInfo]:
        """Names of the package ``pubench``."""
        raise NotImplementedError

    @hookspec
    def pubench_executors(self) -> list[ExecutorInfo]:
        """Ways to carry the runs of a study out: processes, a cluster."""
        raise NotImplementedError

    @hookspec
    def pubench_shared(self) -> None:
        """Nothing to list: code that other plugins import. It counts as code of those that do."""


class Parts:
    """Parts that core and the command line leave to a tool. Each hook gives an import string, ``module:attribute``."""

    @hookspec
    def pubench_folds(self) -> str:
        """Subclass of :class:`~pubench_core.engine.execute.Work`: the work of a run that joins folds."""
        raise NotImplementedError

    @hookspec
    def pubench_model_writer(self) -> str:
        """(plan, problem, method, candidate) -> content of ``model.safetensors``."""
        raise NotImplementedError

    @hookspec
    def pubench_decisions(self) -> str:
        """(result, arrays, labeled rows, known negatives) -> decisions on the unlabeled rows of a user's table."""
        raise NotImplementedError

    @hookspec
    def pubench_frame(self) -> str:
        """(path, records) -> what is missing in the frame of runs that it wrote there."""
        raise NotImplementedError

    @hookspec
    def pubench_seeds(self) -> str:
        """Carries out ``pubench run --seeds``."""
        raise NotImplementedError

    @hookspec
    def pubench_protocols(self) -> str:
        """Rows of the shipped study files, for ``pubench list protocols``."""
        raise NotImplementedError


class Lifecycle:
    """Events of a run. They are frozen; a listener cannot change a run.

    While it trains, nothing that needs true labels is in them; when it is over, everything is.
    """

    @hookspec
    def pubench_run_started(self, event: RunStarted) -> None:
        """A run has its data, split and device; training starts."""

    @hookspec
    def pubench_epoch_finished(self, event: EpochFinished) -> None:
        """One epoch was trained and, if selectable, scored."""

    @hookspec
    def pubench_run_finished(self, event: RunFinished) -> None:
        """A run ended and its record, or the record of its failure or refusal, is on disk."""


#: Registration hook of each kind, in the order in which they are listed.
REGISTRATION = {
    "method": "pubench_methods",
    "dataset": "pubench_datasets",
    "table": "pubench_tables",
    "mechanism": "pubench_mechanisms",
    "metric": "pubench_metrics",
    "prior": "pubench_priors",
    "backbone": "pubench_backbones",
    "sink": "pubench_sinks",
    "command": "pubench_commands",
    "api": "pubench_api",
    "executor": "pubench_executors",
}
#: Hook of :class:`Parts` -> the distribution of this project that implements it.
PARTS = {
    "pubench_folds": "pubench-study",
    "pubench_model_writer": "pubench-models",
    "pubench_decisions": "pubench-datasets-tables",
    "pubench_frame": "pubench-report",
    "pubench_seeds": "pubench-report",
    "pubench_protocols": "pubench-study",
}
#: Those of the entry-point group ``pubench.tools``; all others belong in ``pubench``.
TOOLS = ("pubench_commands", "pubench_api", *PARTS)
#: Hook of a plugin that lists nothing.
SHARED = "pubench_shared"
