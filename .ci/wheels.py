"""Builds every distribution of this repository, and tries the wheels as somebody who has only them.

    .venv/bin/python .ci/wheels.py [--dist dist] [--uv uv]

1. A source distribution of each, and a wheel from that; their metadata are valid and they hold what they must.
2. In an environment of its own, outside the checkout: the command line with one method. It lists that method and runs
   it on an embedded data set. A second method adds its row, and takes it along when it is uninstalled; one made for
   another major version of core says so, and nothing else changes.
3. There, the tools that read records: they check that record and build a board of it.
4. In three more environments: core alone, which has no command and imports no torch; evaluation and reports, which
   judge a table of scores and make pages of that record, without torch and in less than 300 MB; and everything, where
   no plugin and no tool is broken.

The versions of other packages are the root's pins. Ends with exit code 1 and a line at the first thing that is wrong.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import time
import tomllib
import zipfile
from pathlib import Path
from typing import Any

from metadata import distributions, packages_of, project_of
from packaging.metadata import Metadata
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name, parse_sdist_filename, parse_wheel_filename

ROOT = Path(__file__).resolve().parent.parent
METHOD, SECOND = "nnpu", "upu"
KINDS = ("methods", "datasets", "mechanisms", "metrics", "priors", "backbones", "sinks")
#: Bytes that evaluation and reports may take.
LIGHT = 300e6
Rows = dict[str, list[dict[str, Any]]]


def require(condition: object, fault: str) -> None:
    """Ends the program with one line unless the condition holds."""
    if not condition:
        raise SystemExit(f"error: {fault}")


class Steps:
    """Commands one after the other, each printed with its seconds; one that fails ends the program."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        #: What the machine's user has set for Python or pubench is not there.
        self.env = {
            k: v for k, v in os.environ.items() if not k.startswith(("PYTHON", "PUBENCH", "VIRTUAL_ENV", "UV_"))
        }

    def run(self, *command: str | Path, fails: bool = False) -> str:
        """Runs a command and returns its output. ``fails``: it must end with an exit code other than 0."""
        words = [str(word) for word in command]
        start = time.perf_counter()
        done = subprocess.run(words, cwd=self.folder, env=self.env, capture_output=True, text=True)
        shown = " ".join(Path(word).name if word.startswith("/") else word for word in words)
        print(f"{time.perf_counter() - start:6.1f} s  {shown[:150]}", flush=True)
        wrong = (done.returncode == 0) if fails else (done.returncode != 0)
        require(not wrong, f"exit code {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + (done.stderr if fails else "")


def build(uv: str, dist: Path) -> None:
    """A source distribution and a wheel of everything into ``dist``, the wheel from the source distribution."""
    shutil.rmtree(dist, ignore_errors=True)
    Steps(ROOT).run(uv, "build", "--quiet", "--all-packages", "--out-dir", dist)


def check_built(dist: Path) -> None:
    """Every distribution is there twice, with valid metadata and its files."""
    folders = {project_of(folder)["name"]: folder for folder in (ROOT, *distributions(ROOT))}
    wheels = {parse_wheel_filename(path.name)[0]: path for path in dist.glob("*.whl")}
    sources = {parse_sdist_filename(path.name)[0]: path for path in dist.glob("*.tar.gz")}
    require(set(wheels) == set(folders) == set(sources), f"built {sorted(wheels)}, of {sorted(folders)}")
    for name, folder in folders.items():
        packages = [] if folder == ROOT else packages_of(folder)
        with zipfile.ZipFile(wheels[canonicalize_name(name)]) as wheel:
            files = wheel.namelist()
            text = wheel.read(next(file for file in files if file.endswith(".dist-info/METADATA")))
        check_metadata(name, text)
        require(any(file.endswith("licenses/LICENSE") for file in files), f"the wheel of {name} has no LICENSE")
        roots = {file.split("/")[0] for file in files if ".dist-info" not in file}
        require(roots == {package.name for package in packages}, f"the wheel of {name} holds {sorted(roots)}")
        for package in packages:
            require(f"{package.name}/py.typed" in files, f"the wheel of {name} has no {package.name}/py.typed")
        with tarfile.open(sources[canonicalize_name(name)]) as source:
            held = {member.name.partition("/")[2] for member in source.getmembers()}
            info = source.extractfile(
                next(member for member in source.getmembers() if member.name.endswith("PKG-INFO"))
            )
            require(info is not None and info.read() == text, f"the two distributions of {name} have other metadata")
        wanted = {"pyproject.toml", "README.md", "LICENSE", *(f"src/{p.name}/py.typed" for p in packages)}
        require(wanted <= held, f"the source distribution of {name} lacks {sorted(wanted - held)}")
        require(not packages or any(file.startswith("tests/") for file in held), f"that of {name} has no tests")
    print(f"          {len(folders)} distributions: metadata valid, files there")


def check_metadata(name: str, text: bytes) -> None:
    """Checks that a package index takes them, and the bounds on first-party packages; ``metadata.py`` has the rest."""
    for requirement in Metadata.from_email(text, validate=True).requires_dist or []:
        if requirement.name.startswith("pubench-"):
            require(len(requirement.specifier) == 2, f"{name} asks for {requirement} without two bounds")


class Environment(Steps):
    """A new environment in a folder of its own, that takes first-party packages from ``dist`` alone."""

    def __init__(self, uv: str, dist: Path, folder: Path) -> None:
        super().__init__(folder)
        self.uv, self.dist, self.python = uv, dist, folder / "env" / "bin" / "python"
        self.pins = folder / "pins.txt"
        tools = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]
        self.pins.write_text("\n".join(tools["constraint-dependencies"]) + "\n")
        self.run(uv, "venv", "--quiet", "--python", sys.executable, folder / "env")

    def install(self, *what: str | Path) -> None:
        """Wheels by name, with all they ask for. uv would take those of an earlier build, of the same version."""
        ours = (project_of(folder)["name"] for folder in distributions(ROOT))
        more = [word for name in ours for word in ("--refresh-package", str(name))]
        places = ("--find-links", self.dist, "--constraint", self.pins)
        self.run(self.uv, "pip", "install", "--quiet", "--python", self.python, *places, *what, *more)

    def uninstall(self, name: str) -> None:
        """Takes one distribution out."""
        self.run(self.uv, "pip", "uninstall", "--quiet", "--python", self.python, name)

    def pubench(self, *arguments: str, fails: bool = False) -> str:
        """The installed command."""
        return self.run(self.python.with_name("pubench"), *arguments, fails=fails)

    def rows(self) -> Rows:
        """Rows of every listing, by kind."""
        return {kind: json.loads(self.pubench("list", kind, "--format", "json")) for kind in KINDS}


