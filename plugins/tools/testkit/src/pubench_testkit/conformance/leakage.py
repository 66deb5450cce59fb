"""Checks that a method learns from what it is given and from nothing else, and leaves the rest as it is."""

from __future__ import annotations

import importlib
from pathlib import Path

import numpy as np

from pubench_core.data.dataset import data_root
from pubench_testkit.disguise import other_labels, other_order
from pubench_testkit.opened import Opened, is_data, opening, showing_labels

from .carried import SMALLEST, carried, known_rows
from .register import NotApplicable, check
from .source_text import reaching_out
from .subject import Subject, assert_same, caller_state


@check("hidden-labels")
def hidden_labels(subject: Subject) -> None:
    """Permuting the true labels of unlabeled rows changes no bit, in training and validation, in both schemes.

    Criteria of true labels are tracked, and listeners that the method's package carries are called, meanwhile.
    """
    if subject.is_oracle:
        raise NotApplicable("an oracle: it is granted the true labels")
    for scheme in ("case-control", "single-training-set"):
        usual = subject.usual(scheme)
        changed = other_labels(usual.problem, np.random.default_rng(0))
        assert changed.truth_train is not None
        assert (changed.truth_train != usual.problem.truth_train).any()
        assert_same(usual.scores, subject.scores(usual.plan, changed), f"hidden labels permuted ({scheme})")


@check("order-of-the-file")
def order_of_the_file(subject: Subject) -> None:
    """The same rows in another order in their file change no bit: files are sorted by class."""
    usual = subject.usual()
    reordered = other_order(usual.problem, np.random.default_rng(0))
    assert_same(usual.scores, subject.scores(usual.plan, reordered), "the file's rows in another order")


@check("earlier-runs")
def earlier_runs(subject: Subject) -> None:
    """Earlier runs of the process change no bit: another split's run shows rows that are hidden now."""
    usual = subject.usual()
    subject.scores(subject.plan(seed=3))
    assert_same(usual.scores, subject.scores(usual.plan, usual.problem), "a run of another seed in between")


@check("own-arguments")
def own_arguments(subject: Subject) -> None:
    """Its source reaches for nothing but what it is given: no frames, no private attributes, no insides of core."""
    found = reaching_out(_source_of(subject))
    assert not found, f"{'; '.join(found[:3])}{f'; and {len(found) - 3} more' if len(found) > 3 else ''}"


def _source_of(subject: Subject) -> Path:
    """The folder of the package that implements the method, or its file where it is a single module."""
    module = importlib.import_module(subject.info.package)
    assert module.__file__ is not None, f"{subject.info.package} has no source"
    file = Path(module.__file__)
    return file.parent if file.name == "__init__.py" else file


@check("callers-random-state")
def callers_random_state(subject: Subject) -> None:
    """The global generators of python, numpy and torch neither influence a result nor are changed."""
    with caller_state(1):  # or whatever it was, where another check has trained it
        usual = subject.usual()
    with caller_state(2) as state:
        scores = subject.scores(subject.plan())
    changed = [name for name, same in state.items() if not same]
    assert not changed, f"the caller's random state was changed: {', '.join(changed)}"
    assert_same(usual.scores, scores, "the caller's random state")


def _opened_in_training(subject: Subject) -> list[Opened]:
    """What a second training in this process opens; both checks look at the same one."""
    return subject.once("opened", lambda: _watched_training(subject))


def _watched_training(subject: Subject) -> list[Opened]:
    usual = subject.usual()  # compilers fill their caches on first use
    with opening() as opened:
        subject.train(usual.plan, usual.problem)
    return opened


@check("writes-nothing")
def writes_nothing(subject: Subject) -> None:
    """Training opens no file for writing, byte-code and compiler caches apart: the engine writes what is recorded."""
    written = [opened.path for opened in _opened_in_training(subject) if opened.writes]
    written = [path for path in written if "__pycache__" not in path and not path.startswith(("/proc/", "/dev/"))]
    assert not written, f"training opened for writing: {', '.join(written[:3])}"


@check("reads-no-data")
def reads_no_data(subject: Subject) -> None:
    """Training opens no file of the data root, the cache or a results folder, nor data of an installed package.

    They hold true labels: scikit-learn brings ``digits`` and ``breast-cancer``. A package's own files are its own. Nor
    does it start a process, connect to one, or open the memory of one.
    """
    own = _source_of(subject).resolve()
    read = showing_labels(_opened_in_training(subject), subject.plan().spec.execution, own)
    assert not read, f"training opened {', '.join(read[:3])}"


@check("carries-no-data")
def carries_no_data(subject: Subject) -> None:
    """No file of its package holds rows of a data set that is here: their labels would be no secret."""
    place = _source_of(subject)
    files = place.rglob("*") if place.is_dir() else ()
    mine = [file for file in files if file.is_file() and is_data(file) and file.stat().st_size > SMALLEST]
    if not mine:
        return
    known = dict(known_rows(subject.registry, data_root(subject.plan().spec.execution)))
    found = list(carried(iter(mine), known))
    assert not found, "; ".join(found[:3])


@check("plausible-accuracy")
def plausible_accuracy(subject: Subject) -> None:
    """After two short epochs it is wrong of some test row, in one of both schemes; one that knows the data never is."""
    if subject.is_oracle:
        raise NotApplicable("an oracle: it is granted the true labels")
    right, rows = [], 0
    for scheme in ("case-control", "single-training-set"):
        usual = subject.usual(scheme)
        scores, truth = usual.scores["last/test"], usual.problem.truth_test
        assert truth is not None
        rows = len(truth)
        right.append(float(((scores > 0) == (truth == 1)).mean()))
    assert min(right) < 1, f"every test row is right after two epochs, in both schemes ({rows} rows)"
