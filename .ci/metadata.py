"""Metadata that all distributions share, declared once and written into every pyproject.toml.

    python .ci/metadata.py            writes
    python .ci/metadata.py --check    writes nothing; one line per difference, exit code 1 if there is any
    python .ci/metadata.py --version  the version of all distributions

Written into every distribution: the keys of ``[project]`` between the two marks, the bounds on first-party packages and
on what several distributions need, ``[build-system]``, the packages of the wheel, and LICENSE. Derived from the folders
(``pubench_*/``, ``plugins/*/*/``): the root's ``dependencies`` and ``[tool.uv.sources]``. Derived from the records of
tools: ``pubench/provided.json``, which package provides which command and Python name, and ``pubench/__init__.pyi``,
from which type checkers and editors read these names. Everything else in these files is written by hand and stays.

Needs nothing but Python.
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

#: Of entry points: what runs are made of; commands and Python names.
GROUPS = ("pubench", "pubench.tools")
#: The one version of all distributions. The bounds between them follow from it.
VERSION = "1.0.0"
#: Where the project is published. The only place that says so; CITATION.cff gets it from here.
PROJECT = "https://github.com/pubench/pubench"
SHARED: dict[str, Any] = {
    "version": VERSION,
    "readme": "README.md",
    "requires-python": ">=3.11,<3.14",
    "license": "MIT",
    "license-files": ["LICENSE"],
    "authors": [{"name": "The pubench authors"}],
    "keywords": ["positive-unlabeled learning", "PU learning", "weakly supervised learning", "benchmark"],
    # No license classifier: `license` is an SPDX expression, besides which packaging standards forbid one.
    "classifiers": [
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
    ],
    "urls": {
        "Homepage": PROJECT,
        "Documentation": f"{PROJECT}/tree/main/docs/pages",
        "Source": PROJECT,
        "Issues": f"{PROJECT}/issues",
        "Changelog": f"{PROJECT}/blob/main/CHANGELOG.md",
    },
}
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
BUILD = ["[build-system]", 'requires = ["hatchling>=1.27"]', 'build-backend = "hatchling.build"', ""]
BEGIN = "# shared by all distributions: .ci/metadata.py writes this"
END = "# end of what is shared"

_HEADER = re.compile(r"""\[\[?\s*([\w.\-"']+)\s*\]\]?\s*(#.*)?""")
_REQUIREMENT = re.compile(r'"([A-Za-z0-9][\w.-]*)(\[[^\]"]*\])?[^"\[;]*(;[^"]*)?"')


class Document:
    """A TOML file as its tables, each a list of lines, the header first; comments and layout are kept.

    Comment lines right above a header belong to its table. The first table is the text above all headers.
    """

    def __init__(self, text: str) -> None:
        self.tables: list[list[str]] = [[]]
        for line in text.splitlines():
            if _HEADER.fullmatch(line):
                above: list[str] = []
                while self.tables[-1] and self.tables[-1][-1].startswith("#") and self.tables[-1][-1] != END:
                    above.insert(0, self.tables[-1].pop())
                self.tables.append([*above, line])
            else:
                self.tables[-1].append(line)

    def text(self) -> str:
        """The file; one blank line between tables."""
        parts = ["\n".join(table).strip("\n") for table in self.tables]
        return "\n\n".join(part for part in parts if part) + "\n"

    def find(self, name: str) -> list[str] | None:
        """The lines of a table."""
        for table in self.tables:
            if any((match := _HEADER.fullmatch(line)) and match[1] == name for line in table):
                return table
        return None

    def remove(self, name: str) -> None:
        """Takes a table out, and the comment above it."""
        self.tables = [table for table in self.tables if table is not self.find(name)]

    def put(self, name: str, lines: list[str]) -> None:
        """Replaces a table, or adds it at the end."""
        table = self.find(name)
        if table is None:
            self.tables.append(lines)
        else:
            header = next(i for i, line in enumerate(table) if _HEADER.fullmatch(line))
            table[header:] = lines


def lines_of(table: list[str], key: str) -> range:
    """Where a key and its value stand, however many lines they have; empty if the key is not there."""
    for start, line in enumerate(table):
        if re.match(rf"{re.escape(key)}\s*[.=]", line):
            end = start + 1
            while not _parses("\n".join(table[start:end])) and end < len(table):
                end += 1
            return range(start, end)
    return range(0)


def take(table: list[str], key: str) -> int | None:
    """Removes a key and its value; the line where it stood, None if it was not there."""
    found = lines_of(table, key)
    del table[found.start : found.stop]
    return found.start if found else None


def with_bounds(line: str) -> str:
    """A line of requirements in which first-party packages and those of :data:`FLOORS` have the right bounds."""

    def bounded(match: re.Match[str]) -> str:
        name, extras, marker = match[1], match[2] or "", match[3] or ""
        if name.startswith("pubench-"):
            return f'"{name}{extras}{bound()}{marker}"'
        return f'"{name}{extras}>={FLOORS[name]}{marker}"' if name in FLOORS else match[0]

    return _REQUIREMENT.sub(bounded, line)


def _parses(text: str) -> bool:
    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError:
        return False
    return True


def as_toml(value: Any) -> str:
    """A string, list or table as one line of TOML."""
    if isinstance(value, dict):
        return "{ " + ", ".join(f"{key} = {as_toml(item)}" for key, item in value.items()) + " }"
    if isinstance(value, list):
        return "[" + ", ".join(map(as_toml, value)) + "]"
    return '"' + str(value) + '"'


def shared_lines() -> list[str]:
    """The shared keys of ``[project]``."""
    lines = [BEGIN]
    for key, value in SHARED.items():
        if isinstance(value, dict):
            lines += [f"{key}.{name} = {as_toml(item)}" for name, item in value.items()]
        elif len(one := f"{key} = {as_toml(value)}") <= 120:
            lines.append(one)
        else:
            lines += [f"{key} = [", *(f"    {as_toml(item)}," for item in value), "]"]
    return [*lines, END]


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


def shared_project(document: Document) -> list[str]:
    """``[project]`` with the shared keys as they must be, at its end."""
    table = document.find("project")
    assert table is not None  # project_of has read it
    if BEGIN in table and END in table[table.index(BEGIN) :]:
        del table[table.index(BEGIN) : table.index(END, table.index(BEGIN)) + 1]
    for key in SHARED:
        while take(table, key) is not None:
            pass
    while table and not table[-1].strip():
        table.pop()
    table += shared_lines()
    document.remove("project.urls")
    return table


def member_text(text: str, folder: Path) -> str:
    """The pyproject.toml of a member of the workspace as it must be."""
    document = Document(text)
    project = shared_project(document)
    for index in lines_of(project, "dependencies"):
        project[index] = with_bounds(project[index])
    extras = document.find("project.optional-dependencies") or []
    extras[:] = map(with_bounds, extras)
    document.put("build-system", list(BUILD))
    packages = [f"src/{package.name}" for package in packages_of(folder)]
    wheel = document.find("tool.hatch.build.targets.wheel")
    if wheel is None:
        document.put("tool.hatch.build.targets.wheel", wheel := ["[tool.hatch.build.targets.wheel]"])
    at = take(wheel, "packages")
    wheel.insert(len(wheel) if at is None else at, f"packages = {as_toml(packages)}")
    document.remove("tool.uv.sources")  # those of the root hold for every member
    return document.text()


def root_text(text: str, names: list[str]) -> str:
    """The root's pyproject.toml as it must be; ``names``: of all members."""
    document = Document(text)
    project = shared_project(document)
    at = take(project, "dependencies")
    project[at or 0 : at or 0] = [
        "dependencies = [",
        *(f'    "{name}{EVERYTHING.get(name, "")}{bound()}",' for name in names if name not in APART),
        "]",
    ]
    document.put("build-system", list(BUILD))
    document.put("tool.uv.sources", ["[tool.uv.sources]", *(f"{name} = {{ workspace = true }}" for name in names)])
    return document.text()


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
