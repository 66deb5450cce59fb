"""Arguments that set fields of a run. ``make generated`` writes them from ``pubench_core/specs/run.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict


class SharedFields(TypedDict, total=False):
    """Fields that every run of a search has in common."""

    #: Named pair of class lists, such as case1 of Wang et al.
    binarization: str | None
    #: Positive classes, by index or name: 0,2,4. (default: the data set's)
    positive: Iterable[int | str] | None
    #: Negative classes, by index or name; classes in neither list are dropped. (default: the data set's)
    negative: Iterable[int | str] | None
    #: How labeled and unlabeled rows were sampled: case-control, single-training-set, two-sample, one-sample. (default:
    #: case-control; own table: one-sample)
    scheme: str | None
    #: Rows of P and U together, validation part included, drawn class-balanced: schemes one-sample, two-sample.
    #: (default: as many as the data set has)
    total: int | None
    #: Key of the labeling mechanism. (default: scar)
    mechanism: str | None
    #: Label frequency p(labeled | positive); a number in (0, 1]. (default: 0.1)
    c: float | None
    #: Labeled rows as a share of P and U together, instead of c: schemes one-sample, two-sample; a number in (0, 1).
    #: (default: 0.3)
    positive_rate: float | None
    #: Class prior given to the method: true, 0.4, scaled:1.2, estimated:KEY, unknown, or test, an oracle's. (default:
    #: true; own table without true labels: unknown, and a method that needs one asks for it)
    prior: float | str | None
    #: Share of the training part that is the validation part; 1 / folds under cross-fitting. (default: 0.2)
    validation: float | None
    #: Cross-fitting: P and U are cut into so many parts, and each is scored by a model of the others. (default: none,
    #: one validation part)
    folds: int | None
    #: What scores new rows under cross-fitting: mean, the mean of the models of all folds; all, one more model of all
    #: rows, in the epoch that the folds chose. (default: mean)
    refit: str | None
    #: Named hyper-parameter values of the method, which others change.
    preset: str | None
    #: Whether a two-sample method gets U ∪ P as its unlabeled rows under one-sample data (Wang et al.); resolved to on
    #: or off there, auto where the scheme leaves nothing to calibrate. (default: auto)
    calibrate: str | None
    #: Hyper-parameters of the method.
    config: Mapping[str, Any] | None
    #: Key of the network. (default: the data set's)
    backbone: str | None
    #: Where it is computed: auto, cpu or cuda:0. (default: auto)
    device: str | None
    #: CPU threads. (default: torch's own choice)
    threads: int | None
    #: Folder of records. (default: results)
    results: str | Path | None
    #: Folder of data files. (default: PUBENCH_DATA, else the user cache)
    data_root: str | Path | None
    #: Folder of the sentence encoder for text data sets.
    encoder: str | Path | None
    #: Never touch the network.
    offline: bool | None
    #: Files kept with the result: all, none, or some of scores, trace, samples and training-scores. (default:
    #: scores,trace)
    artifacts: Iterable[str] | None
    #: Keep what scores with: model.safetensors.
    save_model: bool | None


class ComparedFields(SharedFields, total=False):
    """Fields that every run of a comparison has in common."""

    #: Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)
    criterion: str | None
    #: Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)
    select: str | None
    #: What scores are for, which chooses criterion and decision unless they are given: rank (pauc), decide (pa, at the
    #: prior; decide:0.2..0.3 by pa at both ends of its interval) or review:200 (what the top 200 find).
    goal: str | None
    #: Decision shown first: zero (scores above 0) or prior (as many rows of U as the prior that the method was given
    #: says). (default: zero)
    decision: str | None
    #: Send the run to sinks and call listeners of plugins when it is over.
    tracking: bool | None
    #: Sinks that get the run, KEY or KEY=ADDRESS; a password is used and never written. (default: those that get every
    #: run)
    sinks: Mapping[str, Any] | None


class RunFields(ComparedFields, total=False):
    """One run."""

    #: Seed of split, labels, initialization and batches. (default: 2)
    seed: int | None
