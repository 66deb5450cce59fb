"""The command ``ui``."""
