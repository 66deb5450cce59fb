"""Scripts of the repository, which are in no package, as modules."""

from __future__ import annotations

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parents[2]


def script(path: str) -> ModuleType:
    """``script("docs/page_parts.py")``, which finds its neighbors as if it were carried out."""
    file = ROOT / path
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(str(file.parent))
        return importlib.import_module(file.stem)
