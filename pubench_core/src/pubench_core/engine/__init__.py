"""Training, selection and evaluation: everything around a method's algorithm."""
