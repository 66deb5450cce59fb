"""mkdocs hook: a page per data set, and a page each for mechanisms, metrics, networks and prior estimators.

They say what the info records and docstrings of the installed plugins say. Rows per class are those of the files that
``data_counts.py`` has read.
"""

from __future__ import annotations

import importlib
import inspect
import json
import tempfile
from collections.abc import Callable, Iterable, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from leaderboard import board_link
from page_parts import add_pages, capitalized, citation, expand_navigation, markdown_of, render, table

from pubench_core.data.dataset import data_root
from pubench_core.data.source import DataSource, source_of
from pubench_core.errors import RequestError
from pubench_core.plugins.info import BackboneInfo, DatasetInfo, Info, MechanismInfo, MetricInfo, PriorInfo
from pubench_core.plugins.registry import load, registry
from pubench_core.specs import ExecutionSpec

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

COUNTS = Path(__file__).with_name("data_counts.json")
PREPROCESSING = {
    "none": "features as they are",
    "standardize": "standardized by mean and deviation of the training pool",
    "l2": "rows of unit length",
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``data-sets/``, ``mechanisms.md``, ``metrics.md``, ``backbones.md`` and ``priors.md``."""
    sets = list(registry().infos(DatasetInfo))
    pages = {f"data-sets/{info.key}.md": data_set_page(info) for info in sets}
    add_pages(files, config, {"data-sets/index.md": data_set_index(sets), **pages})
    expand_navigation(config, "data-sets/index.md", zip((info.name for info in sets), pages, strict=True))
    add_pages(files, config, {f"{name}.md": kind_page(name) for name in KINDS})
    return files


# -------------------------------------------------------------------- data sets


def data_set_index(infos: Iterable[DatasetInfo]) -> str:
    """The table of all data sets."""
    columns = ("key", "data set", "kind", "training rows", "test rows", "positives", "network")
    rows = []
    for info in infos:
        training, test = (_kept(info, part) for part in ("training", "test"))
        share = f"{100 * training[1] / sum(training):.1f} %" if training else ""
        sizes = (f"{sum(part):,}" if part else "" for part in (training, test))
        link = f"[`{info.key}`]({info.key}.md)"
        rows.append((link, info.name, info.modality, *sizes, share, f"`{info.backbone}`"))
    return render("data-sets.md", table=table(columns, rows))


def data_set_page(info: DatasetInfo) -> str:
    """Everything about one data set as Markdown."""
    source = source_of(info)
    counts = json.loads(COUNTS.read_text()).get(info.key, {})
    parts = [counts.get(part, [""] * len(info.classes)) for part in ("training", "test")]
    classes = zip(range(len(info.classes)), info.classes, *parts, strict=True)
    sides = {
        name: [", ".join(info.classes[k] for k in side) for side in sides]
        for name, sides in {"default": (info.positive, info.negative), **info.binarizations}.items()
    }
    return render(
        "data-set.md",
        info=info,
        summary=capitalized(info.summary),
        cited=_cited(info),
        board=board_link("data", info.key),
        # downloaded at once: a whole source, or one of its tables by number (``openml:ID``)
        fetched=info.tasks if info.tasks.startswith(f"{info.key}:") else info.key,
        downloadable=source.downloadable,
        facts=table(("", ""), _facts(info).items()),
        classes=table(("index", "class", "training rows", "test rows"), classes),
        binarizations=table(
            ("name", "positive", "negative"), ((f"`{name}`", *texts) for name, texts in sides.items())
        ),
        wanted=files_wanted(source),
        sources=[_doc(importlib.import_module(type(source).__module__)), _doc(type(source))],
    )  # fmt: skip


def _facts(info: DatasetInfo) -> dict[str, str]:
    facts = {
        "Key": _keys((info.key, *info.aliases)),
        "Kind": info.modality,
        "Network": f"[`{info.backbone}`](../backbones.md#{info.backbone})",
        "Preprocessing": f"`{info.preprocess}`: {PREPROCESSING[info.preprocess]}",
        "Source": info.source,
        "License or terms": info.license or "not stated",
        "Follows": info.follows,
        "Package": next(f"{e.distribution} {e.version}" for e in registry().entries("dataset") if e.info == info),
    }
    return {name: text for name, text in facts.items() if text}


def _kept(info: DatasetInfo, part: str) -> tuple[int, int] | None:
    """(negatives, positives) of a part under the default binarization; None where they were not counted."""
    counted = json.loads(COUNTS.read_text()).get(info.key, {}).get(part)
    if counted is None:
        return None
    return sum(counted[k] for k in info.negative), sum(counted[k] for k in info.positive)


def files_wanted(source: DataSource) -> str:
    """Which files a data set asks for if there is none, and in which folders; empty if it has no files."""
    with tempfile.TemporaryDirectory() as empty:
        root = data_root(ExecutionSpec(data_root=Path(empty), offline=True))
        try:
            source.locate(root)
        except RequestError as error:
            if "(data root from" not in str(error):
                return "what a download puts into the cache"
            text = str(error).partition(f"{source.info.key}: no ")[2].partition(" (data root from")[0]
            files, _, places = text.replace(empty, "<data root>").partition(" in <")
            return f"{files} in " + " or ".join(f"`<{place.strip()}`" for place in places.split(" and <"))
    return ""


# -------------------------------------------------------------------- mechanisms, metrics, networks, estimators

#: Page -> the kind of plugin on it, and the columns of its table after the key.
KINDS: Mapping[str, tuple[type[Any], Mapping[str, Callable[[Any], str]]]] = {
    "mechanisms": (MechanismInfo, {
        "alias": lambda info: _keys(info.aliases),
        "assumption": lambda info: info.assumption,
        "reads p(x)": lambda info: "yes" if info.needs_posterior else "no",
        "variants": lambda info: _keys(info.variants),
    }),
    "metrics": (MetricInfo, {
        "oracle": lambda info: "yes" if info.oracle else "",
        "assumes": lambda info: ", ".join(sorted(info.assumes)),
        "measured on": lambda info: ("test and " if info.needs <= {"truth"} else "") + "validation rows",
        "chooses an epoch": lambda info: "yes" if info.criterion else "",
        "better": lambda info: "higher" if info.higher_is_better else "lower",
    }),
    "backbones": (BackboneInfo, {"network": lambda info: info.name, "rows": lambda info: info.inputs}),
    "priors": (PriorInfo, {"estimator": lambda info: info.name, "reads": lambda info: info.inputs}),
}  # fmt: skip


def kind_page(name: str) -> str:
    """A table of the plugins of one kind, then a section for each."""
    kind, columns = KINDS[name]
    infos = list(registry().infos(kind))
    rows = ((f"[`{i.key}`](#{i.key})", *(cell(i) for cell in columns.values())) for i in infos)
    return render(f"{name}.md", table=table(("key", *columns), rows), sections=map(_section, infos))


def _section(info: Info) -> str:
    parts = [f"## {info.name} {{: #{info.key} }}", f"`{info.key}`: {info.summary}.", _doc(load(info))]
    parts += [f"Follows {info.follows}." if info.follows else "", _cited(info)]
    return "\n\n".join(part for part in parts if part)


def _doc(thing: object) -> str:
    return markdown_of(inspect.getdoc(thing) or "")


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def _cited(info: Info) -> str:
    return citation(asdict(info.reference) if info.reference else None)
