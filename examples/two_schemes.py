"""The density of U under two schemes: exact, for two normal classes. Nothing is sampled.

    python examples/two_schemes.py 0.1

The argument is c, the label frequency: labels completely at random. The picture is two-schemes.png. It is what
Figures 7 and 8 of PU-Bench and Figure 1 of Wang et al. show.
"""

import math
import sys

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np

ROWS, POSITIVE, MEAN = 1000, 500, 1.5
c = float(sys.argv[1]) if len(sys.argv) > 1 else 0.1
labeled = math.floor(c * POSITIVE)

# In case-control, U is the whole pool: the labeled positives are in it once more. In a single training set it is not.
unlabeled_positives = {"case-control": POSITIVE, "single-training-set": POSITIVE - labeled}

x = np.linspace(-4.5, 4.5, 451)
positive, negative = (np.exp(-((x - sign * MEAN) ** 2) / 2) / np.sqrt(2 * np.pi) for sign in (1, -1))
figure, axes = plt.subplots(figsize=(6, 3.4), layout="constrained")
for (scheme, hidden), style in zip(unlabeled_positives.items(), ("-", "--"), strict=True):
    prior = hidden / (hidden + ROWS - POSITIVE)
    print(f"{scheme}: {hidden} positives among {hidden + ROWS - POSITIVE} rows of U, prior {prior:.3f}")
    axes.plot(x, prior * positive + (1 - prior) * negative, style, color="black", label=f"U, {scheme}: {prior:.3f}")
axes.plot(x, positive, ":", label="positives")
axes.plot(x, negative, "-.", label="negatives")
axes.set_xlabel("x (standard deviations of a class)")
axes.legend()
figure.savefig("two-schemes.png")
