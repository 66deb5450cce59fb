"""Reading the text files of the UCI repository, as distributed or compressed with gzip."""

from __future__ import annotations

import math
from collections.abc import Callable
from pathlib import Path

from pubench_archives.archives import opened, reading

from .cells import Cells, Remedy, as_number, short

Split = Callable[[str], list[str]]
"""Cuts a line into cells; ValueError says what is wrong with it."""


def by_comma(line: str) -> list[str]:
    return line.split(",")


def by_semicolon(line: str) -> list[str]:
    """Cells between semicolons; text may stand in double quotes."""
    return line.replace('"', "").split(";")


def by_space(line: str) -> list[str]:
    return line.split()


def svmlight(line: str) -> list[str]:
    """``label 1:value 2:value ...`` with every feature present; ``label;concentration`` is read as the label."""
    label, *features = line.split()
    cells = [label.partition(";")[0]]
    for k, item in enumerate(features, start=1):
        index, _, value = item.partition(":")
        if index != str(k):
            raise ValueError(f"{short(item)}, expected '{k}:' and a value")
        cells.append(value)
    return cells


def read_cells(
    path: Path, *, split: Split, width: int, label: int, header: tuple[str, ...] | None, remedy: Remedy
) -> Cells:
    """The cells of a file whose lines have ``width`` columns each; empty lines are passed over.

    ``label``: the class's column, from 0. ``header``: the names in the first line, empty where it has none, None where
    a first line whose first cell is no number is passed over.

    Raises RequestError naming file and line where it is unreadable, damaged, empty, or cut differently.
    """
    with reading(path), opened(path) as stream:
        text = stream.read().decode("utf-8")
    lines = [(number, line) for number, line in enumerate(text.splitlines(), start=1) if line.strip()]
    if lines and header != () and (header is not None or math.isnan(as_number(split(lines[0][1])[0]))):
        _check_header(path, split(lines.pop(0)[1]), header, remedy)
    if not lines:
        raise remedy.error(f"{path} is empty")
    rows = []
    for number, line in lines:
        try:
            row = split(line)
        except ValueError as error:
            raise remedy.error(f"{path}, line {number}: {error}") from error
        if len(row) != width:
            raise remedy.error(f"{path}, line {number}: {len(row)} columns, expected {width}")
        rows.append(row)
    return Cells(
        path=path,
        columns=list(zip(*rows, strict=True)),
        label=label % width,
        places=[number for number, _ in lines],
        remedy=remedy,
    )


def _check_header(path: Path, found: list[str], header: tuple[str, ...] | None, remedy: Remedy) -> None:
    if header is None:
        return
    if len(found) != len(header):
        raise remedy.error(f"{path}, line 1: {len(found)} columns, expected {len(header)}")
    for k, (is_called, name) in enumerate(zip(found, header, strict=True), start=1):
        if is_called.strip() != name:
            raise remedy.error(f"{path}, line 1, column {k}: the name {short(is_called)}, expected '{name}'")
