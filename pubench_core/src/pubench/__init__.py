"""pubench: the public face of the benchmark for positive-unlabeled learning.

Authors of methods import everything they need from :mod:`pubench.method`. Importing this package brings in no torch.
"""
