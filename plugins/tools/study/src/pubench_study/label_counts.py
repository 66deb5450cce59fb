"""Held-out labels of a run, before it is carried out."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from pubench_core.data.cache import manifest_of
from pubench_core.data.dataset import DataRoot, IntArray
from pubench_core.data.generator import generate, given_split
from pubench_core.data.sampling import draw
from pubench_core.data.source import DataSource
from pubench_core.data.store import folder_of, located
from pubench_core.engine.build import sizes_of
from pubench_core.engine.open import open_data
from pubench_core.engine.plan import Plan
from pubench_core.errors import PluginError, RequestError


def held_out_labels(plan: Plan, root: DataRoot) -> int | None:
    """Labeled positives of the validation part of a plan; None if its data are not prepared here.

    How many there are is the same for every mechanism and seed, so that no mechanism is asked.

    Raises RequestError as :func:`~pubench_core.engine.build.build_problem`.
    """
    spec, source = plan.spec, plan.data.source
    if source is not None and not _is_prepared(source, root, spec.data.preprocess):
        return None
    data, scheme, sizes = open_data(plan, replace(root, say=lambda text: None)).data, spec.data.scheme, sizes_of(spec)

    def first(pool: IntArray, rows: IntArray, n: int, rng: np.random.Generator) -> IntArray:
        return np.arange(n)

    if plan.mechanism is None:
        split = given_split(data, scheme=scheme, **sizes)
    elif (rate := spec.mechanism.positive_rate) is not None:
        split = draw(data, scheme=scheme, choose=first, positive_rate=rate, total=spec.data.total, **sizes)
    else:
        assert spec.mechanism.c is not None
        split = generate(data, scheme=scheme, choose=first, c=spec.mechanism.c, **sizes)
    if spec.validation.folds is None:
        return split.validation.n_labeled
    return split.train.n_labeled // (1 if spec.validation.joint else spec.validation.folds)


def _is_prepared(source: DataSource, root: DataRoot, preprocess: str) -> bool:
    """Whether data are opened without reading or preparing anything but a copy that is here."""
    try:
        files = located(source, root)
    except (RequestError, PluginError):
        return False
    return not files or manifest_of(folder_of(source, files, root, preprocess)) is not None
