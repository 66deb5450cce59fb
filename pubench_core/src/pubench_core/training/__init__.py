"""What a method is given to train with: the view of its data, epochs, batches, networks, steps, scores, randomness."""
