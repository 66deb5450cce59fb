"""The examples in the docstrings of package ``pubench`` and of the tools that it names run as they are written."""

from __future__ import annotations

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

from pubench_core.plugins.info import ApiInfo
from pubench_core.plugins.registry import registry, tools

#: The package, and those of the tools that provide names of it.
PACKAGES = ["pubench", *sorted({info.load.partition(".")[0] for info in tools().infos(ApiInfo)})]
#: Every module of theirs whose text has an example.
MODULES = [
    name
    for package in PACKAGES
    for name in [
        package,
        *(found.name for found in pkgutil.walk_packages(importlib.import_module(package).__path__, f"{package}.")),
    ]
    if ">>>" in Path(importlib.import_module(name).__file__ or "").read_text(encoding="utf-8")
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One for all examples: a run that several of them need is carried out once."""
    return tmp_path_factory.mktemp("examples")


@pytest.mark.usefixtures("one_thread", "forked_trainings")
@pytest.mark.filterwarnings("ignore::pubench.PubenchWarning")  # one epoch is not enough to decide well
@pytest.mark.skipif(not registry().named("pubench-nnpu"), reason="the examples run nnpu, which is not installed")
@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_a_module_run(
    name: str, folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(folder)
    found = doctest.testmod(importlib.import_module(name), optionflags=doctest.NORMALIZE_WHITESPACE)
    assert found.failed == 0, capsys.readouterr().out
    assert found.attempted > 0


def test_public_functions_have_examples_if_their_tools_are_installed() -> None:
    assert {"pubench", "pubench.running"} <= set(MODULES)
    if "pubench_report" in PACKAGES:
        assert {"pubench_report.comparing", "pubench_report.results"} <= set(MODULES)
