"""Pure functions that several methods need: risks, best bin estimation, augmented views."""
