"""mkdocs hook: a page per data set, and a page each for mechanisms, metrics, networks and prior estimators.

They say what the info records and docstrings of the installed plugins say. Rows per class are those of the files that
``data_counts.py`` has read.
"""

from __future__ import annotations

import importlib
import inspect
import json
import tempfile
from collections.abc import Iterable
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from leaderboard import board_link
from page_parts import add_pages, capitalized, citation, expand_navigation, markdown_of, table

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

InfoT = TypeVar("InfoT", bound=Info)


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``data-sets/``, ``mechanisms.md``, ``metrics.md``, ``backbones.md`` and ``priors.md``."""
    sets = list(registry().infos(DatasetInfo))
    pages = {f"data-sets/{info.key}.md": data_set_page(info) for info in sets}
    add_pages(files, config, {"data-sets/index.md": data_set_index(sets), **pages})
    expand_navigation(config, "data-sets/index.md", zip((info.name for info in sets), pages, strict=True))
    others = {
        "mechanisms.md": mechanisms(registry().infos(MechanismInfo)),
        "metrics.md": metrics(registry().infos(MetricInfo)),
        "backbones.md": backbones(registry().infos(BackboneInfo)),
        "priors.md": priors(registry().infos(PriorInfo)),
    }
    add_pages(files, config, others)
    return files


# -------------------------------------------------------------------- data sets

DATA_SETS = """# Data sets

One page per installed data set, made from what it says of itself. `pubench data info KEY` prints the same and what
lies on your machine; `pubench data fetch KEY` downloads, where a download is possible. [Data and labels](../data.md)
says what is done with a data set.

The number of rows and the share of positives are those of the default binarization. They were counted in the files
(`docs/data_counts.py`); where the cell is empty, the files were not at hand.

"""


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
    return DATA_SETS + table(columns, rows) + "\n"


def data_set_page(info: DatasetInfo) -> str:
    """Everything about one data set as Markdown."""
    source = source_of(info)
    parts = [f"# {info.name}", capitalized(info.summary), _cited(info), board_link("data", info.key)]
    fetch = f"pubench data fetch {_fetched(info)}\n" if source.downloadable else ""
    amount = "" if info.labels != "simulated" else " --c 0.1"
    method = "pu-bagging" if info.labels != "simulated" else "nnpu"  # nobody knows a prior to give to nnpu
    parts.append(f"```\n{fetch}pubench run --method {method} --data {info.tasks or info.key}{amount}\n```")
    parts.append(table(("", ""), _facts(info).items()))
    parts += ["## Classes", table(("index", "class", "training rows", "test rows"), _classes(info))]
    parts += ["## Binarizations", table(("name", "positive", "negative"), _binarizations(info))]
    parts += ["## Files", *_files(info, source)]
    return "\n\n".join(part for part in parts if part) + "\n"


def _fetched(info: DatasetInfo) -> str:
    """What is downloaded at once: a whole source, or one of its tables by number (``openml:ID``)."""
    return info.tasks if info.tasks.startswith(f"{info.key}:") else info.key


def _facts(info: DatasetInfo) -> dict[str, str]:
    words = {
        "none": "features as they are",
        "standardize": "standardized by mean and deviation of the training pool",
        "l2": "rows of unit length",
    }
    facts = {
        "Key": ", ".join(f"`{key}`" for key in (info.key, *info.aliases)),
        "Kind": info.modality,
        "Network": f"[`{info.backbone}`](../backbones.md#{info.backbone})",
        "Preprocessing": f"`{info.preprocess}`: {words[info.preprocess]}",
        "Source": info.source,
        "License or terms": info.license or "not stated",
        "Follows": info.follows,
        "Package": _package(info),
    }
    return {name: text for name, text in facts.items() if text}


def _package(info: DatasetInfo) -> str:
    return next(f"{e.distribution} {e.version}" for e in registry().entries("dataset") if e.info == info)


def _classes(info: DatasetInfo) -> Iterable[tuple[object, ...]]:
    counts = json.loads(COUNTS.read_text()).get(info.key, {})
    parts = [counts.get(part, [""] * len(info.classes)) for part in ("training", "test")]
    return zip(range(len(info.classes)), info.classes, *parts, strict=True)


def _binarizations(info: DatasetInfo) -> Iterable[tuple[str, str, str]]:
    named = {"default": (info.positive, info.negative), **info.binarizations}
    for name, sides in named.items():
        positive, negative = (", ".join(info.classes[k] for k in side) for side in sides)
        yield f"`{name}`", positive, negative


def _kept(info: DatasetInfo, part: str) -> tuple[int, int] | None:
    """(negatives, positives) of a part under the default binarization; None where they were not counted."""
    counted = json.loads(COUNTS.read_text()).get(info.key, {}).get(part)
    if counted is None:
        return None
    return sum(counted[k] for k in info.negative), sum(counted[k] for k in info.positive)


def _files(info: DatasetInfo, source: DataSource) -> list[str]:
    wanted = files_wanted(source)
    parts = [f"Without files, pubench asks for: {wanted}." if wanted else "None: the data come with a Python package."]
    if wanted:
        downloads = f"`pubench data fetch {_fetched(info)}` downloads them."
        parts.append(downloads if source.downloadable else "pubench cannot download them.")
    parts += [_doc(importlib.import_module(type(source).__module__)), _doc(type(source))]
    return parts


def _doc(thing: object) -> str:
    return markdown_of(inspect.getdoc(thing) or "")


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

MECHANISMS = """# Labeling mechanisms

