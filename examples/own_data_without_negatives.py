"""A table of your own: some rows are known to be positive, nothing is known of the others, and no true label anywhere.

    python examples/own_data_without_negatives.py

The rows here are 569 biopsies, of which 74 are known to be malignant. Which of the others are?
"""

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import roc_auc_score

import pubench

# Your table would come from a file: pubench.data("my.csv", labeled="known") reads it the same way.
frame, benign = load_breast_cancer(return_X_y=True, as_frame=True)
malignant = benign == 0
frame["known"] = malignant & (np.random.default_rng(0).random(len(frame)) < 0.4)
table = pubench.data(frame, labeled="known", name="biopsies")
print(table)  # how it was understood: who is labeled, which columns are features, what looks odd

# nnPU needs the class prior: the share of malignant biopsies among all. Nobody can count it here, so try what you
# believe and what else it might be. PAUC (labeled rows ranked above unlabeled ones) needs neither prior nor truth.
believed = {name: {"method": "nnpu", "prior": prior} for name, prior in (("less", 0.3), ("likely", 0.4), ("more", 0.5))}
results = pubench.compare(believed, data=table, seeds=2, config={"epochs": 20}, tracking=False)
print()
print(results.table("pauc", part="validation"))

# What each of them says of the unlabeled rows: row (as in the table), score, rank, decision.
for run in results.where(seed=2):
    predictions = pubench.predictions(run)
    decided = int(predictions.decision.sum())
    print(f"prior {run.result.data.prior.given}: {decided} of {len(predictions)} unlabeled rows decided positive")
print(predictions.head())

# The same as a scikit-learn estimator, for rows that come later. It takes pandas and polars frames and arrays.
features = frame.drop(columns="known")
model = pubench.PUClassifier("nnpu", prior=0.4, epochs=20).fit(features, frame["known"])
later = features.head(5)
print(model.decision_function(later).round(2), model.predict(later))

# These labels were kept back, so for once it can be looked up how well the unlabeled rows were ranked.
unlabeled = ~frame["known"]
auc = roc_auc_score(malignant[unlabeled], model.decision_function(features[unlabeled]))
print(f"AUC on the unlabeled rows, against the labels that were kept back: {auc:.3f}")
