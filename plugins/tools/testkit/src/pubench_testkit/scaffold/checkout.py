"""A checkout of pubench's repository, and what a new package in it must fit."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from pubench_core.errors import PluginError, RequestError

from .names import Names

_SCRIPT = Path(".ci", "metadata.py")


def folder_of(kind: str) -> str:
    """The folder of ``plugins/`` that holds the packages of a kind."""
    return "tools" if kind == "command" else f"{kind}s"


@dataclass(frozen=True)
class Checkout:
    """``root``: its top folder."""

    root: Path

    @classmethod
    def around(cls, place: Path) -> Checkout:
        """The checkout that a folder is in. Raises RequestError if it is in none."""
        for above in (place, *place.parents):
            if (above / _SCRIPT).is_file() and (above / "plugins").is_dir() and (above / "pubench_core").is_dir():
                return cls(above)
        raise RequestError(
            f"--in-repo: {place} is not in a checkout of pubench; change into one, or leave --in-repo out and name a "
            "folder with --path"
        )

    def parent(self, kind: str) -> Path:
        """Where the packages of a kind lie."""
        return self.root / "plugins" / folder_of(kind)

    def refuse_taken(self, names: Names) -> None:
        """Raises RequestError if a package of the checkout, installed or not, has one of these names."""
        for manifest in (*self.root.glob("pubench_*/pyproject.toml"), *self.root.glob("plugins/*/*/pyproject.toml")):
            where = manifest.parent
            if tomllib.loads(manifest.read_text(encoding="utf-8")).get("project", {}).get("name") == names.distribution:
                raise RequestError(f"{where} is called {names.distribution} already; choose another key")
            if (where / "src" / names.package).exists():
                raise RequestError(f"{where} has a package {names.package} already; choose another key")

    @contextmanager
    def taking_in(self) -> Iterator[None]:
        """After the block, the lists of the root are those of the folders; as before it, where that fails."""
        manifest = self.root / "pyproject.toml"
        before = manifest.read_bytes()
        try:
            yield
            done = subprocess.run(
                [sys.executable, str(_SCRIPT)], cwd=self.root, capture_output=True, text=True, check=False
            )
            if done.returncode:
                said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
                raise PluginError(f"{_SCRIPT} of {self.root} failed: {said[-1]}; nothing was written")
        except BaseException:
            if manifest.read_bytes() != before:
                manifest.write_bytes(before)
            raise
