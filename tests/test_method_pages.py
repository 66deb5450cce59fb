"""The page of every method says what the method says of itself."""

from __future__ import annotations

import importlib.util
from pathlib import Path
from types import ModuleType

import pytest

from pubench_cli.describe import describe
from pubench_core.plugins.registry import Entry, registry

HOOK = Path(__file__).parents[1] / "docs" / "method_pages.py"
METHODS = [entry for entry in registry().entries("method") if entry.status == "ok"]


@pytest.fixture(scope="module")
def pages() -> ModuleType:
    spec = importlib.util.spec_from_file_location("method_pages", HOOK)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("entry", METHODS, ids=lambda entry: entry.key)
def test_a_page_has_reference_docstring_every_hyper_parameter_and_every_preset(pages: ModuleType, entry: Entry) -> None:
    described = describe(entry)
    page = pages.page(described)
    assert page.startswith(f"# {described['name']}\n")
    if described["reference"] is not None:  # the supervised oracle has none
        assert described["reference"]["title"] in page
    assert described["follows"].replace("|", "\\|") in page
    for row in described["hyper_parameters"]:
        assert f"| {row['name']} |" in page
        assert row["meaning"].replace("|", "\\|") in page
    for name in described["presets"]:
        assert f"**`{name}`**" in page


def test_the_index_links_every_method(pages: ModuleType) -> None:
    index = pages.index([describe(entry) for entry in METHODS])
    for entry in METHODS:
        assert f"({entry.key}.md)" in index
