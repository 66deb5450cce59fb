"""Which measure keeps its order of classifiers when labels are hidden? Rank correlations as in PULP's Table 1.

    PUBENCH_DATA=... nice -n 19 python -m benchmarks.studies pulp-rank

As in its section 3, classifiers are linear SVMs trained on PU labels, with weights for unlabeled rows; a configuration
is a task and a way of weighting. Tasks are tables, digits of MNIST at 16 x 16 pixels and TF-IDF of 20 Newsgroups, each
with 300 positive and 300 negative rows. Positives are hidden until they are a share of U: at random, the least
representative (scenario 1) or the most representative ones (scenario 2). Representative is what is dense in a Gaussian
mixture of all positives. Scores are out of fold (8 folds).

A row is a scenario, share and measure: Spearman's correlation, over configurations, of a measure of the same scores on
true labels and on PU labels, the mean of that over the classifiers of one task, the mean absolute deviation, and the
standard deviation of the values. The source has 260 configurations and proteins; ours has 9 tables instead of these.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import numpy.typing as npt
from pubench_datasets_text.newsgroups import Newsgroups
from pubench_metrics.operating import averages
from pubench_metrics.pulp import pulp
from scipy import sparse
from scipy.stats import spearmanr
from sklearn.decomposition import TruncatedSVD
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.mixture import GaussianMixture
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.svm import LinearSVC
from torch import from_numpy
from torch.nn.functional import adaptive_avg_pool2d

from benchmarks.studies.case import Case
from benchmarks.studies.recovered_error import opened, table_of

Array = npt.NDArray[Any]

TABLES = ("breast-cancer", "digits", "landsat", "mushroom", "pageblock", "pendigit", "pima", "spambase", "wine")
DIGITS = (0, 2, 4, 6, 8)
GROUPS = ("comp", "rec", "sci", "talk")
PER_CLASS, FOLDS, SEED = 300, 8, 0
#: Share of positives in U.
SHARES = (0.05, 0.1, 0.2, 0.3, 0.4)
SCENARIOS = ("Random", "Scenario 1", "Scenario 2")


def tasks() -> Iterator[tuple[str, Any, Array, Array]]:
    """Name, (n, d) rows, dense or sparse, (n, k) rows for the mixture, (n,) whether each row is positive."""
    rng = np.random.default_rng(SEED)

    def some(y: Array) -> Array:
        sides = (np.flatnonzero(y), np.flatnonzero(~y))
        return np.concatenate([rng.choice(side, min(PER_CLASS, *map(len, sides)), replace=False) for side in sides])

    for key in TABLES:
        x, y = table_of(key)
        rows = some(y)
        yield key, x[rows], x[rows], y[rows]
    images = opened("mnist")
    for digit in DIGITS:
        y = np.asarray(images.y) == digit
        rows = some(y)
        small = adaptive_avg_pool2d(from_numpy(np.asarray(images.x)[rows]).float() / 255, 16).numpy().reshape(-1, 256)
        yield f"mnist {digit}", small, small, y[rows]
    texts, groups = posts()
    words = TfidfVectorizer(max_features=5000, stop_words="english").fit_transform(texts)
    for group in GROUPS:
        y = groups == group
        rows = some(y)
        found = sparse.csr_matrix(words[rows])
        yield f"20news {group}", found, TruncatedSVD(50, random_state=SEED).fit_transform(found), y[rows]


def posts() -> tuple[list[str], Array]:
    """Texts of the posts to train on, and the first word of each one's group."""
    from pubench_core.data.dataset import data_root
    from pubench_core.plugins.info import DatasetInfo
    from pubench_core.plugins.registry import registry
    from pubench_core.specs import ExecutionSpec

    source, root = Newsgroups(registry().find(DatasetInfo, "20news")), data_root(ExecutionSpec())
    corpus = source.corpus(source.texts_in(root.folders(source.info)[-1]), root)
    return list(corpus.texts), np.array(source.info.classes)[corpus.labels]


# -------------------------------------------------------------------- classifiers trained on PU labels


def weighted(unlabeled: float) -> Callable[[Any, Array], Array]:
    """P against U with equal weight of both, times ``unlabeled`` for U (biased SVM)."""
    return lambda x, s: np.where(s, 1 / s.sum(), unlabeled / (~s).sum()) * len(s)


def by_posterior(x: Any, s: Array) -> Array:
    """U by how unlikely a row is positive: 1 - (1 - c) g / (c (1 - g)) with Elkan and Noto's c, cross-fitted."""
    g = cross_val_predict(LogisticRegression(C=0.1), x, s, cv=3, method="predict_proba")[:, 1].clip(1e-6, 1 - 1e-6)
    c = g[s].mean()
    positive = ((1 - c) / c * g / (1 - g)).clip(0, 1)
    return weighted(1)(x, s) * np.where(s, 1, 1 - positive)


