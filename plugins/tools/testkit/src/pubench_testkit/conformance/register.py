"""The register of checks, and what they share."""

from __future__ import annotations

from collections.abc import Callable

from .subject import Subject

Check = Callable[[Subject], None]

#: Seconds that two epochs on 200 rows may take, imports and a compiler's first run included.
PATIENCE = 90.0
#: Relative difference allowed between scoring rows together and one by one: kernels differ with the batch.
TOLERANCE = 1e-4

CHECKS: dict[str, Check] = {}
#: What may not be declared as a known failure.
UNDECLARABLE = frozenset(
    {
        *("hidden-labels", "order-of-the-file", "own-arguments", "reads-no-data", "order-of-rows", "earlier-runs"),
        *("same-seed-same-scores", "finite-scores", "prior-near-0-and-1", "one-label", "device-discipline"),
        *("carries-no-data", "plausible-accuracy"),
    }
)


class NotApplicable(Exception):
    """The check does not concern this method; the text says why."""


def check(name: str) -> Callable[[Check], Check]:
    """Registers a function as the check of this name; its docstring says what must hold."""

    def register(function: Check) -> Check:
        CHECKS[name] = function
        return function

    return register
