"""The file that ``--out`` names: looked at before the work, so that no result is without a place."""

from __future__ import annotations

import os
from collections.abc import Mapping
from os.path import exists, isdir, isfile  # False for a name that is too long; pathlib's raise
from pathlib import Path

from pubench_core.errors import RequestError


def refuse_unwritable(out: Path, *, device: bool = True) -> None:
    """RequestError where ``--out`` is a folder, or lies in none that can be written to.

    ``device``: whether it may be one, such as ``/dev/stdout``; what writes a file aside would replace it.
    """
    if not out.name:
        raise RequestError(f"--out {out} names no file")
    folder = out.absolute().parent
    if not isdir(folder):
        raise RequestError(f"--out {out}: there is no folder {out.parent}")
    if isdir(out):
        raise RequestError(f"--out {out} is a folder; name a file in it")
    if exists(out) and not isfile(out) and not device:
        raise RequestError(f"--out {out} is not a regular file; name a file")
    replaced = not exists(out) or isfile(out)  # and not /dev/stdout, say
    if replaced and not os.access(folder, os.W_OK):
        raise RequestError(f"--out {out}: no permission to write in {out.parent}")


def form_of(out: Path | None, asked: str | None, by_suffix: Mapping[str, str]) -> str:
    """The format that ``--format`` or the ending of ``--out`` says; table where neither does.

    ``by_suffix``: formats by endings. Raises RequestError for an ending that says none, or another than ``--format``.
    """
    ending = "" if out is None else out.suffix.lower()
    if ending and not asked and ending not in by_suffix:
        raise RequestError(f"--out {out}: expected a name that ends in {', '.join(by_suffix)}, or --format")
    form = asked or by_suffix.get(ending, "table")
    if by_suffix.get(ending, form) != form:
        raise RequestError(f"--out must end in {endings(form, by_suffix)} for --format {form}, got {out}")
    return form


def endings(form: str, by_suffix: Mapping[str, str]) -> str:
    return " or ".join(ending for ending, of in by_suffix.items() if of == form)
