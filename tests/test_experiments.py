"""The page of tables and figures names commands, scripts and protocols that exist."""

from __future__ import annotations

import csv
import re
from collections import Counter
from pathlib import Path

import pytest
from pubench_study.grid import cells_of
from pubench_study.study_file import find_study, protocols
from pubench_testkit.testing import reference_folder

from pubench_core.plugins.info import CommandInfo, MethodInfo
from pubench_core.plugins.registry import registry, tools

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
        assert find_study(words[3]).spec


def test_every_protocol_but_the_quick_one_is_on_the_page() -> None:
    named = set(re.findall(r"`pubench study run ([\w-]+)", PAGE))
    assert set(protocols()) - named <= {"quick", "prior-misspecification"}


@pytest.mark.parametrize("name", ["quick", "lite", "classics", "pu-bench", "wang-case1"])
def test_the_page_says_how_many_runs_a_protocol_has(name: str) -> None:
    assert f"| `{name}` | {len(cells_of(find_study(name).spec, registry())):,} |" in PAGE


def test_split_sizes_are_those_that_splits_are_held_to() -> None:
    with (reference_folder() / "pubench_splits.csv").open(newline="") as file:
        for row in csv.DictReader(file):
            names = ("pn_train_pos", "pn_train_neg", "pu_labeled", "pu_unlab_pos", "pu_unlab_neg", "val_size")
            a, b, labeled, c, d, validation, e, f = (f"{int(row[name]):,}" for name in (*names, "test_pos", "test_neg"))
            assert f"| {row['dataset']} | {a} + {b} | {labeled} | {c} + {d} | {validation} | {e} + {f} |" in PAGE


def test_settings_of_original_papers_are_next_to_ours() -> None:
    lines = re.findall(r"^\| `.+", PAGE.partition("## What the original papers did")[2], re.MULTILINE)
    settings = {key: line.split("|")[-2].strip() for line in lines for key in re.findall(r"`([\w-]+)`", line[:30])}
    infos = {info.key: info for info in registry().infos(MethodInfo)}
    assert len(settings) == 18
    assert settings == {key: infos[key].setting for key in settings}


def test_the_page_of_demands_counts_its_own_verdicts() -> None:
    page = (ROOT / "docs" / "pages" / "papers-audit.md").read_text(encoding="utf-8")
    verdicts: Counter[str] = Counter()
    for numbers, verdict in re.findall(r"^\| ([\d, ]+) \| [^|]+ \| (works|partly|missing|n/a) \|", page, re.MULTILINE):
        verdicts[verdict] += len(numbers.split(","))
    works, partly, missing = (verdicts[name] for name in ("works", "partly", "missing"))
    assert f"the other {verdicts.total()} and" in " ".join(page.split())
    assert f"{works} work, {partly} work partly, {missing} are missing, and one" in " ".join(page.split())
