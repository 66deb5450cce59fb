"""The page of tables and figures names commands, scripts and protocols that exist."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest
from pubench_study.files import protocols

from pubench_core.plugins.info import CommandInfo
from pubench_core.plugins.registry import tools

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "pages" / "experiments.md").read_text(encoding="utf-8")
SHOWN = sorted(set(re.findall(r"`((?:pubench|python) [^`]+)`", PAGE)))


@pytest.mark.parametrize("shown", SHOWN)
def test_what_makes_a_table_or_figure_exists(shown: str) -> None:
    words = shown.split()
    if words[0] == "python":
        assert (ROOT / words[1]).is_file()
        return
    paths = {info.path for info in tools().infos(CommandInfo)}
    assert words[1] in paths or " ".join(words[1:3]) in paths
    if words[1:3] == ["study", "run"] and len(words) > 3:
        assert words[3] in protocols()


def test_every_protocol_but_the_quick_one_is_on_the_page() -> None:
    named = set(re.findall(r"`pubench study run ([\w-]+)", PAGE))
    assert set(protocols()) - named <= {"quick", "prior-misspecification"}


def test_the_page_of_demands_counts_its_own_verdicts() -> None:
    page = (ROOT / "docs" / "pages" / "papers-audit.md").read_text(encoding="utf-8")
    verdicts: Counter[str] = Counter()
    for numbers, verdict in re.findall(r"^\| ([\d, ]+) \| [^|]+ \| (works|partly|missing|n/a) \|", page, re.MULTILINE):
        verdicts[verdict] += len(numbers.split(","))
    works, partly, missing = (verdicts[name] for name in ("works", "partly", "missing"))
    assert f"the other {verdicts.total()} and" in " ".join(page.split())
    assert f"{works} work, {partly} work partly, {missing} are missing, and one" in " ".join(page.split())