Which positives get a label, where labels are simulated (`--mech KEY`). [Data and labels](data.md#who-is-labeled) says
how many, and what p(x) is; [What the settings mean](settings.md#who-gets-a-label-scar-and-sar) what SCAR and SAR are.

"""

METRICS = """# Metrics

What is measured of scores s and decisions (positive where s > 0). [How every number is computed](numbers.md) says on
which rows and how. A metric that needs true labels is an *oracle*: it is marked so in every table.

"""

BACKBONES = """# Networks

What `run.backbone()` builds. A data set names its own; `--backbone KEY` takes another. A network has `outputs` outputs,
one for most methods; the last layer has no activation.

"""

PRIORS = """# Prior estimators

`--prior estimated:KEY` gives the method an estimate of π in place of the true one. The record keeps the estimate, its
interval and its diagnostics next to the true prior. [Estimating the class prior](prior-estimation.md) says what each
assumes, how it fails, and what the scores are that most of them read.

"""


def mechanisms(infos: Iterable[MechanismInfo]) -> str:
    """The page of all mechanisms."""
    infos = list(infos)
    columns = ("key", "alias", "assumption", "reads p(x)", "variants")
    rows = (
        (_link(i), _keys(i.aliases), i.assumption, "yes" if i.needs_posterior else "no", _keys(i.variants))
        for i in infos
    )
    return _page(MECHANISMS, columns, rows, infos)


def metrics(infos: Iterable[MetricInfo]) -> str:
    """The page of all metrics."""
    infos = list(infos)
    columns = ("key", "oracle", "assumes", "measured on", "chooses an epoch", "better")
    rows = [
        (
            _link(i),
            "yes" if i.oracle else "",
            ", ".join(sorted(i.assumes)),
            "test and validation rows" if i.needs <= {"truth"} else "validation rows",
            "yes" if i.criterion else "",
            "higher" if i.higher_is_better else "lower",
        )
        for i in infos
    ]
    return _page(METRICS, columns, rows, infos)


def backbones(infos: Iterable[BackboneInfo]) -> str:
    """The page of all networks."""
    infos = list(infos)
    return _page(BACKBONES, ("key", "network", "rows"), ((_link(i), i.name, i.inputs) for i in infos), infos)


def priors(infos: Iterable[PriorInfo]) -> str:
    """The page of all prior estimators."""
    infos = list(infos)
    if not infos:
        return PRIORS + "None is installed yet. `pubench list priors` says so as well.\n"
    return _page(PRIORS, ("key", "estimator", "reads"), ((_link(i), i.name, i.inputs) for i in infos), infos)


def _page(introduction: str, columns: tuple[str, ...], rows: Iterable[tuple[str, ...]], infos: Iterable[InfoT]) -> str:
    """A table, then a section per plugin."""
    return introduction + "\n\n".join([table(columns, rows), *(_section(info) for info in infos)]) + "\n"


def _section(info: Info) -> str:
    parts = [f"## {info.name} {{: #{info.key} }}", f"`{info.key}`: {info.summary}.", _doc(load(info))]
    parts += [f"Follows {info.follows}." if info.follows else "", _cited(info)]
    return "\n\n".join(part for part in parts if part)


def _link(info: Info) -> str:
    return f"[`{info.key}`](#{info.key})"


def _keys(keys: Iterable[str]) -> str:
    return ", ".join(f"`{key}`" for key in keys)


def _cited(info: Info) -> str:
    return citation(asdict(info.reference) if info.reference else None)
