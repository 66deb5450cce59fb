"""One broken plugin breaks nothing but itself, and says in its own row what is wrong with it."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from importlib.metadata import distributions, version
from pathlib import Path

import pytest
from packaging.requirements import Requirement

from pubench_core.errors import Hint, PluginError, RequestError
from pubench_core.plugins.info import DatasetInfo, MethodInfo, MetricInfo
from pubench_core.plugins.registry import GROUP, Entry, Registry, _unmet, load

Install = Callable[..., None]
Discover = Callable[[], Registry]

HEAD = "from pubench_core import DatasetInfo, MethodInfo, MetricInfo, hookimpl\n"


def method(key: str, *aliases: str) -> str:
    return f'MethodInfo(key="{key}", name="M", summary="s", load="somewhere:M", aliases={aliases})'


def offering(*infos: str, hook: str = "pubench_methods") -> str:
    """The source of a plugin whose hook returns these infos."""
    return f"{HEAD}\n@hookimpl\ndef {hook}():\n    return [{', '.join(infos)}]\n"


def returning(expression: str) -> str:
    return f"{HEAD}\n@hookimpl\ndef pubench_methods():\n    return {expression}\n"


@pytest.fixture
def installed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder of distributions that exist for one test."""
    monkeypatch.syspath_prepend(tmp_path)
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        if str(getattr(sys.modules[name], "__file__", None)).startswith(str(tmp_path)):
            del sys.modules[name]


