"""Metadata that all distributions share, declared once and written into every pyproject.toml.

    python .ci/metadata.py            writes
    python .ci/metadata.py --check    writes nothing; one line per difference, exit code 1 if there is any
    python .ci/metadata.py --version  the version of all distributions

Written into every distribution: the last keys of ``[project]``, the bounds on first-party packages and on what
several distributions need, ``[build-system]``, the packages of the wheel, and LICENSE. Derived from the folders
(``pubench_*/``, ``plugins/*/*/``): the root's ``dependencies`` and ``[tool.uv.sources]``. Derived from the records of
tools: ``pubench/provided.json``, which package provides which command and Python name, and ``pubench/__init__.pyi``,
from which type checkers and editors read these names. Everything else in these files is written by hand and stays.
"""

from __future__ import annotations

import argparse
import ast
import difflib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.items import Array

#: Of entry points: what runs are made of; commands and Python names.
GROUPS = ("pubench", "pubench.tools")
#: The one version of all distributions. The bounds between them follow from it.
VERSION = "1.0.0"
#: Where the project is published. The only place that says so; CITATION.cff gets it from here.
PROJECT = "https://github.com/pubench/pubench"
#: What ``[project]`` has of all distributions, as it is written. No license classifier: ``license`` is an SPDX
#: expression, next to which packaging standards forbid one.
SHARED = f"""\
version = "{VERSION}"
readme = "README.md"
requires-python = ">=3.11,<3.14"
license = "MIT"
license-files = ["LICENSE"]
authors = [{{ name = "The pubench authors" }}]
keywords = ["positive-unlabeled learning", "PU learning", "weakly supervised learning", "benchmark"]
classifiers = [
    "Development Status :: 3 - Alpha",
    "Intended Audience :: Science/Research",
    "Operating System :: MacOS",
    "Operating System :: POSIX :: Linux",
    "Programming Language :: Python :: 3",
    "Programming Language :: Python :: 3.11",
    "Programming Language :: Python :: 3.12",
    "Programming Language :: Python :: 3.13",
    "Topic :: Scientific/Engineering :: Artificial Intelligence",
    "Typing :: Typed",
]
urls.Homepage = "{PROJECT}"
urls.Documentation = "{PROJECT}/tree/main/docs/pages"
urls.Source = "{PROJECT}"
urls.Issues = "{PROJECT}/issues"
urls.Changelog = "{PROJECT}/blob/main/CHANGELOG.md"
"""
#: Distribution -> extra that `pubench`, which is everything, asks for.
EVERYTHING = {"pubench-evaluate": "[advise]", "pubench-report": "[figures]"}
#: Distributions that `pubench` does not ask for, since what they need is large.
APART = ("pubench-ray",)
#: The oldest versions of what several distributions need. `make oldest` runs the tests with these.
FLOORS = {
    "filelock": "3.30",
    "mlflow": "3.9",
    "numpy": "2.2",
    "pandas": "2.2.3",
    "pillow": "11",
    "pyarrow": "16",
    "pydantic": "2.10.6",
    "pyyaml": "6",
    "safetensors": "0.4",
    "scikit-learn": "1.5",
    "scipy": "1.13",
    "torch": "2.6",
}
BUILD = {"requires": ["hatchling>=1.27"], "build-backend": "hatchling.build"}
_REQUIREMENT = re.compile(r"([A-Za-z0-9][\w.-]*)(\[[^\]]*\])?[^\[;]*(;.*)?")


def set_bounds(asked: Array) -> None:
    """Gives requirements on first-party packages and on those of :data:`FLOORS` the right bounds."""
    for k, text in enumerate(asked):
        if match := _REQUIREMENT.fullmatch(text):
            name, extras, marker = match[1], match[2] or "", match[3] or ""
            bounds = bound() if name.startswith("pubench-") else f">={FLOORS[name]}" if name in FLOORS else None
            if bounds is not None and (right := f"{name}{extras}{bounds}{marker}") != text:
                asked[k] = right


def bound() -> str:
    """Requirement of one first-party package on another: this minor version or newer, the same major version."""
    major, minor = VERSION.split(".")[:2]
    return f">={major}.{minor},<{int(major) + 1}"


def distributions(root: Path) -> list[Path]:
    """The folders of all distributions but the root's own."""
    first = [root / "pubench_core", root / "pubench_cli"]
    patterns = ("pubench_*", "plugins/*/*")
    found = sorted(path.parent for pattern in patterns for path in root.glob(f"{pattern}/pyproject.toml"))
    return sorted(found, key=lambda folder: (folder not in first, first.index(folder) if folder in first else 0))


