"""Lists of columns and of values, as a person writes them: exact names first, then shell patterns."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from pubench_core.errors import unknown


def rejoined(given: Sequence[str], known: Iterable[str]) -> list[str]:
    """The list with the parts put together again that are one name with commas in it.

    >>> rejoined(["rho", "volume", "A^3"], ["rho", "volume, A^3"])
    ['rho', 'volume, A^3']
    """
    whole = {tuple(part.strip() for part in name.split(",")): name for name in known if "," in name}
    exact, found, k = set(whole.values()), list[str](), 0
    while k < len(given):
        ends = [e for e in range(len(given), k + 1, -1) if tuple(given[k:e]) in whole and given[k] not in exact]
        found.append(whole[tuple(given[k : ends[0]])] if ends else given[k])
        k = ends[0] if ends else k + 1
    return found


def named_columns(given: Sequence[str], columns: Iterable[str], field: str, file: str) -> list[str]:
    """Columns that a list names, exactly or by shell patterns. Raises RequestError for what names none."""
    known, found = [str(name) for name in columns], list[str]()
    for word in rejoined(given, known):
        names = [word] if word in known else [name for name in known if fnmatchcase(name, word)]
        if not names:
            raise unknown(f"column of {file} ({field})", word, known, field=field)
        found += names
    return list(dict.fromkeys(found))


def missing_by_column(given: Sequence[str], columns: Sequence[str], file: str) -> dict[str, tuple[str, ...]]:
    """column -> values that mean missing in it. ``-9999`` is of all columns, ``cover=-9999`` of one."""
    found: dict[str, tuple[str, ...]] = {}
    for word in given:
        name, sign, value = word.rpartition("=")
        if sign and name not in columns:
            raise unknown(f"column of {file} (data.own.missing_values)", name, columns, field="data.own.missing_values")
        for column in [name] if sign else columns:
            found[column] = (*found.get(column, ()), value)
    return found
