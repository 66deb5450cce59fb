"""Pages whose tables a script makes show what the committed rows say."""

from __future__ import annotations

import pytest
from repository import script


@pytest.mark.parametrize("name", ["label_ratio", "classics_table"])
def test_the_page_shows_the_numbers_of_the_rows(name: str) -> None:
    module = script(f"benchmarks/{name}.py")
    assert module.PAGE.read_text(encoding="utf-8") == module.page(), f"run python benchmarks/{name}.py"
