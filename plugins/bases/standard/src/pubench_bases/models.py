"""Learned bases as plain arrays and texts: scored, saved and loaded without pickle.

Every model has ``probability(x)``: for (n, d) float32 rows, an array or what else its base takes, (n,)
float64 in [0, 1], how much a row looks like class 1.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from itertools import pairwise
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from scipy.special import expit, ndtri

from pubench_core.errors import PluginError

from .trees import Trees

Array = npt.NDArray[Any]


class Model(ABC):
    """A fitted classifier of two classes."""

    @abstractmethod
    def probability(self, x: Array) -> Array:
        """(n,) float64 in [0, 1] for (n, d) rows; a row's value does not depend on the others."""

    def importances(self) -> Array | None:
        """(d,) how much each feature mattered; None if the model cannot say."""
        return None

    def coefficients(self) -> Array | None:
        """(d,) weights of the features in a linear model; None for another."""
        return None

    @abstractmethod
    def state_dict(self) -> dict[str, Any]:
        """Arrays, numbers and texts that say all of it."""

    @abstractmethod
    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        """Takes what :meth:`state_dict` gave."""

    @classmethod
    def empty(cls) -> Self:
        """One without any state."""
        return cls.__new__(cls)


class Forest(Model):
    """Mean over trees of the share of class 1 in a row's leaf."""

    def __init__(self, trees: Trees) -> None:
        self.trees = trees

    def probability(self, x: Array) -> Array:
        return np.asarray(self.trees.sums(x) / len(self.trees))

    def importances(self) -> Array | None:
        return self.trees.importances()

    def state_dict(self) -> dict[str, Any]:
        return self.trees.state_dict()

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.trees = Trees.__new__(Trees)
        self.trees.load_state_dict(state)


class Categories:
    """One-hot runs of features as the codes that boosting takes: one column each, in front of all other features.

    ``runs``: (first, stop) of each. A run without a value above 0, or with a value that training did not have, is
    missing. ``codes``: (features of the runs,) the code of each value, -1 for one that training did not have.
    """

    def __init__(self, runs: Sequence[tuple[int, int]], x: Array) -> None:
        self.runs = np.array(runs, np.int64).reshape(-1, 2)
        found = []
        for start, stop in self.runs:
            there = (x[:, start:stop] > 0).any(axis=0)
            found.append(np.where(there, np.cumsum(there) - 1, -1))
        self.codes = np.concatenate([np.empty(0, np.int64), *found]).astype(np.int64)

    def of(self, x: Array) -> Array:
        """(n, runs + other features) float32."""
        if not len(self.runs):
            return x
        columns, begin = [], 0
        for start, stop in self.runs:
            values, codes = x[:, start:stop], self.codes[begin : begin + stop - start]
            code = codes[values.argmax(axis=1)]
            columns.append(np.where((values.max(axis=1) > 0) & (code >= 0), code, np.nan))
            begin += stop - start
        rest = np.delete(x, np.concatenate([np.arange(*run) for run in self.runs]), axis=1)
        return np.column_stack([*columns, rest]).astype(np.float32)

    def spread(self, values: Array) -> Array:
        """(d,) numbers of the features from those of :meth:`of`'s columns; a category's is at its first value."""
        found = np.zeros(len(values) - len(self.runs) + len(self.codes))
        found[self.runs[:, 0]] = values[: len(self.runs)]
        rest = np.delete(np.arange(len(found)), np.concatenate([np.empty(0, int), *(np.arange(*r) for r in self.runs)]))
        found[rest] = values[len(self.runs) :]
        return found


