"""``pubench.tune``: arguments become a search."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Unpack

from pubench_datasets_tables.frames import PUTable
from pubench_report.comparing import sayer
from pubench_study.seeds import seeds_of

from pubench.call import given_of, shows_fields
from pubench.field_names import PubenchWarning, in_words, said
from pubench.fields import SharedFields
from pubench.openmp import wait_briefly
from pubench.running import layer_of
from pubench_core.errors import RequestError, shown

from .result import Tuned

if TYPE_CHECKING:
    from .space import Given

#: Folder of tables that were in memory, next to the searches.
TABLES = "tables"


@shows_fields(SharedFields)
def tune(
    method: str,
    data: str | PUTable,
    *,
    criterion: str | None = None,
    trials: int = 50,
    space: Given | None = None,
    seeds: int | Iterable[int] = 1,
    jobs: int = 1,
    prune: bool = True,
    search_seed: int = 0,
    max_seconds: float | str | None = None,
    settings: Mapping[str, Any] | None = None,
    progress: Callable[[str], None] | bool = True,
    **fields: Unpack[SharedFields],
) -> Tuned:
    """Searches hyper-parameters by a criterion on validation rows, without negatives unless an oracle one is named.

    The first trial is the configuration as it is; Optuna's tree-structured Parzen estimator proposes the others.
    Every trial is an ordinary run with a record, so that ``best.run()`` is the stored result. All arguments but these
    are fields of a run and hold for every trial:

    ``criterion``: ``pa`` (default; ``pauc`` where no prior is known), ``pauc``, ``native``; ``oa``, ``f1`` and
    ``macro-f1`` read true labels, which is warned of and marked. ``trials``: how many there are to be, those of earlier
    calls counted. ``space``: texts like ``"lr=1e-5..1e-2:log"``, ``"batch_size=32,64"`` and ``"default"``, or a mapping
    from hyper-parameters to (low, high), (low, high, "log") or a list; None means the ranges that the method declares.
    ``seeds``: as for :func:`pubench.compare`; a trial's value is the mean over them. ``jobs``: runs at once, each in a
    process of its own. ``prune``: whether a run is given up at an epoch where half of the earlier ones had more.
    ``search_seed``: of the proposals; with one job, the same seed gives the same trials. ``max_seconds``: no run is
    started after them (or after ``"30m"``). What ``config`` sets is not tuned.

    A call that was interrupted and is made again goes on where it was.

    Raises InvalidRequest (a ValueError) if the request cannot be met, RecordError if the search cannot be stored.

    >>> tuned = tune("nnpu", "digits", trials=3, config={"epochs": 2}, space=["lr=1e-4..1e-2:log"], progress=False)
    >>> len(tuned.trials), tuned.best.value >= tuned.default.value, tuned.best.run().reused
    (3, True, True)
    """
    same = given_of(fields, SharedFields, "tune")
    wait_briefly()  # before torch is loaded, which the next line does
    from pubench_core.plugins.registry import registry

    from .search import TUNING, search

    say = sayer(progress)

    def heard(text: str) -> None:
        if text.startswith("warning: "):
            warnings.warn(said(text.removeprefix("warning: ")), PubenchWarning, stacklevel=5)
        else:
            say(said(text))

    with in_words():
        if isinstance(data, PUTable):
            data = _on_disk(data, Path(same.get("results", "results")) / TUNING / TABLES)
        if not isinstance(prune, bool):
            raise RequestError(f"prune must be True or False, got {shown(prune)}", field="prune")
        if "seed" in (settings or {}):
            raise RequestError("settings.seed: a search takes seeds, such as seeds=[2, 25]", field="seed")
        layer = layer_of(method, data, same, settings or {})
        if criterion is not None:
            layer.put(("selection", "criterion"), criterion, f"criterion={shown(criterion)}")
        return search(
            [layer],
            registry(),
            heard,
            trials=trials,
            space=space,
            seeds=seeds_of(seeds),
            jobs=jobs,
            search_seed=search_seed,
            prune=prune,
            max_seconds=max_seconds,
        )


def _on_disk(table: PUTable, folder: Path) -> PUTable:
    """A table that other processes can read: one in memory is saved, by the names of its checksums; its runs keep
    their ids.

    Raises RequestError if it cannot be written.
    """
    if not table._held:
        return table
    path = folder / "-".join(part.sha256[:16] for part in table._held) / f"{Path(table.name).stem}.parquet"
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        return table.save(path)
    except OSError as error:
        raise RequestError(f"{path} cannot be written: {error.strerror or error}", field="execution.results") from error
