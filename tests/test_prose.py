"""Plain words: forms that this project does not use, in its code, its messages and its pages."""

from __future__ import annotations

import ast
import functools
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
#: What not to write -> what to write.
WORDS = {
    r"\banew\b": "again",
    r"\bas (?:it|they) stands?\b": "as it is",
    r"(?<![\w#/`-])beside(?![-\w])": "next to, besides or with",
    r"\bbut for\b": "except",
    r"\b(?:lies|stands?) (?:here|there|beside)\b": "is",
    r"\b(?:one|somebody)'s own\b": "your",
    r"\b(?:are|is|was|were|prior) told\b(?! apart)": "is given",
    r"\bwhat (?:is|would be) right\b": "what is expected",
    r"\bwhere there (?:are|is) no(?:ne)?\b": "if there is none",
    r"\bwhoever\b": "the person or process that",
}
#: In what is raised.
MESSAGES = {r"(?<!\bprior )\b(?:are|is) right\b": "must be X, got Y"}
#: A docstring makes sense in a search result: it begins with a verb or a noun.
FIRST = {"And", "As", "But", "Of", "What", "With"}
#: Pages that newcomers read first: their sentences have at most ``LONGEST`` words.
FRONT = (
    *("README.md", "AGENTS.md", "CONTRIBUTING.md", "CHANGELOG.md"),
    *(
        f"docs/pages/{page}.md"
        for page in (
            *("index", "findings", "first-run", "running", "user-tables", "python", "selection", "results"),
            *("records", "studies", "classics", "glossary", "prior-estimation", "data"),
        )
    ),
)
LONGEST = 25


def tracked(*patterns: str) -> list[Path]:
    listed = subprocess.run(["git", "ls-files", *patterns], cwd=ROOT, capture_output=True, text=True, check=True)
    return [ROOT / name for name in listed.stdout.splitlines() if Path(ROOT, name).is_file()]


def of_tests(path: Path) -> bool:
    return "tests" in path.relative_to(ROOT).parts or path.name == "conftest.py"


SOURCES = [path for path in tracked("*.py") if not of_tests(path)]
PAGES = tracked("*.md")


@functools.cache
def nodes(path: Path) -> list[ast.AST]:
    """The nodes of a file, its module first."""
    return list(ast.walk(ast.parse(path.read_text(encoding="utf-8"))))


def texts(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of every string and comment of a file of Python."""
    source = path.read_text(encoding="utf-8")
    for number, line in enumerate(source.splitlines(), 1):
        if line.lstrip().startswith("#"):
            yield number, line
    for node in nodes(path):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield node.lineno, node.value


def docstrings(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of the docstrings of a file that are not of private names."""

    def within(node: ast.AST, public: bool) -> Iterator[tuple[int, str]]:
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            name = getattr(node, "name", "")
            public = public and (not name.startswith("_") or name.endswith("__"))
            if public and (text := ast.get_docstring(node)):
                yield node.body[0].lineno, text
        for child in ast.iter_child_nodes(node):
            yield from within(child, public)

    return within(nodes(path)[0], True)


def raised(path: Path) -> Iterator[tuple[int, str]]:
    """Line and text of what a file raises."""
    for node in nodes(path):
        if isinstance(node, ast.Raise) and node.exc is not None:
            parts = [one.value for one in ast.walk(node.exc) if isinstance(one, ast.Constant)]
            yield node.lineno, "".join(part if isinstance(part, str) else "" for part in parts)


def faults(path: Path, where: Iterator[tuple[int, str]], words: dict[str, str]) -> list[str]:
    return [
        f"{path.relative_to(ROOT)}:{line + text.count(chr(10), 0, hit.start())}: {hit[0]!r}: write {instead}"
        for line, text in where
        for form, instead in words.items()
        for hit in re.finditer(form, text, re.IGNORECASE)
    ]


def sentences(text: str) -> Iterator[str]:
    """Sentences of a page: paragraphs and items of lists; no code, no tables, no links' targets."""
    text = re.sub(r"^---\n.*?\n---\n|```.*?```|<!--.*?-->|<[^>]+>", "", text, flags=re.DOTALL)
    text = re.sub(r"\]\([^)]*\)|`[^`]*`", lambda hit: "]" if hit[0].startswith("]") else "code", text)
    for block in re.split(r"\n\s*\n|\n(?=- |\d+\. )", text):
        if not block.lstrip().startswith(("|", "#", "!")):
            yield from re.split(r"(?<=[.!?:;])\**\s+", " ".join(block.split()))


def test_no_form_that_has_a_plainer_one_is_in_code_or_pages() -> None:
    found = [line for path in SOURCES for line in faults(path, texts(path), WORDS)]
    found += [line for path in PAGES for line in faults(path, iter([(1, path.read_text(encoding="utf-8"))]), WORDS)]
    assert not found, "\n".join(found)


def test_an_error_says_what_must_be_not_what_is_right() -> None:
    found = [line for path in SOURCES for line in faults(path, raised(path), MESSAGES)]
    assert not found, "\n".join(found)


def test_a_docstring_begins_with_a_verb_or_a_noun() -> None:
    found = [
        f"{path.relative_to(ROOT)}:{line}: {text.splitlines()[0]}"
        for path in SOURCES
        for line, text in docstrings(path)
        if text.split()[0] in FIRST
    ]
    assert not found, "\n".join(found)


@pytest.mark.parametrize("page", FRONT)
def test_sentences_of_the_front_pages_have_at_most_25_words(page: str) -> None:
    text = (ROOT / page).read_text(encoding="utf-8")
    long = [one for one in sentences(text) if len(one.split()) > LONGEST]
    assert not long, "\n".join(f"{len(one.split())} words: {one}" for one in long)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("purity=2: a number in (0, 1] is right", 1),
        ("purity must be in (0, 1], got 2", 0),
        ("the scores hold if the prior is right", 0),
    ],
)
def test_the_form_of_a_message_is_recognized(text: str, expected: int) -> None:
    assert sum(bool(re.search(form, text)) for form in MESSAGES) == expected


@pytest.mark.parametrize("text", ["starts anew", "stands beside it", "None where there is none", "the prior told"])
def test_an_old_form_is_recognized(text: str) -> None:
    assert any(re.search(form, text) for form in WORDS)