def project_of(folder: Path) -> dict[str, Any]:
    """``[project]`` of a folder's pyproject.toml. Ends the program where it cannot be read or has no name."""
    path = folder / "pyproject.toml"
    try:
        project = tomllib.loads(path.read_text()).get("project", {})
    except tomllib.TOMLDecodeError as error:
        raise SystemExit(f"error: {path} is not TOML: {error}") from error
    if not project.get("name"):
        raise SystemExit(f"error: {path}: [project] has no name")
    return dict(project)


def packages_of(folder: Path) -> list[Path]:
    """The folders of a distribution's packages."""
    return sorted(path for path in folder.glob("src/*") if path.is_dir() and not path.name.startswith(("_", ".")))


def with_shared(document: tomlkit.TOMLDocument) -> str:
    """The file with ``[build-system]`` and the shared keys as they must be, these at the end of ``[project]``."""
    project: Any = document["project"]
    for key in tomlkit.parse(SHARED):
        project.pop(key, None)
    if document.get("build-system") != BUILD:
        document["build-system"] = BUILD
    lines = tomlkit.dumps(document).splitlines(keepends=True)
    start = next(k for k, line in enumerate(lines, 1) if line.startswith("[project]"))
    end = next((k for k in range(start, len(lines)) if lines[k].startswith("[")), len(lines))
    while not lines[end - 1].strip() or lines[end - 1].startswith("#"):  # of the next table
        end -= 1
    return "".join([*lines[:end], SHARED, *lines[end:]])


def member_text(text: str, folder: Path) -> str:
    """The pyproject.toml of a member of the workspace as it must be."""
    document = tomlkit.parse(text)
    project: Any = document["project"]
    for asked in (project.get("dependencies", []), *project.get("optional-dependencies", {}).values()):
        set_bounds(asked)
    packages = [f"src/{package.name}" for package in packages_of(folder)]
    tools: Any = document.setdefault("tool", {})
    targets = tools.setdefault("hatch", {}).setdefault("build", {}).setdefault("targets", {})
    if targets.setdefault("wheel", {}).get("packages") != packages:
        targets["wheel"]["packages"] = packages
    tools.get("uv", {}).pop("sources", None)  # those of the root hold for every member
    return with_shared(document)


def root_text(text: str, names: list[str]) -> str:
    """The root's pyproject.toml as it must be; ``names``: of all members."""
    document = tomlkit.parse(text)
    asked = [f"{name}{EVERYTHING.get(name, '')}{bound()}" for name in names if name not in APART]
    project: Any = document["project"]
    sources: Any = document["tool"]["uv"]
    if project["dependencies"] != asked:
        project["dependencies"] = tomlkit.item(asked).multiline(True)
    if list(sources["sources"]) != names:
        lines = "".join(f"{name} = {{ workspace = true }}\n" for name in names)
        sources["sources"] = tomlkit.parse(f"[sources]\n{lines}")["sources"]
    return with_shared(document)


def citation_text(text: str) -> str:
    """CITATION.cff with the version and the address."""
    text = re.sub(r"(?m)^version: .*$", f"version: {VERSION}", text)
    return re.sub(r"(?m)^(url|repository-code): .*$", lambda match: f"{match[1]}: {PROJECT}", text)


def records_of(folder: Path) -> Iterator[tuple[str, dict[str, str]]]:
    """(class, texts by field) of the records by which a distribution describes commands and Python names.

    The sources are read and not imported.
    """
    for module in project_of(folder).get("entry-points", {}).get("pubench.tools", {}).values():
        source = folder.joinpath("src", *module.split("."))
        file = source / "__init__.py" if source.is_dir() else source.with_suffix(".py")
        for node in ast.walk(ast.parse(file.read_text() if file.exists() else "")):  # missing() names it
            if isinstance(node, ast.Call) and isinstance(node.func, ast.Name):
                given = {word.arg: word.value for word in node.keywords if word.arg}
                texts = {name: str(value.value) for name, value in given.items() if isinstance(value, ast.Constant)}
                yield node.func.id, texts


def provided_text(folders: list[Path]) -> str:
    """Package -> the commands and Python names that its records describe, as JSON."""
    found: dict[str, dict[str, list[str]]] = {}
    for folder in folders:
        for kind, texts in records_of(folder):
            what, field = {"CommandInfo": ("commands", "path"), "ApiInfo": ("names", "name")}.get(kind, ("", ""))
            if field in texts:
                mine = found.setdefault(project_of(folder)["name"], {"commands": [], "names": []})
                mine[what].append(texts[field])
    return json.dumps(found, indent=2, sort_keys=True) + "\n"


