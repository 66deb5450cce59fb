"""The arguments of ``pubench.run``, ``compare`` and ``tune`` as types, written from the fields of a run's spec.

    python .ci/run_fields.py            writes pubench_core/src/pubench/fields.py
    python .ci/run_fields.py --check    writes nothing; exit code 1 if the file is not what would be written

Type checkers and editors read no pydantic model as keyword arguments, so the file is generated; a person edits
``pubench_core/specs/run.py``.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, get_args, get_origin

from pubench_core.specs.run_fields import RunField, run_fields

FILE = Path(__file__).parents[1] / "pubench_core" / "src" / "pubench" / "fields.py"
HEAD = '''"""Arguments that set fields of a run. ``make generated`` writes them from ``pubench_core/specs/run.py``."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, TypedDict
'''
#: Class, its base, what it is for.
CLASSES = (
    ("SharedFields", "TypedDict, total=False", "Fields that every run of a search shares."),
    ("ComparedFields", "SharedFields, total=False", "Fields that every run of a comparison shares."),
    ("RunFields", "ComparedFields, total=False", "Fields of one run."),
)
PLAIN = {str: "str", float: "float", int: "int", bool: "bool", Path: "str | Path"}


def text() -> str:
    """The file."""
    found = HEAD
    for name, base, what in CLASSES:
        fields = [field for field in run_fields() if arguments(field) and class_of(field) == name]
        found += f'\n\nclass {name}({base}):\n    """{what}"""\n\n'
        found += "".join(map(declared, fields))
    return found


def arguments(field: RunField) -> list[str]:
    """Its arguments; none if it is named by position or set by :func:`pubench.data`."""
    if field.of_table or field.argument in ("method", "data"):
        return []
    return [name for name in (field.argument, field.also) if name]


def class_of(field: RunField) -> str:
    """A search has a criterion of its own and tells nobody of its trials; seeds vary in a comparison."""
    if field.name == "seed":
        return "RunFields"
    own = field.path[0] in ("selection", "decision") or field.name in ("execution.tracking", "execution.sinks")
    return "ComparedFields" if own else "SharedFields"


def declared(field: RunField) -> str:
    """The lines of a field: its name and type. Its help is in that of the functions that take it."""
    kinds = " | ".join(dict.fromkeys(kind for one in field.kinds for kind in words(one, field)))
    return "".join(f"    {name}: {kinds} | None\n" for name in arguments(field))


def words(kind: Any, field: RunField) -> list[str]:
    """A type as a caller may give it."""
    origin = get_origin(kind)
    if origin is tuple:
        return ["Iterable[int | str]" if get_args(kind)[0] is int else "Iterable[str]"]  # classes have names
    if origin is dict:
        return ["Mapping[str, Any]"]
    return [PLAIN.get(kind, "str")]  # one of several words is a text


def main() -> int:
    """Writes or checks; the exit code."""
    if "--check" not in sys.argv:
        FILE.write_text(text(), encoding="utf-8")
        return 0
    if FILE.read_text(encoding="utf-8") == text():
        return 0
    print(f"{FILE}: not what the fields of a run say; `make generated` writes it")
    return 1


if __name__ == "__main__":
    sys.exit(main())
