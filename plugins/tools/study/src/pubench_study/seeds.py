"""Seeds of several runs."""

from __future__ import annotations

from collections.abc import Iterable

from pubench_core.errors import RequestError, shown

#: Seeds of the PU-Bench protocol, in its order; three seeds are the first three.
SEEDS = (2, 25, 42, 52, 99, 103, 250, 666, 777, 2026)

_MOST_SEEDS = 10_000


def seeds_of(given: int | str | Iterable[int]) -> list[int]:
    """So many of the protocol's seeds, which 2027, 2028 and so on follow, or those that are listed.

    A text is what a command gets: ``3``, ``2,25`` or ``42,``. Raises RequestError for anything else.

    >>> seeds_of(3), seeds_of("3"), seeds_of("7,1"), seeds_of("42,")
    ([2, 25, 42], [2, 25, 42], [7, 1], [42])
    >>> seeds_of(12)[-3:]
    [2026, 2027, 2028]
    """
    wanted = f"seeds must be a number from 1 to {_MOST_SEEDS} or a list of different seeds (2,25,42, or 42, for one)"
    wrong = RequestError(f"{wanted}, got {shown(given)}", field="seed", value=given)
    if isinstance(given, str):
        try:
            found = [int(part) for part in given.removesuffix(",").split(",")]
        except ValueError:
            raise wrong from None
        given = found if "," in given else found[0]
    if isinstance(given, int):
        if isinstance(given, bool) or not 1 <= given <= _MOST_SEEDS:
            raise wrong
        return [*SEEDS[:given], *range(SEEDS[-1] + 1, SEEDS[-1] + 1 + given - len(SEEDS))]
    if not isinstance(given, Iterable):
        raise wrong
    found = list(given)
    if not found or len(set(found)) < len(found) or any(isinstance(seed, int) and seed < 0 for seed in found):
        raise wrong
    return found
