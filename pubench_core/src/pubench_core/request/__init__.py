"""From what a user said to a plan: layers, one resolution, and what a plan holds."""

from .layers import Layer, parse_assignment, read_yaml
from .plan import Plan
from .resolve import resolve

__all__ = ["Layer", "Plan", "parse_assignment", "read_yaml", "resolve"]
