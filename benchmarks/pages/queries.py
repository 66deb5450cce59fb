"""Queries of committed rows that several pages ask. Measures are in percent."""

from __future__ import annotations

from functools import cache
from typing import Any

import pandas as pd

from benchmarks.raw_rows import RESULTS, study_rows

DATA = {
    "spambase": "Spambase", "letter": "Letter", "usps": "USPS", "20news": "20News", "connect-4": "Connect-4",
    "digits": "Digits", "imdb": "IMDb", "mnist": "MNIST", "fashion-mnist": "Fashion-MNIST",
}  # fmt: skip
CLASSICS = ("pu-bagging", "elkan-noto", "two-step", "pu-boost")
SEEDS = (2, 25, 42)
#: What tells runs apart that share prior, preset and settings.
RUN = ["data", "scheme", "mechanism", "c", "method", "seed"]
#: PU-Bench's conventional setting.
CONVENTIONAL = {"scheme": "case-control", "mechanism": "scar", "c": 0.1}


@cache
def rows(name: str) -> pd.DataFrame:
    """The rows of a file of ``benchmarks/results``."""
    return pd.read_csv(RESULTS / f"{name}.csv")


def studies(settings: str = "validation.fraction=0.01", **wanted: Any) -> pd.DataFrame:
    """Rows with the true prior and a fixed preset, the newest of every run and criterion. ``wanted``: column=value."""
    frame = study_rows()
    frame = frame[
        (frame.draw == "")
        & (frame.prior == "true")
        & (frame.settings == settings)
        & frame.preset.isin(["", "pubench"])
        & frame.accuracy.notna()
        & (frame[[*wanted]] == pd.Series(wanted)).all(axis=1)
    ]
    return frame.sort_values("revision", kind="stable").drop_duplicates([*RUN, "criterion"], keep="last")


def by_pa(frame: pd.DataFrame) -> pd.DataFrame:
    """The epoch by ``pa``; the last one if ``pa`` has no value, as no labeled row is held out then."""
    return (
        frame[frame.criterion.isin(["pa", "last"])]
        .sort_values("criterion", kind="stable")
        .drop_duplicates(RUN, keep="last")
    )


def at_prior() -> pd.DataFrame:
    """Accuracy of the conventional setting by ``pa``, decided at the prior."""
    found = rows("decisions").query("criterion == 'pa' and scheme == 'case-control' and c == 0.1")
    return found.drop_duplicates(["data", "method", "seed"], keep="last")[
        ["data", "method", "seed", "accuracy_at_prior"]
    ]
