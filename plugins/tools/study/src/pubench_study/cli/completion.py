"""Completion of studies."""

from __future__ import annotations

from pathlib import Path


def studies(incomplete: str) -> list[str]:
    """Completion of a study: shipped protocols, study files here, studies in ``results``."""
    from ..study_file import protocols, studies_in

    here = [str(path) for suffix in ("yaml", "yml") for path in Path().glob(f"*.{suffix}")]
    names = {*protocols(), *here, *(folder.name for folder in studies_in(Path("results")))}
    return sorted(name for name in names if name.startswith(incomplete))
