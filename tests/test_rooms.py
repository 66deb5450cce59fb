"""Core is built in rooms: arrows go one way, and nothing imports in a circle."""

from __future__ import annotations

import importlib.util
import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[1]


def _rooms() -> ModuleType:
    spec = importlib.util.spec_from_file_location("rooms", ROOT / "docs" / "rooms.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules["rooms"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


rooms = _rooms()
PACKAGES = [
    p for p in sorted(ROOT.glob("*/src/*")) + sorted(ROOT.glob("plugins/*/*/src/*")) if (p / "__init__.py").exists()
]


@pytest.mark.parametrize("package", PACKAGES, ids=lambda p: p.name)
def test_no_package_imports_in_a_circle(package: Path) -> None:
    assert rooms.circle(rooms.imports(package)) == []


def test_a_circle_would_be_found() -> None:
    assert rooms.circle({"a": {"b"}, "b": {"c"}, "c": {"b"}}) == ["b", "c", "b"]


def test_every_room_of_core_imports_from_those_below_only() -> None:
    up = [
        f"{name} imports {other}"
        for name, others in rooms.imports(rooms.CORE).items()
        for other in others
        if name != "pubench_core" and other != "pubench_core" and rooms.room_of(other) > rooms.room_of(name)
    ]
    assert up == []


@pytest.mark.parametrize("room", [room for room in rooms.ROOMS if not room.torch], ids=lambda room: room.name)
def test_what_only_describes_or_reads_is_imported_without_torch(room: object) -> None:
    wanted = [
        name for name in rooms.modules(rooms.CORE) if name.count(".") and rooms.ROOMS[rooms.room_of(name)] == room
    ]
    code = f"import sys, importlib; [importlib.import_module(m) for m in {wanted!r}]; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


#: Of studies: what reads or writes files, and what waits for workers.
WITHOUT_TORCH = ("spec", "files", "plan", "code_cache", "state", "export", "scheduler", "local", "task", "worker")


@pytest.mark.parametrize("name", WITHOUT_TORCH)
def test_the_parent_of_a_study_and_what_reads_it_need_no_torch(name: str) -> None:
    code = f"import sys, pubench_study.{name}; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_every_module_of_core_is_in_a_room() -> None:
    for name in rooms.modules(rooms.CORE):
        assert name == "pubench_core" or rooms.room_of(name) >= 0


def test_metrics_and_stored_scores_need_no_torch() -> None:
    code = "import sys, pubench_core.metric, pubench_core.records.measures, pubench; print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"