class Boosted(Model):
    """Logistic function of the sum of the leaves of boosted trees."""

    def __init__(self, trees: Trees, start: float, categories: Categories) -> None:
        self.trees, self.start, self.categories = trees, start, categories

    def margin(self, x: Array) -> Array:
        """(n,) float64 log-odds."""
        return np.asarray(self.start + self.trees.sums(self.categories.of(x)))

    def probability(self, x: Array) -> Array:
        return np.asarray(expit(self.margin(x)))

    def importances(self) -> Array | None:
        found = self.trees.importances()
        return self.categories.spread(found) if found.any() else None

    def state_dict(self) -> dict[str, Any]:
        own = {"start": self.start, "runs": self.categories.runs, "codes": self.categories.codes}
        return {**own, **self.trees.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        rest = dict(state)
        self.start = float(rest.pop("start"))
        self.categories = _categories(rest.pop("runs"), rest.pop("codes"))
        self.trees = Trees.__new__(Trees)
        self.trees.load_state_dict(rest)


def _categories(runs: Array, codes: Array) -> Categories:
    found = Categories.__new__(Categories)
    found.runs, found.codes = runs.reshape(-1, 2), codes
    if (np.diff(found.runs, axis=1) < 1).any() or np.diff(found.runs, axis=1).sum() != len(codes):
        raise ValueError("the codes of the categories are not one for each of their values")
    if len(codes) and (codes.min() < -1 or codes.max() > 255):  # compiled code looks at no bounds
        raise ValueError("a code of a category is not in 0 to 255")
    return found


class Linear(Model):
    """Logistic function of a weighted sum of the features."""

    def __init__(self, weights: Array, bias: float) -> None:
        self.weights, self.bias = weights, bias

    def probability(self, x: Array) -> Array:
        return np.asarray(expit(x.astype(np.float64) @ self.weights + self.bias))

    def coefficients(self) -> Array | None:
        return self.weights

    def state_dict(self) -> dict[str, Any]:
        return {"weights": self.weights, "bias": self.bias}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.weights, self.bias = state["weights"], float(state["bias"])


class NormalScores:
    """Each column as normal scores of the rows it was made of, standardized; new values by interpolation.

    A value's score is that of its rank, ties at their mean. ``values``, ``scores``: (knots,) of all columns, column j
    from ``starts[j]`` on; at most :data:`KNOTS` of each. A constant column is 0.
    """

    KNOTS = 200

    def __init__(self, x: Array) -> None:
        values, scores = [], []
        for column in x.T:
            known, counts = np.unique(column, return_counts=True)
            score = ndtri((np.cumsum(counts) - counts / 2) / len(column))
            mean = np.average(score, weights=counts)
            deviation = np.average((score - mean) ** 2, weights=counts) ** 0.5
            kept = np.unique(np.linspace(0, len(known) - 1, self.KNOTS).round().astype(int))
            values.append(known[kept].astype(np.float64))
            scores.append((score - mean)[kept] / (deviation or 1.0))
        self.starts = np.cumsum([0, *map(len, values)])
        self.values, self.scores = np.concatenate(values), np.concatenate(scores)

    def of(self, x: Array) -> Array:
        """(n, d) float64."""
        knots = [slice(*ends) for ends in pairwise(self.starts)]
        return np.column_stack([np.interp(x[:, j], self.values[k], self.scores[k]) for j, k in enumerate(knots)])


class Fourier(Model):
    """Logistic regression on random Fourier features sqrt(2) cos(q w + b) of normal scores q (Rahimi, Recht 2007)."""

    def __init__(self, columns: NormalScores, frequencies: Array, phases: Array, linear: Linear) -> None:
        self.columns, self.frequencies, self.phases, self.linear = columns, frequencies, phases, linear

    def features(self, x: Array) -> Array:
        """(n, features) float64."""
        return np.asarray(2**0.5 * np.cos(self.columns.of(x) @ self.frequencies + self.phases))

    def probability(self, x: Array) -> Array:
        return self.linear.probability(self.features(x))

    def state_dict(self) -> dict[str, Any]:
        own = {name: getattr(self.columns, name) for name in ("starts", "values", "scores")}
        own |= {"frequencies": self.frequencies, "phases": self.phases}
        return {**own, **self.linear.state_dict()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.columns, self.linear = NormalScores.__new__(NormalScores), Linear.empty()
        for name in ("starts", "values", "scores"):
            setattr(self.columns, name, state[name])
        self.frequencies, self.phases = state["frequencies"], state["phases"]
        self.linear.load_state_dict({name: state[name] for name in ("weights", "bias")})


class LightGBM(Model):
    """A booster of LightGBM, kept as the text that it saves itself as."""

    def __init__(self, text: str, categories: Categories) -> None:
        self.categories = categories
        self._read(text)

    def _read(self, text: str) -> None:
        import lightgbm

        self.text, self.booster = text, lightgbm.Booster(model_str=text)

    def margin(self, x: Array) -> Array:
        """(n,) float64 sum of the leaves."""
        values = self.categories.of(x).astype(np.float64)
        return np.asarray(self.booster.predict(values, raw_score=True, num_threads=1))

    def probability(self, x: Array) -> Array:
        return np.asarray(expit(self.margin(x)))

    def state_dict(self) -> dict[str, Any]:
        return {"text": self.text, "runs": self.categories.runs, "codes": self.categories.codes}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self.categories = _categories(state["runs"], state["codes"])
        self._read(state["text"])


class XGBoost(Model):
    """A booster of XGBoost, kept as the JSON that it saves itself as."""

    def __init__(self, text: str) -> None:
        self._read(text)

    def _read(self, text: str) -> None:
        import xgboost

        self.text, self.booster = text, xgboost.Booster({"nthread": 1})
        self.booster.load_model(bytearray(text.encode()))

    def probability(self, x: Array) -> Array:
        return np.asarray(self.booster.inplace_predict(np.ascontiguousarray(x))).astype(np.float64)

    def state_dict(self) -> dict[str, Any]:
        return {"text": self.text}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        self._read(state["text"])


class Skops(Model):
    """Any scikit-learn classifier, saved by skops, which loads the types that it trusts and no others."""

    def __init__(self, fitted: Any) -> None:
        import skops.io

        self.fitted, self.content = fitted, np.frombuffer(skops.io.dumps(fitted), np.uint8)

    def probability(self, x: Array) -> Array:
        return np.asarray(self.fitted.predict_proba(x)[:, 1], np.float64)

    def importances(self) -> Array | None:
        return getattr(self.fitted, "feature_importances_", None)

    def coefficients(self) -> Array | None:
        found = getattr(self.fitted, "coef_", None)
        return None if found is None else np.ravel(found)

    def state_dict(self) -> dict[str, Any]:
        return {"content": self.content}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        if hasattr(self, "content") and np.array_equal(self.content, state["content"]):
            return
        import skops.io

        self.content = np.asarray(state["content"], np.uint8)
        try:
            self.fitted = skops.io.loads(self.content.tobytes())
        # whatever skops or the classifier's own package raises about a file that may be anything
        except Exception as error:
            raise PluginError(
                f"the saved classifier cannot be loaded ({error}); skops loads what scikit-learn defines, in the "
                "version that saved it"
            ) from error


def _mean(found: Sequence[Array | None]) -> Array | None:
    known = [one for one in found if one is not None]
    return np.mean(known, axis=0) if known else None


class Mean(Model):
    """Mean over models of one kind."""

    def __init__(self, kind: type[Model], members: Sequence[Model] = ()) -> None:
        self.kind, self.members = kind, list(members)

    def probability(self, x: Array) -> Array:
        total = np.zeros(x.shape[0])
        for member in self.members:
            total += member.probability(x)
        return total / len(self.members)

    def importances(self) -> Array | None:
        return _mean([member.importances() for member in self.members])

    def coefficients(self) -> Array | None:
        return _mean([member.coefficients() for member in self.members])

    def state_dict(self) -> dict[str, Any]:
        return {f"{k}.{n}": value for k, member in enumerate(self.members) for n, value in member.state_dict().items()}

    def load_state_dict(self, state: Mapping[str, Any]) -> None:
        states: dict[int, dict[str, Any]] = {}
        for name, value in state.items():
            number, _, own = name.partition(".")
            states.setdefault(int(number), {})[own] = value
        if states.keys() != set(range(len(states))) or not states:
            raise ValueError("the members of the mean are not numbered from 0")
        self.members = self.members if len(self.members) == len(states) else [self.kind.empty() for _ in states]
        for k, member in enumerate(self.members):
            member.load_state_dict(states[k])