def stub_text(folders: list[Path], source: Path) -> str:
    """Imports of every name of the package ``pubench``: of the table in its source, and of the records of tools."""
    text = source.read_text() if source.exists() else ""
    homes = re.findall(r'^    "(\w+)": "(\w+)",$', text, re.MULTILINE)
    records = [texts for folder in folders for kind, texts in records_of(folder) if kind == "ApiInfo"]
    tools = [(texts["load"].split(":")[0], texts["name"]) for texts in records]
    lines = [f"from {module} import {name} as {name}\n" for module, name in sorted(tools)]
    own = [f"from .{module} import {name} as {name}\n" for module, name in sorted((home, name) for name, home in homes)]
    return "".join(["# made by .ci/metadata.py\n", *lines, "\n", *own])


def wanted(root: Path) -> Iterator[tuple[Path, str]]:
    """Every file that this script writes, and what must be in it."""
    folders = distributions(root)
    manifest = root / "pyproject.toml"
    names = dict.fromkeys(project_of(folder)["name"] for folder in folders)
    yield manifest, root_text(manifest.read_text(), list(names))
    for folder in folders:
        manifest = folder / "pyproject.toml"
        yield manifest, member_text(manifest.read_text(), folder)
        yield folder / "LICENSE", (root / "LICENSE").read_text()
    face = root / "pubench_core" / "src" / "pubench"
    yield face / "provided.json", provided_text(folders)
    yield face / "__init__.pyi", stub_text(folders, face / "__init__.py")
    if (citation := root / "CITATION.cff").exists():
        yield citation, citation_text(citation.read_text())


def missing(root: Path) -> Iterator[str]:
    """Files and fields that a distribution lacks, a line each."""
    names: dict[str, Path] = {}
    for folder in distributions(root):
        where = folder.relative_to(root)
        if not packages_of(folder):
            yield f"{where}: has no package in src/"
        for path in (folder / "README.md", folder / "tests", *(p / "py.typed" for p in packages_of(folder))):
            if not path.exists():
                yield f"{where}: has no {path.relative_to(folder)}"
        project = project_of(folder)
        if (other := names.setdefault(project["name"], where)) != where:
            yield f"{where}: is called {project['name']}, and so is {other}"
        for key in ("description", "dependencies"):
            if key not in project:
                yield f"{where}/pyproject.toml: [project] has no {key}"
        points = dict[str, str]()
        for group in GROUPS:
            points |= project.get("entry-points", {}).get(group, {})
        if where.parts[0] == "plugins" and not points:
            yield f"{where}/pyproject.toml: has no entry point of the groups {' and '.join(GROUPS)}"
        for point, module in points.items():
            if module.split(":")[0].split(".")[0] not in {package.name for package in packages_of(folder)}:
                yield f"{where}/pyproject.toml: entry point {point} names {module}, which is not in src/"


def differences(path: Path, is_now: str, must_be: str) -> Iterator[str]:
    """Lines that are there (-) and lines that must be there (+), as far as they differ."""
    found = difflib.unified_diff(is_now.splitlines(keepends=True), must_be.splitlines(keepends=True), n=0)
    yield from (f"{path}: {line.rstrip()}" for line in islice(found, 2, None) if not line.startswith("@@"))


def main(arguments: list[str] | None = None) -> int:
    """Writes, or checks. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=".ci/metadata.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--check", action="store_true", help="write nothing; one line per difference, exit code 1")
    parser.add_argument("--version", action="version", version=VERSION, help="print the version of all distributions")
    parser.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent, help="the repository")
    options = parser.parse_args(arguments)
    root: Path = options.root
    lines: list[str] = []
    for path, text in list(wanted(root)):
        is_now = path.read_text() if path.exists() else ""
        lines += differences(path.relative_to(root), is_now, text)
        if not options.check and text != is_now:
            path.write_text(text)
            print(f"wrote {path.relative_to(root)}")
    faults = list(missing(root))
    for line in [*(lines if options.check else []), *faults]:
        print(line)
    if options.check and lines:
        print("python .ci/metadata.py puts right what it writes")
    return 1 if faults or (options.check and lines) else 0


if __name__ == "__main__":
    sys.exit(main())
