"""The file that ``--out`` names: looked at before the work, so that no result is without a place."""

from __future__ import annotations

import os
from pathlib import Path

from pubench_core.errors import RequestError


def refuse_unwritable(out: Path) -> None:
    """RequestError where ``--out`` is a folder, or lies in none that can be written to."""
    folder = out.absolute().parent
    if not folder.is_dir():
        raise RequestError(f"--out {out}: there is no folder {out.parent}")
    if out.is_dir():
        raise RequestError(f"--out {out} is a folder; name a file in it")
    replaced = not out.exists() or out.is_file()  # and not /dev/stdout, say
    if replaced and not os.access(folder, os.W_OK):
        raise RequestError(f"--out {out}: nothing can be written to {out.parent}")
