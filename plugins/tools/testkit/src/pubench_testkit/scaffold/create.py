"""Steps of the commands: everything is checked and rendered, then written, then the next commands are named."""

from __future__ import annotations

import re
from contextlib import ExitStack
from importlib.metadata import requires, version
from pathlib import Path

import typer

from pubench_core.errors import RequestError
from pubench_core.plugins.registry import GROUP, TOOLS_GROUP

from . import commands, templates
from .checkout import Checkout, folder_of
from .names import Names, refuse_unusable
from .writing import written

KINDS = {
    "method": "method",
    "dataset": "data set",
    "mechanism": "labeling mechanism",
    "metric": "metric",
    "sink": "sink",
    "command": "command",
}

#: What a package outside a checkout is installed with; in front of it uv, where uv made the environment.
_WITH_TESTS = 'pip install -e ".[test]"    # uv pip install ..., where uv made the environment'


def create(
    kind: str, key: str, *, path: Path | None, in_repo: bool, template: str | None = None, family: str | None = None
) -> None:
    """Writes a new package and prints the three commands that come next.

    Raises RequestError for a key, a folder or a template that cannot be, with nothing written.
    """
    if in_repo and path is not None:
        raise RequestError("--in-repo and --path both say where the package goes; give one of them")
    refuse_unusable(key, is_command=kind == "command")
    chosen = templates.find(kind, template, family)
    names = Names.of(key, taken=chosen.words())
    checkout = Checkout.around(Path.cwd()) if in_repo else None
    if checkout is not None:
        checkout.refuse_taken(names)
    parent = checkout.parent(kind) if checkout is not None else Path.cwd() / (path or "")
    target = parent / key
    files = chosen.render(_values(names, chosen, checkout))
    with ExitStack() as stack:
        stack.enter_context(written(target, files))
        if checkout is not None:
            stack.enter_context(checkout.taking_in())
    typer.echo(f"created {target}: {len(files)} files, of which README.md says what to replace; next:")
    install = commands.install(target) if checkout is None else commands.install_in(checkout.root)
    root = checkout.root if checkout is not None else None
    trials = [commands.pubench(*words, checkout=root) for words in _trials(kind, key)]
    for line in (install, *trials):
        typer.echo(line)


def _trials(kind: str, key: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words of two commands that use the new plugin."""
    if kind == "method":
        return ("run", "--method", key, "--data", "digits"), ("check", key)
    run = ("run", "--method", commands.some_method(), "--data")
    match kind:
        case "dataset":
            return (*run, key, "--c", "0.5"), ("data", "show", key)
        case "mechanism":
            return (*run, "digits", "--mech", key), ("data", "show", "digits", "--mech", key)
        case "sink":
            return (*run, "digits", "--sinks", key), ("track", "--to", key)
        case "command":
            return (*run, "digits"), (key,)
        case _:
            return (*run, "digits", "--select", key), ("info", key)


def _values(names: Names, chosen: templates.Template, checkout: Checkout | None) -> dict[str, str]:
    """What stands for each name in a template."""
    major, minor = version("pubench-core").split(".")[:2]
    bounds = f">={major}.{minor},<{int(major) + 1}"
    of_core = {re.split(r"[^\w-]", each)[0]: each.split(";")[0].strip() for each in requires("pubench-core") or ()}
    ours = {name: name + bounds for name in chosen.dependencies if name.startswith("pubench-")}
    others = ((of_core | ours).get(name, name) for name in chosen.dependencies)  # with core's bounds
    core = "pubench-core[train]" if "torch" in chosen.dependencies else "pubench-core"
    dependencies = (core + bounds, *others)
    alone = templates.filled(templates.folder() / templates.ALONE, vars(names))
    folder = f"plugins/{folder_of(chosen.kind)}/{names.key}"
    return {
        **vars(names),
        "kind": KINDS[chosen.kind],
        "template": chosen.template,
        "family": chosen.family,
        "dependencies": ", ".join(f'"{each}"' for each in dependencies),
        "group": f'"{TOOLS_GROUP}"' if chosen.kind == "command" else GROUP,
        "testkit": f"pubench-testkit[test]{bounds}",
        "tools": alone if checkout is None else "",
        "install": _WITH_TESTS if checkout is None else "make setup",
        "test": "pytest" if checkout is None else f"pytest {folder}",
    }
