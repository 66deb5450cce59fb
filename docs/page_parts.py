"""Helpers of the mkdocs hooks: pages that are made when the site is built, docstrings as Markdown."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

ROOT = Path(__file__).parents[1]
#: The rows that pages show: all committed ones; ``tests/test_docs.py`` names a folder with fewer.
ROWS = Path(os.environ.get("PUBENCH_DOCS_ROWS", ROOT / "benchmarks" / "results"))
sys.path.insert(0, str(ROOT))  # the queries of rows are a package of the repository

from benchmarks.pages.parts import render, table  # noqa: E402, F401 - what the hooks share


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
