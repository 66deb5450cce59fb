"""Scikit-learn classifiers that PU methods train, and what such methods share.

:mod:`pubench_bases.bases` makes them, :mod:`pubench_bases.models` holds what they learn as plain arrays,
:mod:`pubench_bases.fitting` scores rows with models that did not see them and places thresholds.
"""
