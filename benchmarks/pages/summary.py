"""Runs of all committed rows in any protocol, and what short runs cost.

A row of the present engine revision counts before an older one; what has older ones is marked.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path

import pandas as pd
from pubench_report.published import source

from pubench_core.engine.identity import ENGINE_REVISION

#: What ``benchmarks.timing method-cost`` runs besides every method.
REFERENCE = "nnpu"
MEASURES = ["accuracy", "precision", "recall", "f1", "macro-f1", "auc"]
#: Mark of a mean over such rows, and what they are.
OLDER, OLDER_ROWS = "†", f"older engine revision (now {ENGINE_REVISION})"
#: How a run was labeled, trained and chosen. ``settings``: what its command assigns further (``lr=1e-3``).
#: ``positive_rate``: what says how many rows are labeled where ``c`` is empty.
PROTOCOL = ["scheme", "mechanism", "c", "preset", "criterion", "prior", "settings", "positive_rate"]
#: PU-Bench's main comparison.
CONVENTIONAL = ("case-control", "scar", "0.1", "pubench", "f1", "true", "validation.fraction=0.01", "")
TF32 = "precision=tf32 "
_RUN = ["method", "data", "seed", *PROTOCOL]
_ORIGIN = ["file", "commit", "machine", "revision"]
#: What the two sides of a round of ``method-cost`` share.
_PAIR = ["next_to", "round", "commit", "machine"]
#: Columns that old files do not have.
_LATER = ("positive_rate", "revision")


def runs(paths: Iterable[Path]) -> pd.DataFrame:
    """A row for each method, data set, seed and protocol in these files; files of other scripts have none.

    Test measures in percent are named ``f1`` by the criterion that names the result and ``f1_by_pa`` by any.
    ``undefined``: criteria that have no value in the run; ``older``: of another engine revision than the present one.
    """
    frames = map(_of_studies, _read(paths, {"criterion", "selected", "study"}))
    found = pd.concat([*frames, pd.DataFrame(columns=[*_RUN, *_ORIGIN, *MEASURES])])
    found["older"] = found.revision != str(ENGINE_REVISION)
    return found.sort_values("older", ascending=False, kind="stable").drop_duplicates(_RUN, keep="last")


@cache
def conventional(*paths: Path) -> pd.DataFrame:
    """The runs of PU-Bench's main comparison."""
    found = runs(paths)
    return found[_is(found, CONVENTIONAL)]


def _is(frame: pd.DataFrame, protocol: tuple[str, ...]) -> pd.Series:
    return (frame[PROTOCOL] == pd.Series(protocol, PROTOCOL)).all(axis=1)


def _read(paths: Iterable[Path], needed: set[str]) -> list[pd.DataFrame]:
    """The files that have the needed columns."""
    having = (path for path in paths if needed <= {*pd.read_csv(path, nrows=0)})
    frames = (pd.read_csv(path, dtype=str, keep_default_na=False).assign(file=path.name) for path in having)
    return [frame.reindex(columns=[*dict.fromkeys([*frame, *_LATER])], fill_value="") for frame in frames]


def _of_studies(frame: pd.DataFrame) -> pd.DataFrame:
    """A row per run, of those per run and criterion that ``study_rows.py`` writes.

    In PU-Bench's main protocol its criterion names the run, whichever did. Its code computes on GPUs in TF32, PyTorch's
    default: such runs are of that protocol, and their machine says so.
    """
    frame["machine"] += frame.settings.str.startswith(TF32).map({True: " in TF32", False: ""})
    frame["settings"] = frame.settings.str.removeprefix(TF32)
    measures = [name for name in MEASURES if name in frame]
    frame[measures] = frame[measures].apply(pd.to_numeric)
    order = 2 * _is(frame, CONVENTIONAL) + (frame.selected == "True")
    named = frame.assign(order=order).sort_values("order", ascending=False, kind="stable").drop_duplicates("run_id")
    wide = frame.drop_duplicates(["run_id", "criterion"], keep="last").pivot(
        index="run_id", columns="criterion", values=measures
    )
    wide.columns = [f"{measure}_by_{criterion}" for measure, criterion in wide.columns]
    undefined = frame[frame.accuracy.isna()].groupby("run_id").criterion.agg(frozenset).rename("undefined")
    return named[[*_RUN, *_ORIGIN, *measures, "run_id"]].set_index("run_id").join([wide, undefined])


def published() -> dict[tuple[str, str], str]:
    """(method, data) -> F1 in percent as PU-Bench prints it, ``mean ± standard deviation``."""
    return {(c.method, c.data): f"{c.mean:.2f} ± {c.printed:.2f}" for c in source("pubench2026").cells}


def costs(paths: Iterable[Path]) -> pd.DataFrame:
    """Rows of ``benchmarks.timing method-cost``. ``ratio``: to the reference's seconds in the same minutes."""
    found = _read(paths, {"next_to", "training_seconds"})
    frame = pd.concat([*found, pd.DataFrame(columns=["method", "seconds", "threads", *{*_PAIR, *_ORIGIN}])])
    frame["seconds"] = pd.to_numeric(frame.seconds)
    beside = frame[frame.method == REFERENCE].set_index(_PAIR).seconds.rename("beside")
    frame = frame.join(beside[~beside.index.duplicated(keep="last")], on=_PAIR)
    return frame.assign(ratio=(frame.seconds / frame.beside).where(frame.method != REFERENCE), older=False)


def by_protocol(found: pd.DataFrame) -> Iterator[tuple[dict[str, str], pd.DataFrame]]:
    """Protocols with their runs: the main comparison first, then those with most runs."""
    groups = found.groupby(PROTOCOL, sort=False)
    for key, mine in sorted(groups, key=lambda group: (group[0] != CONVENTIONAL, -len(group[1]))):
        yield dict(zip(PROTOCOL, key, strict=True)), mine
