"""What the records promise, and what the real files hold: the published counts."""

from __future__ import annotations

import numpy as np
import pytest
from pubench_datasets_tabular import pubench_datasets
from pubench_datasets_tabular.layouts import LAYOUTS

from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset

INFOS = {info.key: info for info in pubench_datasets() if not info.tasks}
#: Features, and rows of each class in the training and the test part: as counted in the files' own documentation.
COUNTS: dict[str, tuple[int, list[int], list[int]]] = {
    "spambase": (57, [2788, 1813], []),
    "connect-4": (126, [16635, 44473, 6449], []),
    "bank": (51, [39922, 5289], []),
    "landsat": (36, [1072, 479, 961, 415, 470, 1038], [461, 224, 397, 211, 237, 470]),
    "mushroom": (126, [4208, 3916], []),
    "pageblock": (10, [4913, 329, 28, 88, 115], []),
    "pendigit": (
        16,
        [780, 779, 780, 719, 780, 720, 720, 778, 719, 719],
        [363, 364, 364, 336, 364, 335, 336, 364, 336, 336],
    ),
    "pima": (8, [500, 268], []),
    "shuttle": (9, [34108, 37, 132, 6748, 2458, 6, 11], [11478, 13, 39, 2155, 809, 4, 2]),
    "wine": (11, [30, 216, 2138, 2836, 1079, 193, 5], []),
}
#: Positives, rows and features in Jain et al., Table 1. Of concrete, gas and housing no file is at hand.
JAIN = {
    "landsat": (1508, 6435, 36),
    "mushroom": (3916, 8124, 126),
    "pageblock": (560, 5473, 10),
    "pendigit": (3430, 10992, 16),
    "pima": (268, 768, 8),
    "shuttle": (8903, 58000, 9),
    "spambase": (1813, 4601, 57),
    "wine": (4113, 6497, 11),
}


def test_every_record_has_a_layout_with_its_classes() -> None:
    assert set(INFOS) == set(LAYOUTS)
    for key, layout in LAYOUTS.items():
        assert layout.codes is None or sorted(layout.codes.values()) == list(range(len(INFOS[key].classes)))


class TestRealSets:
    @pytest.mark.parametrize("key", COUNTS)
    def test_rows_features_and_classes(self, key: str, real: DataRoot) -> None:
        data, (width, counts, test_counts) = open_dataset(source_of(INFOS[key]), real).data, COUNTS[key]
        assert np.bincount(data.y, minlength=len(counts)).tolist() == counts
        assert data.x.shape == (sum(counts), width)
        assert (str(data.x.dtype), str(data.y.dtype)) == ("float32", "int64")
        assert np.isfinite(data.x).all()
        assert (data.x_test is None) == (not test_counts)
        y_test = data.y[:0] if data.y_test is None else data.y_test
        assert np.bincount(y_test, minlength=len(test_counts)).tolist() == test_counts

    @pytest.mark.parametrize("key", sorted(JAIN))
    def test_positives_are_those_of_jain_et_al(self, key: str) -> None:
        width, train, test = COUNTS[key]
        counts = np.array([train, test or [0] * len(train)]).sum(axis=0)
        assert (counts[list(INFOS[key].positive)].sum(), counts.sum(), width) == JAIN[key]

    def test_jain_et_al_took_the_first_45_000_calls_of_the_bank(self, real: DataRoot) -> None:
        assert (open_dataset(source_of(INFOS["bank"]), real).data.y[:45_000] == 1).sum() == 5188

    def test_letter_is_trained_on_its_first_16_000_rows(self, real: DataRoot) -> None:
        data = open_dataset(source_of(INFOS["letter"]), real).data
        assert data.x_test is not None
        assert data.y_test is not None
        assert (data.x.shape, data.x_test.shape) == ((16_000, 16), (4_000, 16))
        assert "".join(INFOS["letter"].classes[k] for k in data.y[:3]) == "TID"
        counts = np.bincount(np.concatenate([data.y, data.y_test]))
        assert (counts.min(), counts.max()) == (734, 813)
        assert data.x[0].tolist() == [2, 8, 3, 5, 1, 8, 13, 0, 6, 6, 10, 8, 0, 8, 0, 8]

    def test_connect_4_has_four_stones_of_each_player_and_x_is_at_b1_more_often_than_o(self, real: DataRoot) -> None:
        """The latter tells the players apart in OpenML's copy."""
        squares = open_dataset(source_of(INFOS["connect-4"]), real).data.x.reshape(-1, 42, 3)
        assert (squares.sum(axis=1) == [34, 4, 4]).all()
        assert squares[:, 6].sum(axis=0).tolist() == [21772, 19896, 25889]
