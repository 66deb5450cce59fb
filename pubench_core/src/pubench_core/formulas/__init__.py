"""What several methods need: risks, entropy, mixing, ramps, averages, counts, best bin estimation, augmented views."""
