"""Promises of the six info records."""

from __future__ import annotations

import pytest
from pubench_datasets_vision import pubench_datasets

INFOS = {info.key: info for info in pubench_datasets()}


@pytest.mark.parametrize("key", INFOS)
def test_every_binarization_divides_all_classes(key: str) -> None:
    info = INFOS[key]
    for positive, negative in ((info.positive, info.negative), *info.binarizations.values()):
        assert sorted(positive + negative) == list(range(len(info.classes)))
