"""The rooms of core, bottom to top, read from its imports and drawn as the picture of ``pages/design.md``.

    python docs/rooms.py docs/pages/images/rooms.svg

A room may import from the rooms below it and from nowhere else (``tests/test_rooms.py``).
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

CORE = Path(__file__).parents[1] / "pubench_core" / "src" / "pubench_core"


@dataclass(frozen=True)
class Room:
    """``names``: folders and modules of core in it; ``what``: what a stranger finds there."""

    name: str
    names: tuple[str, ...]
    what: str
    torch: bool = False


#: From the bottom to the top.
ROOMS = (
    Room(
        "errors, randomness",
        ("errors", "randomness"),
        "what can go wrong; one random stream per purpose",
    ),
    Room("specs", ("specs",), "what is asked for: run specs, hyper-parameters, run ids"),
    Room("results", ("results",), "what a run leaves behind: typed results, failures"),
    Room("plugins", ("plugins",), "info records, hooks, registry, events, hashes of code"),
    Room("data", ("data",), "data sets, what reads tables, prepared copies, the PU generator"),
    Room("isolation, backbone", ("isolation", "backbone"), "random streams of a block; what a network is", torch=True),
    Room("training", ("training",), "what a method is given: PUData, Run, batches, steps", torch=True),
    Room("contracts", ("metric", "mechanism", "prior", "method"), "what plugins implement", torch=True),
    Room("records, sinks", ("records", "sinks"), "run folders, scores, measures; where copies go"),
    Room("engine", ("engine",), "one run: resolve, open, build, train, score, select, publish", torch=True),
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
    """Modules that import each other in a circle, the first of them again at the end; empty if there is none."""
    done: set[str] = set()

    def walk(name: str, path: list[str]) -> list[str]:
        if name in path:
            return [*path[path.index(name) :], name]
        if name in done:
            return []
        for other in sorted(graph[name]):
            if found := walk(other, [*path, name]):
                return found
        done.add(name)
        return []

    return next((found for name in sorted(graph) if (found := walk(name, []))), [])


def room_of(module: str) -> int:
    """Position in :data:`ROOMS` of a module of core. Raises LookupError if it is in no room."""
    name = module.split(".")[1]
    return next(k for k, room in enumerate(ROOMS) if name in room.names)


def draw(path: Path) -> None:
    """The rooms as boxes, the walk of a run next to them."""
    from matplotlib import rc_context
    from matplotlib.backends.backend_svg import FigureCanvasSVG
    from matplotlib.figure import Figure
    from matplotlib.patches import FancyBboxPatch

    height = 0.62
    with rc_context({"svg.fonttype": "none", "font.family": "sans-serif", "svg.hashsalt": "pubench"}):
        figure = Figure(figsize=(10.4, height * len(ROOMS) + 0.9))
        axes = figure.add_axes((0, 0, 1, 1))
        axes.set_xlim(0, 10.4)
        axes.set_ylim(-0.5, len(ROOMS) + 0.95)
        axes.axis("off")
        axes.text(0.25, len(ROOMS) + 0.35, "Rooms of core: each imports from those below it only", weight="bold")
        axes.text(6.55, len(ROOMS) + 0.35, "The walk of one run", weight="bold")
        for k, room in enumerate(ROOMS):
            color = "#FBE9DD" if room.torch else "#E2EDF6"
            box = FancyBboxPatch(
                (0.25, k), 5.9, 0.78, boxstyle="round,pad=0,rounding_size=0.08", fc=color, ec="#666666"
            )
            axes.add_patch(box)
            axes.text(0.4, k + 0.47, room.name, fontsize=10, weight="bold", va="center")
            axes.text(0.4, k + 0.19, room.what, fontsize=8.5, va="center", color="#333333")
        axes.text(0.25, -0.32, "blue: imported without torch", fontsize=8.5, color="#333333")
        for name, step, text in WALK:
            k = next(k for k, room in enumerate(ROOMS) if name in room.names)
            axes.text(6.55, k + 0.39 + _offset(name, step), f"{step}  {text}", fontsize=9, va="center")
        FigureCanvasSVG(figure).print_svg(str(path), metadata={"Date": None})


def _offset(name: str, step: int) -> float:
    """Several steps in one room stand under each other."""
    steps = [s for n, s, _ in WALK if n == name]
    return (len(steps) - 1) * 0.17 - 0.34 * steps.index(step)


#: room, number, what happens there
WALK = (
    ("engine", 1, "layers become a Plan: looked up, loaded, validated once"),
    ("records", 2, "coverage: does a stored record answer it?"),
    ("data", 3, "the data are opened"),
    ("engine", 4, "the problem is built: split, labels, prior"),
    ("training", 5, "the method's fit: epochs, batches, steps"),
    ("engine", 6, "every epoch scored; each criterion keeps its best"),
    ("metric", 7, "metrics on every part of which enough is known"),
    ("results", 8, "one typed Result"),
    ("records", 9, "published: written aside, renamed when complete"),
)


if __name__ == "__main__":
    draw(Path(sys.argv[1]))