def for_another_core(uv: str, scratch: Path) -> Path:
    """The wheel of the second method as it would be for the next major version of core."""
    folder = scratch / "later"
    method = next(path for path in distributions(ROOT) if path.name == SECOND)
    shutil.copytree(method, folder, ignore=shutil.ignore_patterns("__pycache__"))
    text = (folder / "pyproject.toml").read_text()
    asked = next(t for t in project_of(folder)["dependencies"] if Requirement(t).name == "pubench-core")
    (folder / "pyproject.toml").write_text(text.replace(asked, "pubench-core>=1000,<1001"))
    Steps(folder).run(uv, "build", "--quiet", "--no-config", "--wheel", "--out-dir", scratch / "later-dist", folder)
    return next((scratch / "later-dist").glob("*.whl"))


def try_out(env: Environment, later: Path) -> None:
    """The second half of what this script does."""
    env.install("pubench-cli", f"pubench-{METHOD}")
    alone = env.rows()
    require(
        [(row["key"], row["status"]) for row in alone["methods"]] == [(METHOD, "ok")], f"listed: {alone['methods']}"
    )
    for kind, rows in alone.items():
        require(all(row["status"] == "ok" for row in rows), f"broken {kind}: {rows}")
    run = ("run", "--method", METHOD, "--data", "digits", "--set", "epochs=5", "--format", "json")
    result = json.loads(env.pubench(*run))
    require((env.folder / result["record"] / "result.json").is_file(), f"no record {result['record']}")
    print(f"          {result['record']}: a record of {METHOD} on digits")
    absent = env.pubench("study", "run", "quick", fails=True)
    require("study is not installed: pip install pubench-study" in absent, f"an absent tool: {absent}")
    env.install("pubench-study")
    env.pubench("list", "protocols")
    env.uninstall("pubench-study")

    env.install(f"pubench-{SECOND}")
    require([row["key"] for row in env.rows()["methods"]] == [METHOD, SECOND], f"{SECOND} has no row of its own")
    env.uninstall(f"pubench-{SECOND}")
    require(env.rows() == alone, f"without pubench-{SECOND}, the listings are not what they were")

    env.install("--no-deps", later)
    (row,) = [row for row in env.rows()["methods"] if row["key"] == SECOND]
    words = "made for pubench-core >=1000,<1001; "
    require(row["status"] == "broken" and row["reason"].startswith(words), f"the row of a later plugin: {row}")
    print(f"          {SECOND}: {row['status']}: {row['reason']}")
    require(words in env.pubench("doctor"), "doctor does not say what the later plugin was made for")
    require(words in env.pubench("run", "--method", SECOND, "--data", "digits", fails=True), "nor does a run of it")
    env.pubench(*run)
    env.uninstall(f"pubench-{SECOND}")
    require(env.rows() == alone, "without the later plugin, the listings are not what they were")
    env.run(env.uv, "pip", "check", "--quiet", "--python", env.python)


