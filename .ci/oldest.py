"""An environment with the oldest versions that the distributions of this repository say they work with.

    .venv/bin/python .ci/oldest.py .venv-oldest --uv uv

Every distribution is installed as it is here; of what they name themselves, the oldest version that their bounds
allow; of everything else, the newest that goes with it. pytest and what it needs are the root's pinned versions.
"""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
import tempfile
import tomllib
from collections.abc import Iterator
from pathlib import Path

from metadata import distributions

ROOT = Path(__file__).resolve().parent.parent
TOOLS = ("pytest", "pytest-xdist", "hypothesis")


def asked_for() -> Iterator[str]:
    """Requirements of the distributions, extras included, each other apart."""
    for folder in distributions(ROOT):
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        for texts in (project["dependencies"], *project.get("optional-dependencies", {}).values()):
            yield from (text for text in texts if not text.startswith("pubench-"))


def pinned() -> Iterator[str]:
    """The root's pins of what runs the tests."""
    constraints = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["uv"]["constraint-dependencies"]
    yield from (text for text in constraints if re.split("[=<>]", text)[0] in TOOLS)


def main() -> int:
    """Makes the environment. Returns the exit code."""
    parser = argparse.ArgumentParser(prog=".ci/oldest.py", description=(__doc__ or "").split("\n")[0])
    parser.add_argument("folder", type=Path, help="where the environment goes; one that is there is replaced")
    parser.add_argument("--uv", default="uv", help="the uv to use")
    options = parser.parse_args()
    python = options.folder / "bin" / "python"
    with tempfile.TemporaryDirectory() as scratch:
        asked, found = Path(scratch, "asked.txt"), Path(scratch, "oldest.txt")
        asked.write_text("\n".join(sorted({*asked_for(), *pinned()})) + "\n")
        # without the configuration of the root: its pins are the newest versions
        uv = [options.uv, "--no-config", "--quiet"]
        resolve = ["pip", "compile", "--resolution", "lowest-direct", "--python", sys.executable, "--no-header"]
        subprocess.run([*uv, *resolve, "--no-annotate", "--output-file", str(found), str(asked)], check=True)
        print(found.read_text(), end="")
        subprocess.run([*uv, "venv", "--clear", "--python", sys.executable, str(options.folder)], check=True)
        install = [*uv, "pip", "install", "--python", str(python)]
        subprocess.run([*install, "--requirement", str(found)], check=True)
        members = [part for folder in distributions(ROOT) for part in ("--editable", str(folder))]
        subprocess.run([*install, "--no-deps", "--no-sources", *members], check=True)
        subprocess.run([*uv, "pip", "check", "--python", str(python)], check=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
