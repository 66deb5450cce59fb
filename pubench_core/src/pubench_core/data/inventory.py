"""What there is of every data set on this machine: source files, prepared copies, their sizes and contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ..errors import PluginError, RequestError
from ..plugins.info import DatasetInfo
from .copies import manifest_of, prepared
from .dataset import DataRoot
from .store import class_counts, folder_of, located, source_of


@dataclass(frozen=True)
class Availability:
    """``state``: ``prepared`` (the copy that a run would open), ``files`` (sources only), ``packaged`` (comes with its
    package), ``absent``, ``damaged`` (a copy's manifest) or ``broken`` (its plugin). ``reason`` says what is absent or
    wrong. ``copies``: every prepared copy, older ones too.
    """

    info: DatasetInfo
    state: str
    files: tuple[Path, ...]
    folder: Path | None
    manifest: Mapping[str, Any] | None
    copies: list[tuple[Path, dict[str, Any]]]
    reason: str = ""

    @property
    def source_bytes(self) -> int:
        """Size of the source files."""
        return sum(path.stat().st_size for path in self.files if path.is_file())

    @property
    def prepared_bytes(self) -> int:
        """Size of all prepared copies."""
        return sum(a["bytes"] for _, manifest in self.copies for a in manifest["arrays"].values())

    def counts(self, part: str) -> list[int] | None:
        """Rows of each class in the training (``y``) or test (``y_test``) part, where a copy tells."""
        found = None if self.manifest is None else self.manifest["classes"].get(part)
        return list(found) if found is not None else None

    @property
    def prior(self) -> float | None:
        """Share of positives in the training part under the default binarization, where a copy tells."""
        counts = self.counts("y")
        if counts is None:
            return None
        positive = sum(counts[k] for k in self.info.positive)
        kept = positive + sum(counts[k] for k in self.info.negative)
        return positive / kept if kept else None


def availability_of(info: DatasetInfo, root: DataRoot) -> Availability:
    """What there is of one data set; nothing is read but manifests, and nothing is downloaded."""
    root = replace(root, offline=True)
    try:
        copies = prepared(info.key, root.cache)
    except RequestError as error:
        return Availability(info, "damaged", (), None, None, [], str(error))
    files: tuple[Path, ...] = ()
    try:
        source = source_of(info)
        files = located(source, root)
        folder = folder_of(info, source, files, root, info.preprocess) if files else None
    except RequestError as error:  # files absent, or what reads them
        return Availability(info, "files" if files else "absent", files, None, None, copies, str(error))
    except PluginError as error:
        return Availability(info, "broken", files, None, None, copies, str(error))
    if folder is None:
        return Availability(info, "packaged", (), None, {"classes": class_counts(info, source.read((), root))}, copies)
    manifest = manifest_of(folder)
    return Availability(info, "files" if manifest is None else "prepared", files, folder, manifest, copies)
