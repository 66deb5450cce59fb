"""Choosing hyper-parameters without negatives: the search space, its proposals, their runs, what was found."""
