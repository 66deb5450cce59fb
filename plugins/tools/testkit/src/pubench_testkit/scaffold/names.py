"""The names of a new package, all made from its key, and what makes a key unusable."""

from __future__ import annotations

import importlib.util
import keyword
import re
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution

from pubench_core.errors import RequestError
from pubench_core.plugins.registry import registry, tools

_KEY = re.compile(r"[a-z0-9]+(-[a-z0-9]+)*")
#: Longest key: the lines that hold it stay below 120 characters.
LONGEST = 40


@dataclass(frozen=True)
class Names:
    """``key``: my-method; ``name``: My Method; ``package``: pubench_my_method; ``distribution``: pubench-my-method;
    ``class_name``: MyMethod.
    """

    key: str
    name: str
    package: str
    distribution: str
    class_name: str

    @classmethod
    def of(cls, key: str, taken: frozenset[str] = frozenset()) -> Names:
        """``taken``: words that no class can be called, because the template means something else by them."""
        words = key.split("-")
        class_name = "".join(word.capitalize() for word in words)
        if class_name in taken or not class_name.isidentifier() or len(class_name) == 1:  # I and O look like numbers
            class_name = f"PU{class_name}"
        return cls(
            key=key,
            name=" ".join(word.capitalize() for word in words),
            package=f"pubench_{'_'.join(words)}",
            distribution=f"pubench-{key}",
            class_name=class_name,
        )


def refuse_unusable(key: str, *, is_command: bool = False) -> None:
    """Raises RequestError for a key that no new plugin of this environment can have.

    Only a command must not be called like a command.
    """
    if not _KEY.fullmatch(key):
        near = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
        remedy = f", such as '{near}'" if near else ""
        raise RequestError(
            f"'{key}' is not a valid key; expected lower-case letters and digits, words joined by hyphens{remedy}"
        )
    if len(key) > LONGEST:
        raise RequestError(f"key '{key}' has {len(key)} characters; expected at most {LONGEST}; choose a shorter one")
    if keyword.iskeyword(key) or keyword.iskeyword(key.capitalize()):
        raise RequestError(f"'{key}' is a keyword of Python; choose another key, such as 'my-{key}'")
    for entry in (tools() if is_command else registry()).named(key):
        what = f"{entry.kind} '{entry.key}'" if entry.kind else f"plugin '{entry.key}'"
        raise RequestError(
            f"'{key}' is taken by the {what} of {entry.distribution} {entry.version}; choose another key, such as "
            f"'my-{key}'"
        )
    names = Names.of(key)
    if importlib.util.find_spec(names.package) is not None:
        raise RequestError(
            f"package {names.package} would shadow the module of this name that is installed; choose another key, such "
            f"as 'my-{key}'"
        )
    if _is_installed(names.distribution):
        raise RequestError(
            f"a distribution {names.distribution} is installed already; choose another key, such as 'my-{key}'"
        )


def _is_installed(name: str) -> bool:
    try:
        distribution(name)
    except PackageNotFoundError:
        return False
    return True
