"""Records on disk: run folders, what a stored one covers, measures derived from stored scores. No torch."""