@pytest.fixture
def install(installed: Path) -> Install:
    """``install(name, source)``: a distribution pubench-NAME 1.0 whose entry point NAME is a module of that source."""

    def install(name: str, source: str | None, version: str = "1.0", requires: tuple[str, ...] = ()) -> None:
        folder = installed / f"pubench_{name}-{version}.dist-info"
        folder.mkdir()
        asked = "".join(f"Requires-Dist: {text}\n" for text in requires)
        (folder / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pubench-{name}\nVersion: {version}\n{asked}")
        (folder / "entry_points.txt").write_text(f"[{GROUP}]\n{name} = toy_{name}\n")
        if source is not None:
            (installed / f"toy_{name}.py").write_text(source)

    return install


@pytest.fixture
def discover(installed: Path) -> Discover:
    def discover() -> Registry:
        return Registry([p for d in distributions(path=[str(installed)]) for p in d.entry_points if p.group == GROUP])

    return discover


def row(registry: Registry, distribution: str) -> Entry:
    (entry,) = [e for e in registry.all() if e.distribution == distribution]
    return entry


# ---------------------------------------------------------------- plugins that work


def test_a_plugin_is_found_by_key_and_by_alias(install: Install, discover: Discover) -> None:
    install("good", offering(method("good", "fine", "well")))
    registry = discover()
    entry = row(registry, "pubench-good")
    assert (entry.key, entry.kind, entry.version, entry.status) == ("good", "method", "1.0", "ok")
    assert {registry.find(MethodInfo, key).key for key in ("good", "fine", "well")} == {"good"}
    assert registry.provider(registry.find(MethodInfo, "fine")) is entry


def test_a_module_with_a_lifecycle_hook_listens(install: Install, discover: Discover) -> None:
    install("ears", "from pubench_core import hookimpl\n\n@hookimpl\ndef pubench_run_started(event):\n    pass\n")
    install("good", offering(method("good")))
    assert [module.__name__ for module in discover().listeners] == ["toy_ears"]


# ---------------------------------------------------------------- plugins that do not

BROKEN = {
    "raises": ("1 / 0\n", "ZeroDivisionError: division by zero"),
    "syntax": ("def pubench_methods(:\n", "SyntaxError"),
    "needs": ("import a_package_that_is_not_installed\n", "ModuleNotFoundError: No module named 'a_package_that"),
    "exits": ("import sys\nsys.exit('I leave')\n", "SystemExit: I leave"),
    "absent": (None, "ModuleNotFoundError: No module named 'toy_absent'"),
    "silent": ("x = 1\n", "implements no pubench hook"),
    "unmarked": (returning("[]").replace("@hookimpl\n", ""), "implements no pubench hook"),
    "nothing": (returning("None"), "pubench_methods returned NoneType; it must return a list of MethodInfo"),
    "tuple": (returning(f"({method('m')},)"), "pubench_methods returned tuple"),
    "single": (returning(method("m")), "pubench_methods returned MethodInfo; it must return a list"),
    "strings": (returning("['m']"), "returned a list with 'm'; every item must be a MethodInfo"),
    "mixed": (returning(f"[{method('m')}, 3]"), "returned a list with 3"),
    "kind": (
        returning('[MetricInfo(key="m", name="M", summary="s", load="a:b")]'),
        "every item must be a MethodInfo",
    ),
    "inside": (returning("[1 / 0]"), "ZeroDivisionError"),
    "key": (returning(f"[{method('Not_A_Key')}]"), "'Not_A_Key' must be lower-case"),
    "long": (returning(f"[{method('k' * 300)}]"), "must have at most 64 characters, got 300"),
    "load": (returning(f"[{method('m')}]").replace("somewhere:M", "somewhere"), "must read 'package.module:attribute'"),
    "typo": (returning("[]").replace("pubench_methods", "pubench_method"), "did you mean 'pubench_methods'?"),
    "argument": (returning("[]").replace("()", "(extra)", 1), "PluginValidationError"),
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_plugin_is_a_row_with_the_reason_and_the_rest_works(
    install: Install, discover: Discover, name: str
) -> None:
    source, reason = BROKEN[name]
    install(name, source, version="2.5")
    install("another", offering(method("another")))
    install("zebra", offering(method("zebra")))
    registry = discover()
    entry = row(registry, f"pubench-{name}")
    assert (entry.key, entry.kind, entry.info, entry.version, entry.status) == (name, None, None, "2.5", "broken")
    assert reason in entry.reason
    assert "\n" not in entry.reason
    assert entry.traceback.startswith("Traceback")
    assert [info.key for info in registry.infos(MethodInfo)] == ["another", "zebra"]
    assert registry.listeners == []


def test_a_plugin_of_which_one_hook_is_broken_offers_nothing(install: Install, discover: Discover) -> None:
    install("half", offering(method("m")) + "\n@hookimpl\ndef pubench_datasets():\n    return 7\n")
    registry = discover()
    assert registry.infos(MethodInfo) == []
    assert "pubench_datasets returned int" in row(registry, "pubench-half").reason


def test_a_broken_plugin_is_in_the_listing_of_every_kind_after_what_works(install: Install, discover: Discover) -> None:
    install("broken", "1 / 0\n")
    install("good", offering(method("good")))
    registry = discover()
    assert [e.key for e in registry.entries("method")] == ["good", "broken"]
    assert [e.key for e in registry.entries("dataset")] == ["broken"]


def test_an_unknown_key_is_refused_with_the_nearest_spelling(install: Install, discover: Discover) -> None:
    install("good", offering(method("nnpu"), method("upu"), method("robust-pu")))
    install("broken", "1 / 0\n")
    registry = discover()
    with pytest.raises(RequestError) as refusal:
        registry.find(MethodInfo, "nnpuu")
    assert str(refusal.value) == "unknown method 'nnpuu'; did you mean 'nnpu'?"
    assert refusal.value.hint == Hint("list", "method")
    with pytest.raises(RequestError, match="did you mean 'robust-pu'"):
        registry.find(MethodInfo, "Robust_PU")
    with pytest.raises(RequestError, match="known: nnpu, robust-pu, upu"):
        registry.find(MethodInfo, "xyzzy")
    with pytest.raises(RequestError, match="unknown dataset 'mnist'; there is none"):
        registry.find(DatasetInfo, "mnist")


# ---------------------------------------------------------------- plugins made for another core

CORE = version("pubench-core")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ("pubench-core<1002,>=1001", f"made for pubench-core >=1001,<1002; {CORE} is installed"),
        ("pubench-core>=1001", f"made for pubench-core >=1001; {CORE} is installed"),
        ("Pubench_Core (<0.0.1)", f"made for pubench-core <0.0.1; {CORE} is installed"),
        ("pubench-core[test]!=0.*,<1", f"made for pubench-core !=0.*,<1; {CORE} is installed"),
        ("pubench-core>>2", "its metadata ask for 'pubench-core>>2', which is not a requirement"),
    ],
)
def test_a_plugin_for_another_core_is_a_row_and_is_not_imported(
    install: Install, discover: Discover, asked: str, words: str
) -> None:
    install("other", offering(method("m")), requires=("numpy>=1000", asked))
    install("good", offering(method("good")))
    registry = discover()
    entry = row(registry, "pubench-other")
    assert (entry.status, entry.reason, entry.key, entry.kind) == ("broken", words, "other", None)
    assert "toy_other" not in sys.modules
    assert [info.key for info in registry.infos(MethodInfo)] == ["good"]
    with pytest.raises(PluginError, match="is broken: "):
        registry.find(MethodInfo, "other")


@pytest.mark.parametrize(
    "asked",
    [
        (),
        ("pubench-core",),
        (f"pubench-core>={CORE}",),
        ("pubench-core<1000,>=0.0.1", "numpy>=1000"),  # what else is asked for is the installer's affair
        ("pubench-core-of-mine>=1000",),
        ("pubench-core>=1000; extra == 'next'",),
        ("pubench-core>=1000; python_version < '3'",),
    ],
)
def test_a_plugin_made_for_this_core_works(install: Install, discover: Discover, asked: tuple[str, ...]) -> None:
    install("good", offering(method("good")), requires=asked)
    assert discover().find(MethodInfo, "good").key == "good"