def by_centroid(x: Any, s: Array) -> Array:
    """U by its rank of distance from the mean of P, the farthest first."""
    near = np.asarray(x @ np.asarray(x[np.flatnonzero(s)].mean(axis=0)).ravel()).ravel()
    return weighted(1)(x, s) * np.where(s, 1, 1 - near.argsort().argsort() / len(near))


#: Weights of the rows, and the inverse penalty of the SVM.
CLASSIFIERS: dict[str, tuple[Callable[[Any, Array], Array], float]] = {
    "balanced": (weighted(1), 1.0),
    "balanced, strong penalty": (weighted(1), 1e-3),
    "P weighs more": (weighted(0.2), 0.1),
    "U weighs more": (weighted(5), 0.1),
    "by posterior": (by_posterior, 0.1),
    "by centroid": (by_centroid, 0.1),
}


def scores_of(x: Any, s: Array, weigh: Callable[[Any, Array], Array], penalty: float) -> Array:
    """(n,) out-of-fold decision values of a linear SVM; ``s``: (n,) which rows are labeled."""
    found = np.zeros(len(s))
    for train, test in StratifiedKFold(FOLDS, shuffle=True, random_state=SEED).split(np.zeros(len(s)), s):
        model = LinearSVC(C=penalty, dual="auto", max_iter=2000)
        found[test] = model.fit(x[train], s[train], weigh(x[train], s[train])).decision_function(x[test])
    return found


def measures(scores: Array, labels: Array, rng: np.random.Generator) -> dict[str, float]:
    """Every measure of Table 1; equal scores in random order where a measure reads an order."""
    order = np.lexsort((rng.random(len(scores)), -scores))
    found = averages(labels[order])
    return {
        "AUC": float(roc_auc_score(labels, scores)),
        "F1": found.f1,
        "L&L": found.lee_liu,
        "MI": found.mutual_information,
        "PEAR": found.phi,
        "MAP": found.average_precision,
        "PULP": pulp(scores, labels).value,
        "PseudoF": found.pseudo_f,
    }


def labeled(x: Array, y: Array, share: float, scenario: str, rng: np.random.Generator) -> Array:
    """(n,) True for the positives that stay labeled; the hidden ones are a share ``share`` of U."""
    positives = np.flatnonzero(y)
    n = len(positives) - round(share * (~y).sum() / (1 - share))
    if scenario == "Random":
        chosen = rng.choice(len(positives), n, replace=False)
    else:
        mixture = GaussianMixture(3, covariance_type="diag", reg_covar=1e-3, random_state=SEED)
        density = mixture.fit(x[positives]).score_samples(x[positives])
        chosen = np.argsort(-density if scenario == "Scenario 1" else density)[:n]
    kept = np.zeros(len(y), dtype=bool)
    kept[positives[chosen]] = True
    return kept


def rows() -> list[dict[str, Any]]:
    """A row per scenario, share and measure."""
    truly: dict[tuple[str, float, str], list[float]] = defaultdict(list)
    hidden: dict[tuple[str, float, str], list[float]] = defaultdict(list)
    for name, x, dense, y in tasks():
        rng = np.random.default_rng(SEED)
        for scenario in SCENARIOS:
            for share in SHARES:
                s = labeled(dense, y, share, scenario, rng)
                for weigh, penalty in CLASSIFIERS.values():
                    scores = scores_of(x, s, weigh, penalty)
                    for found, labels in ((truly, y), (hidden, s)):
                        for measure, value in measures(scores, labels, rng).items():
                            found[scenario, share, measure].append(value)
        print(name, flush=True)
    return [
        {
            "scenario": scenario,
            "share": share,
            "measure": name,
            "configurations": len(values),
            "rank_correlation": round(float(spearmanr(true, values).statistic), 4),
            "within_data_sets": round(_within(true, values), 4),
            "mean_absolute_deviation": round(float(np.mean(np.abs(np.subtract(true, values)))), 4),
            "standard_deviation": round(float(np.std(values)), 4),
        }
        for (scenario, share, name), values in hidden.items()
        for true in [truly[scenario, share, name]]
    ]


def _within(true: list[float], hidden: list[float]) -> float:
    """Mean over tasks of Spearman's correlation over the classifiers of one; 0 if all have one value."""
    pairs = zip(*(np.reshape(values, (-1, len(CLASSIFIERS))) for values in (true, hidden)), strict=True)
    return float(np.mean([spearmanr(a, b).statistic if np.ptp(a) and np.ptp(b) else 0.0 for a, b in pairs]))


def cases() -> Iterator[Case]:
    """All rows together: a correlation needs every task."""
    yield Case({"scenario": SCENARIOS[-1]}, rows)
