"""The file that ``--out`` names: looked at before the work, so that no result is without a place."""

from __future__ import annotations

import os
from collections.abc import Mapping
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


def form_of(out: Path, given: str | None, by_suffix: Mapping[str, str]) -> str:
    """The format of a file: what its name's ending says. ``given``: ``--format``, which must not say another.

    Raises RequestError where it does, and where neither says a format.
    """
    ending = by_suffix.get(out.suffix.lower())
    if given and ending and given != ending:
        raise RequestError(f"--out {out} ends in that of {ending} and --format says {given}; one of the two is right")
    if not given and not ending:
        raise RequestError(f"--out {out}: its ending says no format; {', '.join(by_suffix)} do, or --format")
    return given or str(ending)
