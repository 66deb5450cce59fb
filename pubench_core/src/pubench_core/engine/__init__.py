"""Execution of a plan: the problem is built, the method trained, every epoch evaluated, the best states kept."""
