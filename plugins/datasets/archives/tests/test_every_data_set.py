"""Promises of every installed data set: its classes, what is said where its files are not, and what is imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import located
from pubench_core.errors import Hint, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry

INFOS = [info for info in registry().infos(DatasetInfo) if not info.tasks]
#: Data sets that bring their files.
BUNDLED = ("breast-cancer", "digits")
#: Data sets that a person has to get.
BY_HAND = ("adni", "bank", "concrete", "housing", "landsat", "pendigit", "shuttle", "wine")


@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.key)
def test_every_binarization_divides_the_classes(info: DatasetInfo) -> None:
    for positive, negative in ((info.positive, info.negative), *info.binarizations.values()):
        assert not set(positive) & set(negative)
        assert set(positive + negative) <= set(range(len(info.classes)))
        assert info.key == "gas" or len(positive + negative) == len(info.classes)


@pytest.mark.parametrize("info", INFOS, ids=lambda info: info.key)
def test_a_class_name_is_never_another_class_s_index(info: DatasetInfo) -> None:
    for k, name in enumerate(info.classes):
        assert not name.isdigit() or int(name) == k
        assert "," not in name  # a comma separates classes on the command line


@pytest.mark.parametrize("info", [info for info in INFOS if info.key not in BUNDLED], ids=lambda info: info.key)
def test_where_no_file_is_folders_and_source_are_named_and_a_download_is_offered(
    info: DatasetInfo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    root, source = DataRoot(tmp_path / "data", "a test", cache=tmp_path / "cache"), source_of(info)
    with pytest.raises(RequestError) as caught:
        located(source, root)
    line = str(caught.value)
    assert line.startswith(f"{info.key}: no ")
    for words in (str(root.path / info.key), info.source, "a test"):
        assert words in line
    assert "\n" not in line
    offered = info.key not in BY_HAND
    assert caught.value.hint == (Hint("fetch", info.key) if offered else None)
    assert ("what is missing can be downloaded" in line) == offered


def test_looking_for_files_and_for_an_encoder_imports_nothing_heavy() -> None:
    code = (
        "import sys; from pathlib import Path; from pubench_core.data.dataset import DataRoot\n"
        "from pubench_core.data.source import source_of; from pubench_core.errors import RequestError\n"
        "from pubench_core.plugins.info import DatasetInfo; from pubench_core.plugins.registry import registry\n"
        "root = DataRoot(Path('/nowhere'), 'a test', cache=Path('/nowhere'), offline=True)\n"
        "heavy = 'torch torchvision PIL pandas openml pyarrow arff sklearn transformers pyreadr'\n"
        "for info in registry().infos(DatasetInfo):\n"
        "    source = source_of(info)\n"
        "    looks = [lambda: source.locate(root)]\n"
        "    if info.modality == 'text': looks.append(lambda: source.variant(root, [root.path]))\n"
        "    for look in looks:\n"
        "        try: look()\n"
        "        except RequestError: pass\n"
        "        assert not {*heavy.split()} & {*sys.modules}, (info.key, {*heavy.split()} & {*sys.modules})\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
