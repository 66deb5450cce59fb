"""A broken plugin or a damaged distribution is a row with a reason; all else is as if it were not there."""

from __future__ import annotations

import asyncio
import json
import re
import sys
from collections.abc import Callable
from importlib.metadata import EntryPoint
from pathlib import Path
from typing import Any

import pytest
from printed import Run

from pubench_core import DatasetInfo, MechanismInfo, MethodInfo, MetricInfo, Reference
from pubench_core.errors import PluginError
from pubench_core.plugins.registry import GROUP, Registry, installed, load

SOUND = """
from pubench_core import MethodInfo, hookimpl

@hookimpl
def pubench_methods():
    return [MethodInfo(key="acme-sound", name="S", summary="s", load="a:b")]
"""

UNREAD, NAMELESS = "its metadata cannot be read", "its metadata give no name or no version"
#: Name of a distribution -> its METADATA if it has any, its entry points, what its row says.
DAMAGED: dict[str, tuple[bytes | None, bytes, str]] = {
    "acme_binary": (b"Name: acme-binary\nVersion: 1.0\n", b"x = \xff\xfe\x00", f"{UNREAD}: UnicodeDecodeError"),
    "acme_no_equals": (b"Name: acme-no-equals\nVersion: 1.0\n", b"acme_sound", UNREAD),
    "~cme_leftover": (None, b"leftover = acme_sound", NAMELESS),
    "acme_nameless": (b"Version: 1.0\n", b"nameless = acme_sound", NAMELESS),
    "acme_blank": (b"Name: \nVersion: 1.0\n", b"blank = acme_sound", NAMELESS),
    "acme_bytes": (b"Name: acme\xff\nVersion: 1.0\n", b"bytes = acme_sound", f"{UNREAD}: UnicodeDecodeError"),
    "acme_requires": (
        b"Name: acme-requires\nVersion: 1.0\nRequires-Dist: pubench-core>=0.1; nonsense ===== 3\n",
        b"requires = acme_sound",
        "which is not a requirement",
    ),
    "acme_value": (b"Name: acme-value\nVersion: 1.0\n", b"value = ::!!", ""),
}
#: Folders that offer nothing to pubench, damaged or not: no row, no harm.
SILENT = {
    "~orch-2.0.dist-info": {},
    "acme_empty.dist-info": {},
    "acme_other-1.0.dist-info": {"METADATA": b"\xff\xfe", "entry_points.txt": b"[console_scripts]\nx\n"},
}


def folder_of(site: Path, damaged: dict[str, dict[str, bytes]]) -> Path:
    """A folder for PYTHONPATH with these distributions, and the module that their entry points name."""
    site.mkdir(parents=True)
    (site / "acme_sound.py").write_text(SOUND)
    for name, files in damaged.items():
        (site / name).mkdir()
        for file, content in files.items():
            (site / name / file).write_bytes(content)
    return site


@pytest.fixture(scope="module")
def damaged_site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    damaged = {
        f"{name}-1.0.dist-info": ({} if facts is None else {"METADATA": facts})
        | {"entry_points.txt": b"[pubench]\n" + points + b"\n"}
        for name, (facts, points, _) in DAMAGED.items()
    }
    return folder_of(tmp_path_factory.mktemp("damaged") / "site", damaged | SILENT)


@pytest.fixture(scope="module")
def rows(damaged_site: Path, pubench_in: Callable[[Path], Run]) -> list[dict[str, Any]]:
    env = {"PYTHONPATH": str(damaged_site)}
    done = pubench_in(damaged_site)("list", "methods", "--format", "json", env=env)
    assert (done.returncode, done.stderr) == (0, "")
    found = json.loads(done.stdout)
    assert isinstance(found, list)
    return found


