"""Puts the repository's ``templates/`` into the distributions of the test kit.

In the sdist they is next to ``src/``, in a wheel in the package, whether it is built from the repository or from the
sdist. An editable installation reads those of the repository.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class Templates(BuildHookInterface):
    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        root = Path(self.root)
        in_sdist = root / "templates"
        source = in_sdist if in_sdist.is_dir() else root.parents[2] / "templates"
        if not source.is_dir():
            raise FileNotFoundError(f"no templates in {in_sdist} nor in {source}")
        if self.target_name == "sdist":
            if source != in_sdist:  # else they are taken with everything else that lies there
                build_data["force_include"][str(source)] = "templates"
        elif version != "editable":
            build_data["force_include"][str(source)] = "pubench_testkit/templates"
