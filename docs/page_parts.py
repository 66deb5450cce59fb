"""Helpers of the mkdocs hooks: Markdown tables, raw rows, and pages that are made when the site is built."""

from __future__ import annotations

import importlib.util
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

BENCHMARKS = Path(__file__).parents[1] / "benchmarks"


def add_pages(files: Files, config: MkDocsConfig, pages: Mapping[str, str]) -> None:
    """Adds generated pages: path in the site's sources -> Markdown."""
    from mkdocs.structure.files import File

    for path, content in pages.items():
        files.append(File.generated(config, path, content=content))


def expand_navigation(config: MkDocsConfig, index: str, pages: Iterable[tuple[str, str]]) -> None:
    """Makes the navigation's entry for the page ``index`` a section: that page, then (title, path) of the others."""
    section = [index, *({title: path} for title, path in pages)]
    config.nav = _expanded(config.nav, index, section)


def _expanded(entry: Any, index: str, section: list[Any]) -> Any:
    if isinstance(entry, list):
        return [_expanded(each, index, section) for each in entry]
    if isinstance(entry, dict):
        return {
            title: section if inner == index else _expanded(inner, index, section) for title, inner in entry.items()
        }
    return entry


def table(columns: Iterable[str], rows: Iterable[Iterable[Any]]) -> str:
    """A Markdown table; nothing if there is no row."""
    lines = [table_row(cells) for cells in rows]
    columns = list(columns)
    return "\n".join([table_row(columns), table_row(["---"] * len(columns)), *lines]) if lines else ""


def table_row(cells: Iterable[Any]) -> str:
    """A line of a Markdown table."""
    return "| " + " | ".join(str(cell).replace("|", "\\|").replace("\n", " ") for cell in cells) + " |"


@cache
def summary_script() -> Any:
    """``benchmarks/summary.py``, which reads the raw rows; the scripts there are no package."""
    spec = importlib.util.spec_from_file_location("benchmarks_summary", BENCHMARKS / "summary.py")
    assert spec is not None
    assert spec.loader is not None
    module = sys.modules[spec.name] = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def marked(name: str, rows: Iterable[Any]) -> str:
    """A name, with a mark if any of its rows of accuracy is older than the present engine."""
    return f"{name} {summary_script().OLDER}" if any(row.older for row in rows) else name


def origin(rows: Iterable[Any]) -> str:
    """The files, commits and machines of raw rows, and what the mark means if any of them has it."""
    rows = list(rows)
    files, commits = (sorted({getattr(row, name) for row in rows}) for name in ("file", "commit"))
    machines = "; ".join(sorted({row.machine for row in rows}))
    said = f"Raw rows: {listed(files)} in `benchmarks/results/`; commit {listed(commits)}; {machines}."
    older = sum(getattr(row, "older", False) for row in rows)
    script = summary_script()
    return f"{said} {script.OLDER}: {older} of {len(rows)} runs are of an {script.OLDER_ROWS}." if older else said


def listed(names: Iterable[str]) -> str:
    """Names as code, with commas between."""
    return ", ".join(f"`{name}`" for name in names)


def capitalized(text: str) -> str:
    """A sentence: the first letter large, a period at the end."""
    return text[:1].upper() + text[1:] + ("" if text.endswith(".") else ".")


def citation(reference: Mapping[str, Any] | None) -> str:
    """Authors, title and place of a publication; empty if there is none."""
    if not reference:
        return ""
    cited = f"{reference['authors']}: *{reference['title']}*. {reference['venue']} {reference['year']}."
    return f"{cited} [{reference['url']}]({reference['url']})" if reference["url"] else cited


#: ``:class:`~package.module.Name``` and its kin, as docstrings write them.
_ROLE = re.compile(r":(?:class|func|meth|mod|data|attr|exc):`(~?)([^`]+)`")
#: Two or more lines of an interactive session, or one.
_SESSION = re.compile(r"^(?P<indent>[ ]*)>>> .*(?:\n(?P=indent)\S.*)*", re.MULTILINE)


def markdown_of(docstring: str, link: Callable[[str, str], str] | None = None) -> str:
    """A docstring of this project as Markdown: roles become code, sessions (``>>>``) become blocks of code.

    ``link(name, shown)``: what stands for a role, where it is not plain code.
    """

    def role(found: re.Match[str]) -> str:
        name = found[2].lstrip(".")
        shown = name.rpartition(".")[2] if found[1] else name
        return link(name, shown) if link is not None else f"`{shown}`"

    def session(found: re.Match[str]) -> str:
        indent = found["indent"]
        return f"{indent}```pycon\n{found[0]}\n{indent}```"

    return re.sub(r"::$", ":", _SESSION.sub(session, _ROLE.sub(role, docstring)), flags=re.MULTILINE)
