"""Tries every template of `pubench new` as somebody who has the distributions of this repository and nothing else.

    .venv/bin/python .ci/scaffolds.py [--dist dist] [--uv uv] [TEMPLATE ...]

The test kit is installed from its source distribution, with one method and the reports, into an environment of its
own. Then, for
each template, outside the checkout: the package is made; the three commands that this prints are carried out as they
are printed; the package is built as a source distribution and installed from that; the tests in the source distribution
pass where it was unpacked; the plugin runs.

TEMPLATE: folders of templates/; by default all. Ends with exit code 1 and a line at the first thing that is wrong.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
import tempfile
import time
import tomllib
from pathlib import Path

from wheels import METHOD, ROOT, Environment, build, require


def made(env: Environment, name: str) -> Path:
    """A package from a template, and the printed commands carried out."""
    facts = tomllib.loads((ROOT / "templates" / name / "template.toml").read_text())
    key = f"my-{name}"
    options = [f"--{option}={facts[option]}" for option in ("template", "family") if option in facts]
    said = env.pubench("new", facts["kind"], key, *options, "--path", "new packages")
    for command in said.splitlines()[-3:]:
        env.run("bash", "-c", command)
    return env.folder / "new packages" / key


def installed_from_sdist(env: Environment, package: Path) -> Path:
    """Installs the source distribution instead; where it was unpacked."""
    env.run(env.uv, "build", "--quiet", "--sdist", "--out-dir", package / "dist", package)
    (source,) = (package / "dist").glob("*.tar.gz")
    env.uninstall(f"pubench-{package.name}")
    env.install(f"{source}[test]")
    unpacked = env.folder / "unpacked"
    shutil.unpack_archive(source, unpacked, filter="data")
    shutil.rmtree(package)  # nothing below needs it
    return next(unpacked.glob(f"{source.name.removesuffix('.tar.gz')}"))


def tested_and_run(env: Environment, unpacked: Path) -> None:
    """The tests that came with the source distribution, and what its README says last."""
    env.run(env.python, "-m", "pytest", "-q", "-c", unpacked / "pyproject.toml", unpacked / "tests")
    lines = (unpacked / "README.md").read_text().splitlines()
    commands = [line for line in lines if line.startswith("pubench run ")]
    require(len(commands) == 1, f"{unpacked.name}: its README has {len(commands)} runs")
    env.run("bash", "-c", f"{commands[0]} --force")


def main() -> int:
    """Builds and tries. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=".ci/scaffolds.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("templates", nargs="*", help="folders of templates/")
    parser.add_argument("--dist", type=Path, default=ROOT / "dist", help="where they go; what is there is removed")
    parser.add_argument("--uv", default="uv", help="the uv to use")
    options = parser.parse_args()
    uv = Path(shutil.which(options.uv) or options.uv).absolute()
    dist = options.dist.absolute()
    names = options.templates or sorted(path.parent.name for path in ROOT.glob("templates/*/template.toml"))
    start = time.perf_counter()
    build(str(uv), dist)
    with tempfile.TemporaryDirectory() as scratch:
        env = Environment(str(uv), dist, Path(scratch))
        env.install(next(dist.glob("pubench_testkit-*.tar.gz")), f"pubench-{METHOD}", "pubench-report[figures]")
        # As in an environment that was activated; uv, which need not be on PATH, is next to the commands.
        env.env |= {
            "VIRTUAL_ENV": str(env.folder / "env"),
            "PATH": os.pathsep.join([str(env.python.parent), str(uv.parent), os.environ["PATH"]]),
            "PUBENCH_CACHE": str(env.folder / "cache"),
            "OMP_NUM_THREADS": "1",
        }
        for name in names:
            print(f"          {name}")
            tested_and_run(env, installed_from_sdist(env, made(env, name)))
    print(f"{time.perf_counter() - start:6.1f} s  {len(names)} templates")
    return 0


if __name__ == "__main__":
    sys.exit(main())