@pytest.mark.parametrize("core", ["0.1", "0.1.0", "0.9.10", "0.10", "1.0.0", "1.0rc1", "2.0.dev3", "10.2"])
@pytest.mark.parametrize(
    "bounds",
    [
        "",
        "<1,>=0.1",
        "<1,>=0.1.0",
        "(>=0.1, <1)",
        "<0.1.0",
        ">=0.10",
        "<0.9.11,>=0.9",
        ">=1.0",
        "<1.0.0",
        ">=1rc1",
        "[train]<1,>=0.1",
    ],
)
def test_the_quick_reading_of_bounds_agrees_with_the_full_one(core: str, bounds: str) -> None:
    met = Requirement(f"pubench-core{bounds}").specifier.contains(core, prereleases=True)
    assert (_unmet(f"pubench-core{bounds}", core) == "") == met


def test_where_core_is_on_the_path_without_metadata_nothing_is_compared(
    install: Install, discover: Discover, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pubench_core.plugins.registry._core_version", lambda: None)
    install("good", offering(method("good")), requires=("pubench-core>=1001",))
    assert discover().find(MethodInfo, "good").key == "good"


# ---------------------------------------------------------------- what a metric says of itself


def metric_info(**fields: object) -> MetricInfo:
    return MetricInfo(key="m", name="M", summary="s", load="a:b", **fields)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("fields", "words"),
    [
        ({"assumes": {"luck"}}, r"assumes of .* is frozenset\(\{'luck'\}\), expected .*'prior', 'SCAR'"),
        ({"needs": {"labels"}}, r"needs of .* is frozenset\(\{'labels'\}\), expected .*'truth', 'labeled'"),
        ({"needs": {"labeled", "prior"}, "assumes": {"SCAR"}}, "reads the prior and must say that it assumes it"),
    ],
)
def test_what_a_metric_cannot_say_is_refused(fields: dict[str, set[str]], words: str) -> None:
    with pytest.raises((TypeError, ValueError), match=words):
        metric_info(**{name: frozenset(values) for name, values in fields.items()})


# ---------------------------------------------------------------- keys that two claim


@pytest.mark.parametrize(
    ("first", "second", "shared"),
    [
        (method("same"), method("same"), "same"),
        (method("one", "same"), method("same"), "same"),
        (method("one", "same"), method("two", "same"), "same"),
    ],
    ids=["key and key", "alias and key", "alias and alias"],
)
def test_a_key_of_two_plugins_is_usable_from_neither_and_names_both(
    install: Install, discover: Discover, first: str, second: str, shared: str
) -> None:
    install("left", offering(first), version="1.1")
    install("right", offering(second), version="2.2")
    install("other", offering(method("other")))
    registry = discover()
    left, right = row(registry, "pubench-left"), row(registry, "pubench-right")
    assert (left.status, right.status) == ("broken", "broken")
    assert left.reason == f"'{shared}' is also claimed by pubench-right 2.2"
    assert right.reason == f"'{shared}' is also claimed by pubench-left 1.1"
    with pytest.raises(PluginError, match=f"'{shared}' is also claimed by"):
        registry.find(MethodInfo, shared)
    assert [info.key for info in registry.infos(MethodInfo)] == ["other"]
    assert registry.find(MethodInfo, "other").key == "other"


def test_three_claims_to_a_key_name_each_other(install: Install, discover: Discover) -> None:
    for name in ("a", "b", "c"):
        install(name, offering(method("same")))
    reason = row(discover(), "pubench-b").reason
    assert "pubench-a" in reason
    assert "pubench-c" in reason
    assert "pubench-b" not in reason


def test_a_plugin_that_claims_its_own_key_twice_is_refused(install: Install, discover: Discover) -> None:
    install("twice", offering(method("same"), method("same")))
    registry = discover()
    assert registry.infos(MethodInfo) == []
    assert {e.status for e in registry.all()} == {"broken"}


def test_an_alias_may_repeat_its_own_key(install: Install, discover: Discover) -> None:
    install("echo", offering(method("echo", "echo")))
    assert discover().find(MethodInfo, "echo").key == "echo"


def test_things_of_different_kinds_may_share_a_key(install: Install, discover: Discover) -> None:
    install("left", offering(method("same")))
    metric = 'MetricInfo(key="same", name="M", summary="s", load="a:b")'
    install("right", offering(metric, hook="pubench_metrics"))
    registry = discover()
    assert registry.find(MethodInfo, "same").kind == "method"
    assert registry.find(MetricInfo, "same").kind == "metric"
    assert {e.kind for e in registry.named("same")} == {"method", "metric"}


def test_a_key_may_be_that_of_a_broken_plugins_entry_point(install: Install, discover: Discover) -> None:
    install("same", "1 / 0\n")
    install("works", offering(method("same")))
    assert discover().find(MethodInfo, "same").key == "same"


# ---------------------------------------------------------------- implementations


def info_of(target: str) -> MethodInfo:
    return MethodInfo(key="m", name="M", summary="s", load=target)


def test_an_implementation_is_what_its_import_string_names(installed: Path) -> None:
    (installed / "toy_code.py").write_text("class M:\n    pass\n")
    assert load(info_of("toy_code:M")) is sys.modules["toy_code"].M
