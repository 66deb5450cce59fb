"""The code and the data that a record names, against those that are here."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from pubench_core.errors import RequestError
from pubench_core.results import Code, Result

if TYPE_CHECKING:
    from pubench_core.engine.plan import Plan


def other_code(plan: Plan, result: Result, digest: str | None) -> Iterator[str]:
    """Where it is of other code or data than ``plan``, which is what its spec means here.

    ``digest``: of the data as they are here; None where they are not, and are then taken to be those of the record.
    """
    if Code.of(result.code.parts, {}).hash != result.code.hash:
        yield "the hash of its code is not that of the parts that it lists"
    if result.data.digest != result.code.parts.get(f"data {result.spec.data.key}", ""):
        yield "the digest of its data is not that of the parts of its code"
    now = plan.code_reading(result.data.digest if digest is None else digest)
    if changed := now.changed_since(result.code):
        yield f"it is of other code than is installed (changed: {', '.join(changed)})"
    for name, criterion in result.criteria.items():
        known = name in ("native", "last") or name in plan.metrics
        if not known:
            yield f"criterion {name} is not installed"
        elif criterion.code != plan.criterion_code(name):
            yield f"criterion {name} is of other code than is installed"


class Digests:
    """Digests of data sets as they are here, each looked up once."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, str], str | None] = {}

    def of(self, plan: Plan, say: Callable[[str], None], note: Callable[[str], None]) -> str | None:
        """Digests of a plan's data; empty for a user table, None, with a note, for data that are not here."""
        from pubench_core.data.paths import data_root
        from pubench_core.data.store import digest_now, located

        source = plan.data.source
        if source is None:
            return ""
        key = (plan.data.info.key, plan.spec.data.preprocess)
        if key not in self._known:
            root = data_root(plan.spec.execution, say)
            try:
                found = digest_now(source, located(source, root), root, preprocess=key[1])
            except RequestError as error:
                note(f"data set {key[0]} is not here to be compared: {error}")
                self._known[key] = None
            else:
                self._known[key] = found
        return self._known[key]
