"""Promises of the six info records: classes divided, loaders that import nothing heavy."""

from __future__ import annotations

import subprocess
import sys

import pytest
from pubench_datasets_vision import pubench_datasets

INFOS = {info.key: info for info in pubench_datasets()}


@pytest.mark.parametrize("key", INFOS)
def test_every_binarization_divides_all_classes(key: str) -> None:
    info = INFOS[key]
    for positive, negative in ((info.positive, info.negative), *info.binarizations.values()):
        assert sorted(positive + negative) == list(range(len(info.classes)))


def test_neither_records_nor_loaders_import_what_only_reading_needs() -> None:
    """The warm path makes a source and calls ``locate``; the rest comes from the prepared copy."""
    script = (
        "import importlib, sys\n"
        "from pubench_datasets_vision import pubench_datasets\n"
        "for info in pubench_datasets(): importlib.import_module(info.load.split(':')[0])\n"
        "print([m for m in ('torchvision', 'PIL', 'pyarrow') if m in sys.modules])\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
