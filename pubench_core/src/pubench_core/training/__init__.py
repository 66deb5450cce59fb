"""Training tools of a method: the view of its data, epochs, batches, networks, steps, scores, randomness."""
