"""Inventory of data sets on this machine: source files, prepared copies, their sizes and contents."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from pubench_core.data.cache import Manifest, manifest_of
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import class_counts, folder_of, located, read
from pubench_core.errors import Notice, PluginError, PubenchError, RequestError
from pubench_core.plugins.info import DatasetInfo

from .copies import copies_of

State = Literal["prepared", "files", "packaged", "absent", "damaged", "broken"]
_NONE = Notice("")


@dataclass(frozen=True)
class Availability:
    """``state``: ``prepared`` (the copy that a run would open), ``files`` (sources only), ``packaged`` (comes with its
    package), ``absent``, ``damaged`` (a copy's manifest) or ``broken`` (its plugin). ``reason`` says what is absent or
    wrong. ``folder``: where a run keeps its copy. ``classes``: rows of each class by array of labels (``y``,
    ``y_test``), where they are known. ``copies``: every prepared copy, older ones too.
    """

    info: DatasetInfo
    state: State
    files: tuple[Path, ...] = ()
    folder: Path | None = None
    classes: Mapping[str, list[int]] | None = None
    copies: tuple[tuple[Path, Manifest], ...] = ()
    reason: Notice = _NONE

    @property
    def source_bytes(self) -> int:
        """Size of the source files."""
        return sum(path.stat().st_size for path in self.files if path.is_file())

    @property
    def prepared_bytes(self) -> int:
        """Size of all prepared copies."""
        return sum(array["bytes"] for _, manifest in self.copies for array in manifest["arrays"].values())

    def counts(self, part: str) -> list[int] | None:
        """Rows of each class in the training (``y``) or test (``y_test``) part; None where they are not known."""
        found = None if self.classes is None else self.classes.get(part)
        return list(found) if found is not None else None

    @property
    def prior(self) -> float | None:
        """Share of positives in the training part under the default binarization; None where it is not known."""
        counts = self.counts("y")
        if counts is None:
            return None
        positive = sum(counts[k] for k in self.info.positive)
        kept = positive + sum(counts[k] for k in self.info.negative)
        return positive / kept if kept else None


def availability_of(info: DatasetInfo, root: DataRoot) -> Availability:
    """Availability of one data set; nothing is downloaded, and of files only manifests are read."""
    root = replace(root, offline=True)
    if info.tasks and not info.task:
        return _of_parts(info, root)
    files: tuple[Path, ...] = ()
    copies: tuple[tuple[Path, Manifest], ...] = ()

    def without(state: State, error: PubenchError) -> Availability:
        return Availability(info, state, files, copies=copies, reason=Notice(str(error), error.hint))

    try:
        copies = tuple(copies_of(info.key, root.cache))
    except RequestError as error:
        return without("damaged", error)
    try:
        source = source_of(info)
        files = located(source, root)
        if not files:
            classes = class_counts(info, read(source, files, root))
            return Availability(info, "packaged", classes=classes, copies=copies)
        folder = folder_of(source, files, root, info.preprocess)
    except RequestError as error:  # files absent, or what reads them
        return without("files" if files else "absent", error)
    except PluginError as error:
        return without("broken", error)
    manifest = manifest_of(folder)
    if manifest is None:
        return Availability(info, "files", files, folder, copies=copies)
    return Availability(info, "prepared", files, folder, manifest["classes"], copies)


def _of_parts(info: DatasetInfo, root: DataRoot) -> Availability:
    """What there is of a source with tasks: ``prepared`` if every part is; rows are those of all parts."""
    files: tuple[Path, ...] = ()
    try:
        source = source_of(info)
        files = located(source, root)
        copies = tuple(copies_of(info.key, root.cache))
        parts = [availability_of(part.info, root) for part in source.parts(root)]
    except RequestError as error:
        return Availability(info, "absent", files, reason=Notice(str(error), error.hint))
    except PluginError as error:
        return Availability(info, "broken", files, reason=Notice(str(error), error.hint))
    waiting = next((part for part in parts if part.state != "prepared"), None)
    if waiting is None:
        return Availability(info, "prepared", files, parts[0].folder if parts else None, copies=copies)
    return Availability(info, waiting.state, files, copies=copies, reason=waiting.reason)
