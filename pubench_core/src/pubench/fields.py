"""Arguments that set fields of a run. ``make generated`` writes them from ``pubench_core/specs/run.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict


class SharedFields(TypedDict, total=False):
    """Fields that every run of a search shares."""

    binarization: str | None
    """Named pair of class lists, such as case1 of Wang et al."""
    positive: Iterable[int | str] | None
    """Positive classes, by index or name: 0,2,4. (default: the data set's)"""
    negative: Iterable[int | str] | None
    """Negative classes, by index or name; classes in neither list are dropped. (default: the data set's)"""
    scheme: str | None
    """How labeled and unlabeled rows were sampled: case-control, single-training-set, two-sample, one-sample. (default:
    case-control; own table: one-sample)
    """
    total: int | None
    """Rows of P and U together, validation part included, drawn class-balanced: schemes one-sample, two-sample.
    (default: as many as the data set has)
    """
    mechanism: str | None
    """Key of the labeling mechanism. (default: scar)"""
    c: float | None
    """Label frequency p(labeled | positive); a number in (0, 1]. (default: 0.1)"""
    positive_rate: float | None
    """Labeled rows as a share of P and U together, instead of c: schemes one-sample, two-sample; a number in (0, 1).
    (default: 0.3)
    """
    prior: float | str | None
    """Class prior given to the method: true, 0.4, scaled:1.2, estimated:KEY, unknown, or test, an oracle's. (default:
    true; own table without true labels: unknown, and a method that needs one asks for it)
    """
    validation: float | None
    """Share of the training part that is the validation part; 1 / folds under cross-fitting. (default: 0.2)"""
    folds: int | None
    """Cross-fitting: P and U are cut into so many parts, and each is scored by a model of the others. (default: none,
    one validation part)
    """
    refit: str | None
    """What scores new rows under cross-fitting: mean, the mean of the models of all folds; all, one more model of all
    rows, in the epoch that the folds chose. (default: mean)
    """
    preset: str | None
    """Named hyper-parameter values of the method, which others change."""
    calibrate: str | None
    """Whether a two-sample method gets U ∪ P as its unlabeled rows under one-sample data (Wang et al.); resolved to on
    or off there, auto where the scheme leaves nothing to calibrate. (default: auto)
    """
    config: Mapping[str, Any] | None
    """Hyper-parameters of the method."""
    backbone: str | None
    """Key of the network. (default: the data set's)"""
    precision: str | None
    """Arithmetic of networks: ieee, 32 bits on every device; tf32, products of 10 bits on CUDA; bf16, bfloat16 in the
    backbone, with its head, risks and scores in 32 bits. (default: ieee)
    """
    device: str | None
    """Where it is computed: auto, cpu or cuda:0. (default: auto)"""
    threads: int | None
    """CPU threads. (default: torch's own choice)"""
    timeout: float | None
    """Seconds after which the run is ended, as failed with the cause timeout. (default: never)"""
    results: str | Path | None
    """Folder of records. (default: results)"""
    data_root: str | Path | None
    """Folder of data files. (default: PUBENCH_DATA, else the user cache)"""
    encoder: str | Path | None
    """Folder of the sentence encoder for text data sets."""
    offline: bool | None
    """Never touch the network."""
    artifacts: Iterable[str] | None
    """Files kept with the result: all, none, or some of scores, trace, samples and training-scores. (default:
    scores,trace)
    """
    save_model: bool | None
    """Keep what scores with: model.safetensors."""


class ComparedFields(SharedFields, total=False):
    """Fields that every run of a comparison shares."""

    criterion: str | None
    """Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)"""
    select: str | None
    """Criterion that chooses the epoch: pa, pauc, native, last; oracle: oa, f1, macro-f1. (default: pa)"""
    goal: str | None
    """What scores are for, which chooses criterion and decision unless they are given: rank (pauc), decide (pa, at the
    prior; decide:0.2..0.3 by pa at both ends of its interval) or review:200 (what the top 200 find).
    """
    decision: str | None
    """Decision shown first: zero (scores above 0) or prior (as many rows of U as the prior that the method was given
    says). (default: zero)
    """
    tracking: bool | None
    """Send the run to sinks and call listeners of plugins when it is over."""
    sinks: Mapping[str, Any] | None
    """Sinks that get the run, KEY or KEY=ADDRESS; a password is used and never written. (default: those that get every
    run)
    """


class RunFields(ComparedFields, total=False):
    """Fields of one run."""

    seed: int | None
    """Seed of split, labels, initialization and batches. (default: 2)"""