def try_tools(env: Environment) -> None:
    """The tools that read records, on the record that is there."""
    env.install("pubench-verify")
    require("0 problems" in env.pubench("verify", "results", "--rerun", "0"), "verify finds a problem")
    env.pubench("board", "build", "2026.01", "--from", "results")
    require("0 problems" in env.pubench("board", "check", "boards/2026.01"), "the board has a problem")
    env.run(env.uv, "pip", "check", "--quiet", "--python", env.python)


def try_core(env: Environment) -> None:
    """Core alone."""
    env.install("pubench-core")
    env.run(env.python, "-c", "import sys, pubench, pubench_core; assert 'torch' not in sys.modules")
    require(not env.python.with_name("pubench").exists(), "core brings a command")
    absent = env.run(env.python, "-c", "import pubench; pubench.verify", fails=True)
    require("pubench-verify" in absent, f"core does not say what installs verify: {absent}")
    env.run(env.uv, "pip", "check", "--quiet", "--python", env.python)


def try_light(env: Environment, results: Path) -> None:
    """Evaluation and reports. Byte code is not counted, and this way of installing compiles none: it is 110 MB more."""
    env.install("pubench-evaluate")  # asks for pubench-report
    size = sum(path.stat().st_size for path in (env.folder / "env" / "lib").rglob("*") if path.suffix != ".pyc")
    print(f"          evaluation and reports: {size / 1e6:.0f} MB without byte code")
    require(size < LIGHT, f"they take {size:,} bytes, more than {LIGHT:,.0f}")
    require(not list((env.folder / "env").rglob("site-packages/torch")), "they bring torch")
    rows = "".join(f"{k * 37 % 400 / 400 + k % 2:.4f},{int(k % 4 == 1)}\n" for k in range(400))
    (env.folder / "scores.csv").write_text("score,labeled\n" + rows)
    env.pubench("evaluate", "scores.csv", "--label-col", "labeled", "--prior", "0.5")
    for command in ("prior", "audit"):
        env.pubench(command, "scores.csv", "--label-col", "labeled")
    env.pubench("site", str(results), "--out", "site")
    env.run(env.uv, "pip", "check", "--quiet", "--python", env.python)


def try_everything(env: Environment) -> None:
    """Every distribution."""
    env.install("pubench")
    for kind, rows in env.rows().items():
        require(
            all(row["status"] == "ok" for row in rows), f"broken {kind}: {[r for r in rows if r['status'] != 'ok']}"
        )
    require(len(env.rows()["methods"]) >= 30, "not every method is listed")
    env.pubench("doctor")
    env.pubench("run", "--method", METHOD, "--data", "digits", "--set", "epochs=1", "--no-tracking")
    env.run(env.uv, "pip", "check", "--quiet", "--python", env.python)


def main() -> int:
    """Builds and tries. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=".ci/wheels.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where they go; what is there is removed")
    parser.add_argument("--uv", default="uv", help="the uv to use")
    options = parser.parse_args()
    uv = str(Path(shutil.which(options.uv) or options.uv).absolute())
    dist = options.dist.absolute()
    start = time.perf_counter()
    build(uv, dist)
    check_built(dist)
    with tempfile.TemporaryDirectory() as scratch:
        later = for_another_core(uv, Path(scratch))
        folders = [Path(scratch, name) for name in ("somebody", "core", "light", "everything")]
        for folder in folders:
            folder.mkdir()
        somebody = Environment(uv, dist, folders[0])
        try_out(somebody, later)
        try_tools(somebody)
        try_core(Environment(uv, dist, folders[1]))
        try_light(Environment(uv, dist, folders[2]), somebody.folder / "results")
        try_everything(Environment(uv, dist, folders[3]))
    print(f"{time.perf_counter() - start:6.1f} s  in all")
    return 0


if __name__ == "__main__":
    sys.exit(main())
