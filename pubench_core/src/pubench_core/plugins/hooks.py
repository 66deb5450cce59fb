"""Hook specifications (pluggy). A plugin marks its functions with :data:`hookimpl`.

Entry-point groups: ``pubench`` for what runs are made of, ``pubench.tools`` for commands and Python names.

Registration hooks return lists of info records and import nothing heavy. Lifecycle hooks are for listeners (a
tracking server, a notifier): each hook has many, all receive the same event, and one that fails is reported once and
left out for the rest of the run.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pluggy

from . import info

if TYPE_CHECKING:  # events hold results, whose import takes longer than listing every plugin
    from .events import EpochFinished, RunFinished, RunStarted

PROJECT = "pubench"
hookspec = pluggy.HookspecMarker(PROJECT)
hookimpl = pluggy.HookimplMarker(PROJECT)

#: Records by the hook that gives a list of them.
REGISTRATION: dict[str, type[info.Info]] = {
    kind.hook: kind
    for kind in vars(info).values()
    if isinstance(kind, type) and issubclass(kind, info.Info) and kind.hook
}
#: Hook by which a tool names a part that core or the command line leaves to it, as ``module:attribute`` -> the
#: distribution of this project that implements it.
PARTS = {
    # subclass of pubench_core.engine.execute.Work: the work of a run that joins folds
    "pubench_folds": "pubench-study",
    # (plan, problem, method, candidate) -> content of ``model.safetensors``
    "pubench_model_writer": "pubench-models",
    # (plan, result, folder of its record) -> decisions on the unlabeled rows of a user's table, or None
    "pubench_decisions": "pubench-models",
    # (path, records) -> what is missing in the frame of runs that it wrote there
    "pubench_frame": "pubench-report",
    # carries out ``pubench run --seeds``
    "pubench_seeds": "pubench-report",
    # rows of the shipped study files, for ``pubench list protocols``
    "pubench_protocols": "pubench-study",
}
#: Those of the entry-point group ``pubench.tools``; all others belong in ``pubench``.
TOOLS = ("pubench_commands", "pubench_api", *PARTS)
#: Hook of a plugin that lists nothing: code that other plugins import. It counts as code of those that do.
SHARED = "pubench_shared"
#: Specifications of all that is not :class:`Lifecycle`: no arguments.
Listing = type("Listing", (), {name: hookspec(lambda: None) for name in (*REGISTRATION, *PARTS, SHARED)})


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
