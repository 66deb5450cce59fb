"""Seconds, peak memory and AUC of classics on a sparse tf-idf table of 20 Newsgroups, next to scikit-learn by hand.

    python -m benchmarks.timing.sparse_text 20news-bydate.tar.xz pu-bagging --base logistic --out FILE

Positive: posts of ``alt``, ``soc`` and ``talk`` groups; a fifth of those of the training part are labeled at random.
50,000 words. ``by-hand-logistic`` is scikit-learn's logistic regression of labeled against unlabeled posts, both
weighing the same; ``by-hand-bag`` is 200 of its extra trees, each of the labeled posts against as many others. AUC is
on the test part. ``seconds`` are those of ``fit`` in a process that has loaded everything; ``peak_mib`` is that of the
whole process.
"""

from __future__ import annotations

import argparse
import resource
import tarfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.tree import ExtraTreeClassifier

import pubench
from benchmarks import raw_rows

WORDS, LABELED, TREES = 50_000, 0.2, 200


def posts(archive: Path, part: str) -> tuple[list[str], Any]:
    """Texts of a part, and which are positive."""
    texts, positive = [], []
    with tarfile.open(archive) as files:
        for member in files:
            folder, group = Path(member.name).parts[-3:-1] if member.isfile() else ("", "")
            if folder == f"20news-bydate-{part}":
                content = files.extractfile(member)
                assert content is not None
                texts.append(content.read().decode("latin-1"))
                positive.append(group.startswith(("alt.", "soc.", "talk.")))
    return texts, np.array(positive)


class Bag:
    """Balanced extra trees by hand."""

    def fit(self, x: Any, labeled: Any) -> Bag:
        rng, p, u = np.random.default_rng(2), np.flatnonzero(labeled), np.flatnonzero(~labeled)
        draws = [np.concatenate([p, rng.choice(u, len(p))]) for _ in range(TREES)]
        grow = ExtraTreeClassifier
        self.trees = [grow(random_state=k).fit(x[rows], labeled[rows]) for k, rows in enumerate(draws)]
        return self

    def decision_function(self, x: Any) -> Any:
        return np.mean([tree.predict_proba(x)[:, 1] for tree in self.trees], axis=0)


def model_of(method: str, base: str) -> Any:
    """The model to fit; one of pubench has loaded everything that a fit loads."""
    if method == "by-hand-logistic":
        return LogisticRegression(class_weight="balanced", max_iter=1000)
    if method == "by-hand-bag":
        return Bag()
    rng = np.random.default_rng(0)
    model = pubench.PUClassifier(method, base=base)
    model.fit(rng.normal(size=(200, 3)), np.arange(200) < 80)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("archive", type=Path)
    parser.add_argument("method")
    parser.add_argument("--base", default="trees")
    parser.add_argument("--out", type=Path, default=raw_rows.RESULTS / "sparse-text.csv")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    commit = raw_rows.commit()
    texts, positive = posts(options.archive, "train")
    words = TfidfVectorizer(max_features=WORDS, sublinear_tf=True)
    x = words.fit_transform(texts)
    texts, truth = posts(options.archive, "test")
    x_test = words.transform(texts)
    labeled = positive & (np.random.default_rng(2).random(len(positive)) < LABELED)
    model = model_of(options.method, options.base)
    start, processor = time.perf_counter(), time.process_time()
    model.fit(x, labeled)
    seconds, processor_s = time.perf_counter() - start, time.process_time() - processor
    auc = roc_auc_score(truth, model.decision_function(x_test))
    row = {
        "method": options.method,
        "base": "" if options.method.startswith("by-hand") else options.base,
        "rows": x.shape[0],
        "features": x.shape[1],
        "values": x.nnz,
        "labeled": int(labeled.sum()),
        "seconds": round(seconds, 1),
        "processor_s": round(processor_s, 1),
        "peak_mib": round(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024),
        "auc": round(float(auc), 4),
        "commit": commit,
        "machine": raw_rows.machine(),
    }
    raw_rows.append(options.out, row)
    print(row)


if __name__ == "__main__":
    main()
