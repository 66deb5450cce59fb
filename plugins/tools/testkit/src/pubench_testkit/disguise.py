"""The same problem with other hidden labels, and in another order: an honest method learns the same from both."""

from __future__ import annotations

import dataclasses

import numpy as np

from pubench_core.engine.problem import Problem


def other_labels(problem: Problem, rng: np.random.Generator) -> Problem:
    """Permutes the true labels of unlabeled rows and of test rows. Raises ValueError if the truth is not known."""
    data, split = problem.data, problem.split
    if data.y is None or problem.truth_train is None or problem.truth_validation is None:
        raise ValueError(f"the true labels of {data.key} are not known")
    truth, of_file, of_test = {}, data.y.copy(), None if data.y_test is None else data.y_test.copy()
    parts = (("truth_train", split.train), ("truth_validation", split.validation))
    for name, part in parts:
        truth[name] = getattr(problem, name).copy()
        hidden = truth[name][~part.labeled]
        truth[name][~part.labeled] = rng.permutation(hidden)
        of_file[part.rows] = truth[name]
    if problem.truth_test is not None:
        truth["truth_test"] = rng.permutation(problem.truth_test)
        (of_file if of_test is None else of_test)[split.test_rows] = truth["truth_test"]
    opened = dataclasses.replace(
        problem.opened, data=dataclasses.replace(data, y=of_file, y_test=of_test, classes=None)
    )
    return dataclasses.replace(problem, opened=opened, **truth)


def other_order(problem: Problem, rng: np.random.Generator) -> Problem:
    """The same split of a file that holds the same rows in another order: files are sorted by class."""
    data, split = problem.data, problem.split
    order = rng.permutation(len(data.x))
    place = np.argsort(order)  # where each row went
    reordered = dataclasses.replace(
        data,
        x=data.x[order],
        y=None if data.y is None else data.y[order],
        rows=np.sort(place[data.rows]),
        classes=None if data.classes is None else data.classes[order],
    )
    test_rows = place[split.test_rows] if data.x_test is None else split.test_rows
    return dataclasses.replace(
        problem,
        opened=dataclasses.replace(problem.opened, data=reordered),
        split=dataclasses.replace(
            split,
            train=dataclasses.replace(split.train, rows=place[split.train.rows]),
            validation=dataclasses.replace(split.validation, rows=place[split.validation.rows]),
            test_rows=test_rows,
            negatives=place[split.negatives],
        ),
    )
