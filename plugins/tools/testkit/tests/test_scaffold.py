"""What ``new`` makes works as it is, and what it cannot make leaves nothing behind."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import replace
from importlib.metadata import EntryPoint, entry_points
from pathlib import Path
from typing import Any

import pytest
from printed import Run
from pubench_testkit import scaffold
from pubench_testkit.conformance import CHECKS, Subject
from pubench_testkit.conformance.register import check_one
from pubench_testkit.conformance.subject import SAMPLES
from pubench_testkit.scaffold import LONGEST, Names, create
from refusals import error_line

from pubench_core.engine.resolve_method import method_class
from pubench_core.errors import PubenchError, RequestError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import GROUP, Registry

ROOT = Path(__file__).parents[4]
ALL = scaffold.templates()
METHODS = [each for each in ALL if each.kind == "method"]
#: Shortest and longest, one with a number in front, and words that mean something in Python or in a template.
LONG = ("m" * LONGEST, "-".join("abcdefghijklmnopqrst")[:LONGEST])
KEYS = ("my-thing", "a1", "x-y-z", "i", "3net", "run", "field", "replace", "print", "tensor", *LONG)


def key_of(template: scaffold.Template) -> str:
    return "-".join(["made", template.kind, template.template, template.family]).strip("-")


def made(template: scaffold.Template, key: str, folder: Path) -> Path:
    """A package from a template, next to others in a folder."""
    options = {"template": template.template or None, "family": template.family or None}
    create(template.kind, key, path=folder, in_repo=False, **options)
    return folder / key


@pytest.fixture(scope="module")
def packages(tmp_path_factory: pytest.TempPathFactory) -> Iterator[dict[str, Path]]:
    """Key -> package of every template; they can be imported as if they were installed, in processes to come too."""
    folder, site = tmp_path_factory.mktemp("made"), tmp_path_factory.mktemp("site")
    found = {key_of(each): made(each, key_of(each), folder) for each in ALL}
    for key, package in found.items():
        name = Names.of(key).package
        (site / name).symlink_to(package / "src" / name)
        facts = site / f"{name}-1.0.0.dist-info"
        facts.mkdir()
        (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: pubench-{key}\nVersion: 1.0.0\n")
        group = "pubench.tools" if "command" in key else "pubench"
        (facts / "entry_points.txt").write_text(f"[{group}]\n{key} = {name}\n")
    before = os.environ.get("PYTHONPATH")
    os.environ["PYTHONPATH"] = str(site)
    sys.path.insert(0, str(site))
    yield found
    sys.path.remove(str(site))
    if before is None:
        del os.environ["PYTHONPATH"]
    else:
        os.environ["PYTHONPATH"] = before


@pytest.fixture(scope="module")
def plugins(packages: dict[str, Path]) -> Registry:
    ours = [EntryPoint(key, Names.of(key).package, GROUP) for key in packages if "command" not in key]
    others = (point for point in entry_points(group=GROUP) if point.name not in packages)
    return Registry([*others, SAMPLES, *ours])


# -------------------------------------------------------------------- what is made


@pytest.mark.parametrize(
    ("template", "family", "found"),
    [
        (None, None, ("network", "risk")),
        ("network", None, ("network", "risk")),
        ("two-stage", None, ("two-stage", "disambiguation")),
        ("trees", None, ("trees", "risk")),
        (None, "risk", ("network", "risk")),
        (None, "disambiguation", ("network", "disambiguation")),
        (None, "generative", ("network", "generative")),
        ("two-stage", "risk", ("two-stage", "risk")),
    ],
)
def test_what_is_not_said_is_the_default(template: str | None, family: str | None, found: tuple[str, str]) -> None:
    chosen = scaffold.find("method", template, family)
    assert (chosen.template, chosen.family) == found


@pytest.mark.parametrize("template", METHODS, ids=key_of)
def test_a_method_passes_every_check(template: scaffold.Template, plugins: Registry) -> None:
    subject = Subject(plugins.find(MethodInfo, key_of(template)), plugins)
    known = method_class(subject.info).Config.model_fields
    sets = ("backbone.key=mlp-wang", *(f"{name}=1" for name in ("epochs", "warm_up") if name in known))
    short = replace(subject, sets=sets)  # batches of 4,096 rows: a network of one layer shows as much
    findings = [check_one(short if check == "small-batches" else subject, check) for check in CHECKS]
    assert {f.check: f.reason for f in findings if f.verdict not in ("passed", "not applicable")} == {}
    assert sum(f.verdict == "passed" for f in findings) > 20


def test_its_own_tests_pass_wherever_it_lies(packages: dict[str, Path], tmp_path: Path) -> None:
    """Those of the conformance checks apart, which the test before this one makes."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-W", "error"]
    options = ["-c", os.devnull, "-k", "not conforms", "--junit-xml", str(tmp_path / "report.xml")]
    done = subprocess.run(
        [*command, *options, *map(str, packages.values())], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout
    report = (tmp_path / "report.xml").read_text()
    for package in packages.values():
        for test in package.glob("tests/test_*.py"):
            assert f".{test.stem}" in report
    assert 'skipped="0"' in report


@pytest.fixture(scope="module")
def of_many_keys(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a package of every template and every kind of key."""
    folder = tmp_path_factory.mktemp("keys")
    for template in ALL:
        taken = {"run"} if template.kind == "command" else set()  # a command of ours
        for key in (key for key in KEYS if key not in taken):
            made(template, key, folder / key_of(template))
    return folder


@pytest.mark.parametrize("config", [("--config", str(ROOT / "pyproject.toml")), ()], ids=["repository's", "its own"])
@pytest.mark.parametrize("check", [("check",), ("format", "--check")], ids=["lint", "format"])
def test_whatever_the_key_it_is_clean_by_ruff(of_many_keys: Path, check: list[str], config: list[str]) -> None:
    command = [sys.executable, "-m", "ruff", *check, "--no-cache", *config, str(of_many_keys)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout


def test_types_are_right_by_mypy(packages: dict[str, Path]) -> None:
    sources = [str(source) for package in packages.values() for source in package.glob("src/*")]
    env = {**os.environ, "MYPYPATH": os.pathsep.join(str(package / "src") for package in packages.values())}
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", *sources],
        cwd=ROOT,
        env=env,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout


def test_a_method_is_short_and_says_what_to_replace(packages: dict[str, Path]) -> None:
    for template in METHODS:
        package = packages[key_of(template)]
        text = next(package.glob("src/*/method.py")).read_text()
        body = text[text.index("class Config") :].splitlines()
        assert len([line for line in body if line.strip()]) <= 70
        assert text.count("eplace") >= 3
        assert "vectors.json" in "".join(path.read_text() for path in package.glob("tests/test_*.py"))


def test_the_bound_on_core_is_its_major_version(packages: dict[str, Path]) -> None:
    for package in packages.values():
        text = (package / "pyproject.toml").read_text()
        assert re.search(r'"pubench-core(\[train\])?>=1.0,<2"', text)
        assert "workspace" not in text


# -------------------------------------------------------------------- what is printed


def printed(done: subprocess.CompletedProcess[str]) -> list[list[str]]:
    """The words of the three commands at the end."""
    assert (done.returncode, done.stderr) == (0, "")
    return [shlex.split(line) for line in done.stdout.splitlines()[-3:]]


@pytest.mark.parametrize(
    ("kind", "second", "third"),
    [
        ("method", "run --method my-key --data digits", "check my-key"),
        ("dataset", "run --method nnpu --data my-key --c 0.5", "info my-key"),
        ("mechanism", "run --method nnpu --data digits --mech my-key", "info my-key"),
        ("metric", "run --method nnpu --data digits --select my-key", "info my-key"),
    ],
)
def test_the_last_three_lines_are_the_next_commands(
    pubench: Run, tmp_path: Path, kind: str, second: str, third: str
) -> None:
    install, *trials = printed(pubench("new", kind, "my-key", "--path", "a folder/below"))
    assert install[-2:] == ["-e", "./a folder/below/my-key"]
    assert (tmp_path / install[-1] / "pyproject.toml").is_file()
    assert [" ".join(words[1:]) for words in trials] == [second, third]
    for words in trials:
        assert shutil.which(words[0]) is not None


def test_installing_is_done_with_what_is_there(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    folder, here = tmp_path / "it", sys.executable
    on_path: dict[str, str] = {}
    with_pip = {"pip"}
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("VIRTUAL_ENV", raising=False)
    monkeypatch.setattr(sys, "prefix", str(tmp_path / "env"))
    monkeypatch.setattr(sys, "executable", str(tmp_path / "env" / "bin" / "python"))
    monkeypatch.setattr(scaffold.shutil, "which", on_path.get)
    monkeypatch.setattr(scaffold.importlib.util, "find_spec", lambda name: name in with_pip or None)
    python = tmp_path / "env" / "bin" / "python"
    python.parent.mkdir(parents=True)
    python.symlink_to(here)
    assert scaffold.install(folder) == f"{python} -m pip install -e ./it"
    on_path["python"] = str(python)
    assert scaffold.install(folder) == "python -m pip install -e ./it"
    on_path["uv"] = "/usr/bin/uv"
    assert scaffold.install(folder) == f"uv pip install --python {python} -e ./it"
    monkeypatch.setenv("VIRTUAL_ENV", str(tmp_path / "env"))
    assert scaffold.install(folder) == "uv pip install -e ./it"
    del on_path["uv"]
    with_pip.clear()
    assert scaffold.install(folder) == "python -m ensurepip && python -m pip install -e ./it"
    assert scaffold.install(Path("/else where/it")).endswith("install -e '/else where/it'")


@pytest.mark.parametrize("command", ["new", "new-method"])
def test_the_example_of_the_help_works(pubench: Run, tmp_path: Path, command: str) -> None:
    text = " ".join(pubench(command, "--help").stdout.split())
    example = text.split("Example: pubench ", 1)[1].split()
    assert pubench(*example).returncode == 0
    assert list(tmp_path.rglob("pyproject.toml"))


# -------------------------------------------------------------------- what cannot be made


@pytest.mark.parametrize(
    ("kind", "key", "said"),
    [
        ("method", "nnpu", "'nnpu' is taken by the method 'nnpu' of pubench-nnpu"),
        ("method", "ted-n", "'ted-n' is taken by the method 'mpe-pu'"),  # an alias
        ("method", "digits", "'digits' is taken by the dataset 'digits'"),
        ("dataset", "digits", "'digits' is taken by the dataset 'digits'"),
        ("mechanism", "s1", "'s1' is taken by the mechanism 'scar'"),
        ("metric", "f1", "'f1' is taken by the metric 'f1'"),
        ("method", "My_Method", "'My_Method' is not a valid key; expected lower-case letters and digits"),
        ("method", "a--b", "'a--b' is not a valid key"),
        ("method", "ünder", "'ünder' is not a valid key"),
        ("method", "../up", "'../up' is not a valid key"),
        ("method", "", "'' is not a valid key"),
        ("method", "m" * 41, "has 41 characters; expected at most 40"),
        ("method", "class", "'class' is a keyword of Python"),
        ("metric", "none", "'none' is a keyword of Python"),
        ("method", "core", "pubench_core would shadow the module of this name"),
        ("dataset", "cli", "pubench_cli would shadow the module of this name"),
    ],
)
def test_a_bad_name_is_refused_in_one_line_with_nothing_written(
    pubench_within: Run, tmp_path: Path, kind: str, key: str, said: str
) -> None:
    assert said in error_line(pubench_within("new", kind, "--", key))
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (("--template", "trees", "--family", "generative"), "template 'trees' has no family 'generative'"),
        (("--template", "forest"), "unknown template 'forest'"),
        (("--family", "risky"), "unknown family 'risky'; did you mean 'risk'?"),
        (("--family", "risk", "--path", "a-file"), "is a file"),
        (("--path", "a-file/below"), "cannot be written: not a directory"),
        (("--in-repo",), "is not in a checkout of pubench"),
        (("--in-repo", "--path", "here"), "--in-repo and --path both say where"),
        (("--path", "there"), "there/my-key exists already"),
    ],
)
def test_what_cannot_be_is_refused_in_one_line_with_nothing_written(
    pubench_within: Run, tmp_path: Path, options: tuple[str, ...], said: str
) -> None:
    (tmp_path / "a-file").touch()
    (tmp_path / "there" / "my-key").mkdir(parents=True)
    before = sorted(tmp_path.rglob("*"))
    assert said in error_line(pubench_within("new-method", "my-key", *options))
    assert sorted(tmp_path.rglob("*")) == before


def test_only_a_method_has_families(pubench_within: Run, tmp_path: Path) -> None:
    line = error_line(pubench_within("new", "dataset", "my-key", "--family", "risk"))
    assert line == "error: --template and --family are for a method; a dataset has one template, leave them out"
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("failure", "raised"),
    [
        (PermissionError(13, "Permission denied"), RequestError),
        (OSError(28, "No space left on device"), RequestError),
        (KeyboardInterrupt(), KeyboardInterrupt),
    ],
)
@pytest.mark.parametrize("at", ["mkdir", "write_bytes", "rename"])
def test_nothing_half_made_stays(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, at: str, failure: BaseException, raised: type[BaseException]
) -> None:
    real, calls = getattr(Path, at), []

    def failing(path: Path, *rest: Any, **more: Any) -> Any:
        calls.append(path)
        if len(calls) == (1 if at == "rename" else 4):  # some of it has been done
            raise failure
        return real(path, *rest, **more)

    monkeypatch.setattr(Path, at, failing)
    with pytest.raises(raised) as caught:
        create("method", "my-key", path=tmp_path / "new" / "folder", in_repo=False)
    assert len(calls) >= 1
    assert not list(tmp_path.iterdir())
    if raised is RequestError:
        assert "my-key cannot be written" in str(caught.value)


# -------------------------------------------------------------------- in a checkout


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    """What of this repository decides which packages belong to it."""
    root = tmp_path / "checkout"
    manifests = (*ROOT.glob("pubench_*/pyproject.toml"), *ROOT.glob("plugins/*/*/pyproject.toml"))
    files = [ROOT / "pyproject.toml", ROOT / "LICENSE", ROOT / "README.md", ROOT / ".ci" / "metadata.py", *manifests]
    files += [folder / name for folder in (m.parent for m in manifests) for name in ("README.md", "LICENSE")]
    files += [path for m in manifests for path in m.parent.glob("src/*/py.typed")]
    for file in files:
        copy = root / file.relative_to(ROOT)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    for manifest in manifests:
        (root / manifest.relative_to(ROOT)).with_name("tests").mkdir()
    subprocess.run([sys.executable, ".ci/metadata.py"], cwd=root, capture_output=True, check=True)
    return root


def metadata(root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, ".ci/metadata.py", "--check"]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)


@pytest.mark.parametrize("kind", ["method", "dataset", "mechanism", "metric"])
def test_a_package_in_a_checkout_goes_where_its_kind_is_and_the_root_knows_it(
    pubench_in: Callable[[Path], Run], checkout: Path, kind: str
) -> None:
    install, *trials = printed(pubench_in(checkout / "plugins")("new", kind, "my-key", "--in-repo"))
    assert install == ["make", "-C", str(checkout), "setup"]
    assert all(words[0] == str(checkout / ".venv" / "bin" / "pubench") for words in trials)
    assert (checkout / "plugins" / f"{kind}s" / "my-key" / "src" / "pubench_my_key" / "__init__.py").is_file()
    root = (checkout / "pyproject.toml").read_text()
    assert '"pubench-my-key>=1.0,<2"' in root
    assert "pubench-my-key = { workspace = true }" in root
    assert (metadata(checkout).returncode, metadata(checkout).stdout) == (0, "")
    member = (checkout / "plugins" / f"{kind}s" / "my-key" / "pyproject.toml").read_text()
    assert "[tool.ruff" not in member  # those of the root hold
    assert "[tool.mypy" not in member


def test_what_a_checkout_has_already_is_refused(pubench_in: Callable[[Path], Run], checkout: Path) -> None:
    run = pubench_in(checkout)
    assert run("new-method", "my-key", "--in-repo").returncode == 0
    for kind in ("method", "dataset"):
        line = error_line(run("new", kind, "my-key", "--in-repo"))
        assert "plugins/methods/my-key is called pubench-my-key already" in line


def test_a_checkout_is_as_before_where_its_script_fails(
    monkeypatch: pytest.MonkeyPatch, checkout: Path, tmp_path: Path
) -> None:
    script = checkout / ".ci" / "metadata.py"
    script.write_text("import pathlib, sys\npathlib.Path('pyproject.toml').write_text('')\nsys.exit('it is broken')\n")
    before = {path: path.is_file() and path.read_bytes() for path in checkout.rglob("*")}
    monkeypatch.chdir(checkout)
    with pytest.raises(PubenchError, match=r"metadata\.py of .* failed: it is broken; nothing was written"):
        create("method", "my-key", path=None, in_repo=True)
    assert {path: path.is_file() and path.read_bytes() for path in checkout.rglob("*")} == before


def test_vectors_say_how_they_were_worked_out(packages: dict[str, Path]) -> None:
    for template in METHODS:
        stored = json.loads((packages[key_of(template)] / "tests" / "vectors.json").read_text())
        groups = stored.values() if isinstance(stored, dict) else [stored]
        cases = [case for group in groups for case in group]
        assert cases
        assert all(case["by_hand"] and case["name"] for case in cases)
