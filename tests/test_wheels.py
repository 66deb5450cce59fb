"""Every distribution builds, and the wheel that its source distribution makes holds what it must.

``make wheels`` does the same with a build environment for each, and tries the wheels in an environment of their own.
"""

from __future__ import annotations

import tarfile
from pathlib import Path
from types import ModuleType

import pytest
from repository import ROOT, script

pytest.importorskip("hatchling", reason="hatchling, of the group dev, is not installed: make setup")


@pytest.fixture(scope="module")
def wheels() -> ModuleType:
    return script(".ci/wheels.py")


@pytest.fixture(scope="module")
def built(wheels: ModuleType, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A source distribution of everything, and the wheel that each makes outside the checkout."""
    from hatchling.builders.sdist import SdistBuilder
    from hatchling.builders.wheel import WheelBuilder

    dist, scratch = tmp_path_factory.mktemp("dist"), tmp_path_factory.mktemp("unpacked")
    for folder in (ROOT, *wheels.distributions(ROOT)):
        (source,) = SdistBuilder(str(folder)).build(directory=str(dist), versions=["standard"])
        with tarfile.open(source) as archive:
            archive.extractall(scratch, filter="data")
        (made,) = WheelBuilder(str(scratch / Path(source).name.removesuffix(".tar.gz"))).build(
            directory=str(dist), versions=["standard"]
        )
        assert Path(made).is_file()
    return dist


def test_every_distribution_builds_with_valid_metadata_and_its_files(wheels: ModuleType, built: Path) -> None:
    wheels.check_built(built)


def test_a_wheel_that_lacks_something_is_found(wheels: ModuleType, built: Path, tmp_path: Path) -> None:
    for path in built.iterdir():
        (tmp_path / path.name).symlink_to(path)
    lost = next(tmp_path.glob("pubench_nnpu-*.whl"))
    lost.unlink()
    with pytest.raises(SystemExit, match="error: built "):
        wheels.check_built(tmp_path)
    lost.symlink_to(next(built.glob("pubench_upu-*.whl")))
    with pytest.raises(SystemExit, match="pubench-nnpu"):
        wheels.check_built(tmp_path)


def test_a_first_party_package_without_two_bounds_is_refused(wheels: ModuleType) -> None:
    text = b"Metadata-Version: 2.4\nName: a\nVersion: 1\nRequires-Dist: pubench-core[train]>=1.0\n"
    with pytest.raises(SystemExit, match="two bounds"):
        wheels.check_metadata("a", text)
