"""Carrying out a plan: coverage by a stored record, computing, publishing."""