class TestDamagedDistribution:
    @pytest.mark.parametrize("name", DAMAGED)
    def test_a_damaged_distribution_is_a_row_with_its_reason(self, rows: list[dict[str, Any]], name: str) -> None:
        called = (f"{name}-1.0.dist-info", name.replace("_", "-"))
        (row,) = [row for row in rows if row["package"] in called]
        assert row["status"] == "broken"
        assert DAMAGED[name][2] in row["reason"]
        assert "\n" not in row["reason"]

    def test_everything_else_is_there(self, rows: list[dict[str, Any]]) -> None:
        assert sum(row["status"] == "broken" for row in rows) == len(DAMAGED)
        assert {row["key"] for row in rows if row["status"] == "ok"} >= {"nnpu", "upu", "pn"}

    def test_the_doctor_goes_through(self, pubench: Run, damaged_site: Path) -> None:
        done = pubench("doctor", env={"PYTHONPATH": str(damaged_site)})
        assert (done.returncode, done.stderr) == (0, "")
        keys = re.findall(r"^    pubench doctor (\S+)$", done.stdout, re.MULTILINE)
        assert f", {len(keys)} broken" in done.stdout
        assert len(keys) == len(set(keys))
        # MLflow cannot be imported: it reads the entry points of every distribution itself
        assert len(set(keys) - {"mlflow"}) == len(DAMAGED)

    def test_the_first_of_two_distributions_of_one_name_is_the_one(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As Python imports it: a leftover further down the path claims no key."""
        for folder, version in (("front", "2.0"), ("back", "1.0")):
            facts = f"Name: acme-twice\nVersion: {version}\n".encode()
            site = {f"acme_twice-{version}.dist-info": {"METADATA": facts, "entry_points.txt": b"[pubench]\nt = t\n"}}
            folder_of(tmp_path / folder, site)
        monkeypatch.setattr(sys, "path", [str(tmp_path / "front"), str(tmp_path / "back")])
        points, broken = installed()
        assert [point.dist.version for point in points if point.dist is not None] == ["2.0"]
        assert broken == []


# ---------------------------------------------------------------- what a module raises when it is imported

RAISED = {
    "base": ("class Own(BaseException): pass\nraise Own('gone')", "Own: gone"),
    "cancelled": ("import asyncio\nraise asyncio.CancelledError('no more')", "CancelledError: no more"),
    "generator-exit": ("raise GeneratorExit", "GeneratorExit"),
    "exit": ("import os\nraise SystemExit(3)", "SystemExit: 3"),
    "mute": (
        "class Mute(Exception):\n    def __str__(self): raise RuntimeError('no words')\nraise Mute",
        "Mute (its message cannot be had: RuntimeError)",
    ),
    "mute-and-cancelled": (
        "import asyncio\nclass Mute(Exception):\n    def __str__(self): raise asyncio.CancelledError\nraise Mute",
        "Mute (its message cannot be had: CancelledError)",
    ),
    "number": ("class Odd(Exception):\n    def __str__(self): return 3\nraise Odd", "Odd (its message cannot be had"),
    "group": ("raise BaseExceptionGroup('two', [KeyError('a'), GeneratorExit()])", "BaseExceptionGroup: two"),
    "long": ("raise ValueError('x' * 10**6)", "ValueError: xxx"),
    "deep": ("def f(): f()\nf()", "RecursionError"),
    "memory": ("raise MemoryError", "MemoryError"),
}


@pytest.fixture
def module_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[str], EntryPoint]:
    """``module_of(source)``: the entry point of a module of that source."""
    monkeypatch.syspath_prepend(tmp_path)

    def make(source: str) -> EntryPoint:
        (tmp_path / "acme_raises.py").write_text(source)
        sys.modules.pop("acme_raises", None)
        return EntryPoint("acme-raises", "acme_raises", GROUP)

    return make


@pytest.mark.parametrize("name", RAISED)
class TestRaisedAtImport:
    def test_what_an_entry_point_raises_is_the_reason_in_its_row(
        self, module_of: Callable[[str], EntryPoint], name: str
    ) -> None:
        source, reason = RAISED[name]
        (entry,) = Registry([module_of(source)]).all()
        assert entry.status == "broken"
        assert entry.reason.startswith(reason)
        assert len(entry.reason) < 500
        assert "\n" not in entry.reason
        assert "acme_raises" in entry.traceback

    def test_what_an_implementation_raises_is_one_line(self, module_of: Callable[[str], EntryPoint], name: str) -> None:
        source, reason = RAISED[name]
        module_of(source)
        info = MethodInfo(key="acme", name="A", summary="s", load="acme_raises:Method")
        with pytest.raises(PluginError) as caught:
            load(info)
        assert f"method 'acme' cannot be loaded from acme_raises:Method: {reason}" in str(caught.value)


def test_an_interrupt_stays_an_interrupt(module_of: Callable[[str], EntryPoint]) -> None:
    point = module_of("raise KeyboardInterrupt")
    with pytest.raises(KeyboardInterrupt):
        Registry([point])
    with pytest.raises(KeyboardInterrupt):
        load(MethodInfo(key="acme", name="A", summary="s", load="acme_raises:Method"))
    assert not issubclass(asyncio.CancelledError, Exception)  # why catching Exception was not enough


# ---------------------------------------------------------------- fields of another type than declared

METHOD = {"key": "acme", "name": "A", "summary": "s", "load": "a:b"}
DATASET = METHOD | {"modality": "tabular", "backbone": "mlp"}
DATASET |= {"classes": ("no", "yes"), "positive": (1,), "negative": (0,)}
MECHANISM = METHOD | {"assumption": "SCAR"}
WRONG: list[tuple[type[Any], dict[str, Any], str, Any]] = [
    *((MethodInfo, METHOD, "needs", value) for value in (["truth"], None, "prior", {"truth"}, 3, frozenset({3}))),
    (MethodInfo, METHOD, "needs", frozenset({"labels"})),
    *((MethodInfo, METHOD, "family", value) for value in ([1], None, 3, b"x")),
    *((MethodInfo, METHOD, "reference", value) for value in ("text", 3, ["A"], {"year": 2020})),
    (MethodInfo, METHOD, "reference", Reference(authors="A", title="T", venue="V", year="2020")),  # type: ignore[arg-type]
    *((MethodInfo, METHOD, "aliases", value) for value in (["a"], "a", None, (3,))),
    *((MethodInfo, METHOD, "presets", value) for value in (None, [], {"quick": {"lr": 1}}, {3: None})),
    *((MethodInfo, METHOD, name, value) for name in ("key", "name", "summary", "load") for value in (None, 3, ["a"])),
    (MethodInfo, METHOD, "setting", "three-sample"),
    (MethodInfo, METHOD, "devices", "cpu"),
    *((DatasetInfo, DATASET, "classes", value) for value in (None, ["no", "yes"], "ny", (0, 1))),
    *((DatasetInfo, DATASET, "positive", value) for value in (None, [1], 1, ("1",), (True,), (7,), (-1,))),
    *((DatasetInfo, DATASET, "binarizations", value) for value in (None, {"a": (1, 0)}, {"a": ((1,), (2,))})),
    *((DatasetInfo, DATASET, "modality", value) for value in ("video", None, ["image"])),
    *((MechanismInfo, MECHANISM, "variants", value) for value in (None, "paper", (), (3,))),
    *((MechanismInfo, MECHANISM, "needs_posterior", value) for value in (None, "yes", 1)),
    *((MetricInfo, METHOD, "needs", value) for value in (None, ["truth"], 3)),
    *((MetricInfo, METHOD, "higher_is_better", value) for value in (None, "yes", 1)),
]


class TestFieldsOfAnotherType:
    @pytest.mark.parametrize(("kind", "sound", "field", "value"), WRONG, ids=lambda value: str(value)[:30])
    def test_the_record_cannot_be_made_and_the_field_is_named(
        self, kind: type[Any], sound: dict[str, Any], field: str, value: Any
    ) -> None:
        kind(**sound)
        with pytest.raises((TypeError, ValueError)) as caught:
            kind(**{**sound, field: value})
        word = {"positive": "class", "binarizations": "class", "variants": "variant"}.get(field, field)
        assert field in str(caught.value) or word in str(caught.value)
        assert "\n" not in str(caught.value)

    @pytest.mark.parametrize(
        "how", ["object.__setattr__(made, 'family', [1])", "made = Slack(**{**FACTS, 'needs': None})"]
    )
    def test_one_that_was_made_in_another_way_is_a_row(self, module_of: Callable[[str], EntryPoint], how: str) -> None:
        source = (
            "from pubench_core import MethodInfo, hookimpl\n"
            f"FACTS = {METHOD!r}\n"
            "class Slack(MethodInfo):\n    def __post_init__(self): pass\n"
            f"made = MethodInfo(**FACTS)\n{how}\n"
            "@hookimpl\ndef pubench_methods(): return [made]\n"
        )
        (entry,) = Registry([module_of(source)]).all()
        assert entry.status == "broken"
        assert "of the info 'acme' is" in entry.reason
