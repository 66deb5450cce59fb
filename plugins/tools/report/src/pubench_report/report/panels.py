"""Panels of problems that differ in nothing but how many rows are labeled, or by which mechanism."""

from __future__ import annotations

from collections.abc import Container, Sequence

from ..grouping import in_short, problem_of, telling
from .model import Model, ProblemColumn

#: Fields of a problem: how many are labeled; those whose value says what it is of; those that every title names.
AMOUNTS, PLAIN = ("mechanism.c", "mechanism.positive_rate"), ("data.scheme", "mechanism.key")
ALWAYS = ("mechanism.key", *AMOUNTS)


def titles_of(columns: Sequence[ProblemColumn], varied: Container[str]) -> dict[str, str]:
    """Label -> title of the panel that a column belongs to: columns that differ in more than ``varied`` (fields of the
    problem) have other titles, which say in what.
    """
    problems = [
        (column.spec.data.key, {name: v for name, v in problem_of(column.spec).items() if name not in varied})
        for column in columns
    ]
    titles = {}
    for column, (data, mine), told in zip(columns, problems, telling(problems), strict=True):
        shown = [name for name, value in mine.items() if name in (*told, *ALWAYS) and value != "null"]
        words = [in_short(name, mine[name]) for name in shown]
        plain = [word.partition("=")[2] if name in PLAIN else word for name, word in zip(shown, words, strict=True)]
        titles[column.label] = ", ".join([data, *plain])
    return titles


def with_runs(model: Model) -> list[ProblemColumn]:
    """Columns in which some method has runs."""
    there = {label for _, label in model.ids()}
    return [column for column in model.columns if column.label in there]


def amounts_of(model: Model, least: int) -> dict[str, dict[str, list[tuple[float, str]]]]:
    """``c`` and ``positive_rate`` -> title of a panel -> (amount, label) in order, of panels with ``least`` amounts."""
    found: dict[str, dict[str, list[tuple[float, str]]]] = {}
    for amount in ("c", "positive_rate"):
        columns = [column for column in with_runs(model) if column.amount and column.amount[0] == amount]
        at = {column.label: column.amount[1] for column in columns if column.amount}
        panels: dict[str, list[tuple[float, str]]] = {}
        for label, title in titles_of(columns, AMOUNTS).items():
            panels.setdefault(title, []).append((at[label], label))
        kept = {title: sorted(points) for title, points in panels.items() if len(points) >= least}
        if kept:
            found[amount] = kept
    return found
