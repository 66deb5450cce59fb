"""Distributions and the rooms of core: arrows go one way, and nothing imports in a circle."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from graphlib import CycleError, TopologicalSorter
from importlib.metadata import packages_distributions
from itertools import chain
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from repository import ROOT

CORE = ROOT / "pubench_core" / "src" / "pubench_core"


@dataclass(frozen=True)
class Room:
    """Folders and modules of core, and whether they may import torch."""

    names: tuple[str, ...]
    torch: bool = False


#: From the bottom to the top.
ROOMS = (
    Room(("errors", "randomness")),
    Room(("specs",)),
    Room(("results",)),
    Room(("plugins",)),
    Room(("data",)),
    Room(("isolation", "backbone"), torch=True),
    Room(("training",), torch=True),
    Room(("metric", "mechanism", "prior", "method"), torch=True),
    Room(("records", "sinks")),
    Room(("engine",), torch=True),
)


def modules(package: Path) -> dict[str, Path]:
    """Module name -> file of everything in a package."""
    found = {}
    for file in sorted(package.rglob("*.py")):
        parts = [package.name, *file.relative_to(package).with_suffix("").parts]
        found[".".join(parts[:-1] if parts[-1] == "__init__" else parts)] = file
    return found


def imports(package: Path) -> dict[str, set[str]]:
    """Module -> modules of the same package that it imports, wherever in its text, for types alone included."""
    files = modules(package)
    return {name: set(_imported(name, file, files)) - {name} for name, file in files.items()}


def _imported(name: str, file: Path, files: dict[str, Path]) -> Iterator[str]:
    home = name if file.name == "__init__.py" else name.rpartition(".")[0]
    for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name in files)
        if isinstance(node, ast.ImportFrom):
            above = home.split(".")[: len(home.split(".")) - node.level + 1] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            for alias in node.names:
                inner = f"{source}.{alias.name}"
                if inner in files:
                    yield inner
                elif source in files:
                    yield source


def circle(graph: dict[str, set[str]]) -> list[str]:
    """Names that depend on each other in a circle, the first of them again at the end; empty if there is none."""
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        return list(error.args[1])
    return []


def room_of(module: str) -> int:
    """Position in :data:`ROOMS` of a module of core. Raises LookupError if it is in no room."""
    name = module.split(".")[1]
    return next(k for k, room in enumerate(ROOMS) if name in room.names)


PACKAGES = [
    p for p in sorted(ROOT.glob("*/src/*")) + sorted(ROOT.glob("plugins/*/*/src/*")) if (p / "__init__.py").exists()
]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_no_package_imports_in_a_circle(package: Path) -> None:
    assert circle(imports(package)) == []


def test_every_room_of_core_imports_from_those_below_only() -> None:
    up = [
        f"{name} imports {other}"
        for name, others in imports(CORE).items()
        for other in others
        if name != "pubench_core" and other != "pubench_core" and room_of(other) > room_of(name)
    ]
    assert up == []


#: Of studies: what reads or writes files, and what waits for workers.
STUDY = ("spec", "study_file", "plan", "cache", "folds", "state", "export", "scheduler", "local", "task", "worker")


def test_what_only_describes_reads_or_waits_is_imported_without_torch() -> None:
    core = [name for name in modules(CORE) if name.count(".") and not ROOMS[room_of(name)].torch]
    assert "pubench_core.records.scores" in core
    wanted = [*core, "pubench_core.metric", "pubench", *(f"pubench_study.{name}" for name in STUDY)]
    code = f"import sys, importlib\nfor name in {wanted!r}:\n    importlib.import_module(name)\n"
    code += "    assert 'torch' not in sys.modules, name"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def test_every_module_of_core_is_in_a_room() -> None:
    for name in modules(CORE):
        assert name == "pubench_core" or room_of(name) >= 0


# -------------------------------------------------------------------- the floors of pubench-report

REPORT = ROOT / "plugins" / "tools" / "report" / "src" / "pubench_report"
#: Floors from below, with their modules; a module that is in none is a command.
FLOORS = {
    "rows": (
        "rows", "grouping", "published", "suspicion",
    ),
    "ranking": ("significance", "ranking"),
    "tables": (
        "cells", "rendering", "pages.template", "report.gather", "report.model",
        "report.tables",
    ),
    "figures": ("drawing",),
    "pages": ("pages", "report.write"),
    "commands": (),
}  # fmt: skip


def floor_of(module: str) -> int:
    """Number of the floor that a module of pubench-report is on: that of its longest name in FLOORS."""
    name = module.removeprefix("pubench_report").lstrip(".")
    found = [
        (len(one), number)
        for number, names in enumerate(FLOORS.values())
        for one in names
        if name == one or name.startswith(f"{one}.")
    ]
    return max(found, default=(0, len(FLOORS) - 1))[1]


def test_every_floor_of_report_imports_from_those_below_only() -> None:
    up = [
        f"{name} imports {other}"
        for name, others in imports(REPORT).items()
        for other in others
        if name != "pubench_report" and other != "pubench_report" and floor_of(other) > floor_of(name)
    ]
    assert up == []


@pytest.mark.parametrize(
    ("what", "pattern", "homes"),
    [
        ("average ranks", r"\brankdata\(|\.rank\(", {"significance.py", "seeds.py"}),
        ("a rank", r"\b1 \+ (?:int|sum|bisect_left|\w+\.index)\(", {"ranking.py"}),
        ("tests", r"stats\.(ttest_\w+|friedmanchisquare|studentized_range|t|f)\b", {"significance.py"}),
        ("a mean with its deviation", r"stdev\(|\.std\(|/ \(len\(\w+\) - 1\)", {"cells.py", "significance.py"}),
        ("points below the best", r"\bbest - |np\.maximum\(0\.0, ", {"ranking.py"}),
        ("resampling", r"_MODULUS", {"ranking.py"}),
        ("tables in Markdown and LaTeX", r"' \| '\.join|begin\{\{tabular", {"rendering.py"}),
    ],
)
def test_a_number_of_a_comparison_is_computed_in_one_place(what: str, pattern: str, homes: set[str]) -> None:
    """Ranks, tests, intervals and deviations of reports, boards and studies."""
    tools = REPORT.parents[2]
    files = [file for tool in ("report", "verify", "study") for file in (tools / tool / "src").rglob("*.py")]
    found = {file.name for file in files if re.search(pattern, file.read_text(encoding="utf-8"))}
    assert found == homes, what


def test_the_row_of_a_run_is_declared_in_one_place() -> None:
    """A mapping from four of these columns to values is a second declaration of ``pubench_report.rows``."""
    columns, tools = {"run_id", "method", "data", "seed", "criterion"}, REPORT.parents[2]
    found = [
        f"{file.name}:{node.lineno}"
        for tool in ("report", "verify", "study")
        for file in (tools / tool / "src").rglob("*.py")
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Dict)
        and len(columns & {key.value for key in node.keys if isinstance(key, ast.Constant)}) > 3
    ]
    assert found == []


def test_scripts_of_pages_compute_no_statistics() -> None:
    for file in (REPORT / "pages" / "templates").glob("*.js"):
        found = re.findall(
            r"\b(?:mean|median|resampling|quantile)\(|Math\.(?:sqrt|random)", file.read_text(encoding="utf-8")
        )
        assert found == [], file.name


# -------------------------------------------------------------------- distributions

FOLDERS = [p.parent for p in (*sorted(ROOT.glob("pubench_*/pyproject.toml")), *ROOT.glob("plugins/*/*/pyproject.toml"))]
#: Folder of distributions -> folders that it may import from, besides core.
ARROWS = {
    "core": set(),
    "cli": set(),
    "backbones": set(),
    "bases": {"formulas"},
    "datasets": {"datasets"},
    "executors": {"cli", "tools"},
    "formulas": set(),
    "mechanisms": {"formulas"},
    "methods": {"bases", "formulas"},
    "metrics": {"formulas"},
    "priors": {"bases", "formulas"},
    "sinks": {"cli"},
    "tools": {"cli", "datasets", "mechanisms", "tools"},
}


def kind_of(folder: Path) -> str:
    return folder.name.removeprefix("pubench_") if folder.parent == ROOT else folder.parent.name


@cache
def project(folder: Path) -> tuple[str, frozenset[str]]:
    """Name of a distribution, and the first-party ones that it depends on."""
    facts = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    return facts["name"], frozenset(re.findall(r"pubench-[\w-]+", " ".join(facts["dependencies"])))


@cache
def home() -> dict[str, Path]:
    """Package -> folder of its distribution."""
    return {package.name: folder for folder in FOLDERS for package in folder.glob("src/*") if package.is_dir()}


def named(text: str, types: bool = False) -> Iterator[str]:
    """Packages that Python code names: by an import, by the string of one (``pubench_tune.api:tune``), by its start.

    Without ``types``, those of types alone are left out: they are not imported when the code runs.
    """
    tree = ast.parse(text)
    for node in () if types else ast.walk(tree):
        if isinstance(node, ast.If) and isinstance(node.test, ast.Name) and node.test.id == "TYPE_CHECKING":
            node.body = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        if isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.split(".")[0]
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            found = re.fullmatch(r"(pubench\w*)(\.\w*)*(:\w+)?", node.value)
            if found and ("." in node.value or ":" in node.value):
                yield found[1]


@cache
def reached(folder: Path, types: bool = False) -> frozenset[str]:
    """Top-level modules that the code of a distribution imports; ``types``: as :func:`named` has it."""
    texts = (file.read_text(encoding="utf-8") for file in sorted(folder.glob("src/**/*.py")))
    return frozenset(name for text in texts for name in named(text, types))


def arrows(folder: Path) -> set[Path]:
    """Folders of the other distributions that one imports from."""
    return {home()[name] for name in reached(folder) if name in home()} - {folder}


@cache
def providers() -> Mapping[str, list[str]]:
    """Module -> the installed distributions that have it; reading them all takes a second."""
    return packages_distributions()


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_a_distribution_imports_from_those_below_it_and_declares_them(folder: Path) -> None:
    others, allowed = arrows(folder), ARROWS[kind_of(folder)] | {"core"}
    assert [str(other.relative_to(ROOT)) for other in others if kind_of(other) not in allowed] == []
    assert {project(other)[0] for other in others} <= project(folder)[1]


@pytest.mark.parametrize("folder", FOLDERS, ids=lambda folder: folder.name)
def test_everything_that_is_imported_is_declared(folder: Path) -> None:
    facts = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
    texts = [*facts["dependencies"], *chain(*facts.get("optional-dependencies", {}).values())]
    asked = {canonicalize_name(Requirement(text).name) for text in texts}
    mine = {one for one, place in home().items() if place == folder}
    if folder == ROOT / "pubench_core":  # has types of the tools that provide `pubench.tune` and the like
        mine |= {one for one, place in home().items() if place.parent.parent == ROOT / "plugins"}
    owners = {**providers(), **{one: [project(place)[0]] for one, place in home().items()}}
    others = reached(folder, types=True) - sys.stdlib_module_names - mine
    assert [one for one in others if not asked & set(map(canonicalize_name, owners.get(one, [one])))] == []


def test_no_distributions_import_from_or_depend_on_each_other_in_a_circle() -> None:
    names = {project(folder)[0]: folder for folder in FOLDERS}
    assert circle({name: {project(other)[0] for other in arrows(folder)} for name, folder in names.items()}) == []
    assert circle({name: set(project(folder)[1]) & names.keys() for name, folder in names.items()}) == []


@pytest.mark.parametrize(
    "code",
    [
        "import pubench_cli",
        "from pubench_cli.console import out",
        "def f():\n    from pubench_cli import console",
        "importlib.import_module('pubench_cli.console')",
        "importlib.import_module(f'pubench_cli.{name}')",
        "CommandInfo(load='pubench_cli.console:out')",
    ],
)
def test_every_way_to_import_a_package_is_seen(code: str) -> None:
    assert "pubench_cli" in set(named(code))


def test_types_and_plain_words_are_no_imports() -> None:
    assert list(named("if TYPE_CHECKING:\n    from pubench_cli import console\nx = 'pubench_cli'")) == []


def test_core_and_the_command_line_name_no_sink() -> None:
    sinks = [folder.name for folder in FOLDERS if kind_of(folder) == "sinks"]
    naming = [
        f"{file.relative_to(ROOT)}: {sink}"
        for top in ("pubench_core", "pubench_cli")
        for file in sorted((ROOT / top / "src").rglob("*.py"))
        for sink in sinks
        if re.search(rf"\b{sink}\b", file.read_text(encoding="utf-8"), re.IGNORECASE)
    ]
    assert naming == []


# -------------------------------------------------------------------- class names

#: Folders whose code is hashed: renaming a class there runs records again. Their modules are read one at a time.
HASHED = ("backbones", "bases", "formulas", "mechanisms", "methods", "metrics", "priors")


def classes(folder: Path) -> set[str]:
    """Names of the public classes that modules of a distribution define at their top level."""
    trees = (ast.parse(file.read_text(encoding="utf-8")) for file in folder.glob("src/**/*.py"))
    return {
        node.name for tree in trees for node in tree.body if isinstance(node, ast.ClassDef) and node.name[0].isalpha()
    }


def test_a_class_name_means_one_thing_in_all_distributions() -> None:
    """Except in code that is hashed."""
    homes: dict[str, list[str]] = {}
    for folder in FOLDERS:
        if kind_of(folder) not in HASHED:
            for name in classes(folder):
                homes.setdefault(name, []).append(str(folder.relative_to(ROOT)))
    assert {name: folders for name, folders in homes.items() if len(folders) > 1} == {}


# -------------------------------------------------------------------- sizes

#: Folder -> most lines of Python below it. A room that is full gives something up before it gets something.
BUDGETS = {
    "benchmarks": 3_303,
    "docs": 810,
    "pubench_cli/src": 3_000,
    "pubench_core/src": 12_500,
    "plugins/datasets/tables/src": 1_800,
    "plugins/datasets/tabular/src": 1_423,
    "plugins/datasets/text/src": 914,
    "plugins/datasets/vision/src": 781,
    "plugins/tools/evaluate/src": 4_200,
    "plugins/tools/report/src": 7_500,
    "plugins/tools/study/src": 4_200,
    "plugins/tools/testkit/src": 2_400,
    "plugins/tools/tune/src": 1_200,
    "plugins/tools/verify/src": 2_000,
}


@pytest.mark.parametrize("room", BUDGETS)
def test_a_room_keeps_its_budget(room: str) -> None:
    files = sorted((ROOT / room).rglob("*.py"))
    assert files
    assert sum(len(file.read_text(encoding="utf-8").splitlines()) for file in files) <= BUDGETS[room]
