"""The tokens that decide what Python source computes: without comments, docstrings and layout."""

from __future__ import annotations

import ast
import hashlib
import io
import tokenize
from collections import deque
from collections.abc import Iterator
from pathlib import Path

#: Tokens that say nothing about what is computed.
_SILENT = {tokenize.COMMENT, tokenize.NL, tokenize.ENCODING, tokenize.ENDMARKER}
#: Line from 1, column in characters.
Position = tuple[int, int]


def token_hash(text: str) -> str:
    """SHA-256 over the tokens of Python source, comments, docstrings and layout apart; over text that is no Python."""
    try:
        tokens = list(tokens_of(text))
    except (SyntaxError, tokenize.TokenError):
        tokens = [text]
    return hashlib.sha256("\0".join(tokens).encode()).hexdigest()


def tokens_of(text: str) -> Iterator[str]:
    """The tokens that decide what Python source computes, the same in every version of Python.

    Raises SyntaxError or tokenize.TokenError if it is not Python.
    """
    lines = io.StringIO(text).readlines()  # as Python counts them: str.splitlines knows more ends of lines
    docstrings = _docstrings(ast.parse(text), lines)
    begun: list[Position] = []  # f-strings, which newer versions take apart
    silent_line = False
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        name = tokenize.tok_name[token.type]
        if name in ("FSTRING_START", "TSTRING_START"):
            begun.append(token.start)
        elif name in ("FSTRING_END", "TSTRING_END"):
            start = begun.pop()
            if not begun:
                yield _between(lines, start, token.end)
        elif begun or token.type in _SILENT:
            continue
        elif token.type == tokenize.STRING and any(a <= token.start and token.end <= b for a, b in docstrings):
            silent_line = True
        elif token.type == tokenize.NEWLINE:
            if not silent_line:
                yield "NEWLINE"
            silent_line = False
        else:
            yield name if token.type in (tokenize.INDENT, tokenize.DEDENT) else token.string


def statements(tree: ast.AST) -> Iterator[ast.AST]:
    """A tree's nodes in the order of :func:`ast.walk`, expressions apart: most nodes, and no statement is in them."""
    pending = deque([tree])
    while pending:
        node = pending.popleft()
        pending.extend(child for child in ast.iter_child_nodes(node) if not isinstance(child, ast.expr))
        yield node


def _docstrings(tree: ast.AST, lines: list[str]) -> list[tuple[Position, Position]]:
    """(start, end) of every docstring, as (line from 1, column in characters)."""
    found = []
    for node in statements(tree):
        if not isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)) or not node.body:
            continue
        first = node.body[0]
        if isinstance(first, ast.Expr) and isinstance(first.value, ast.Constant) and isinstance(first.value.value, str):
            assert first.end_lineno is not None
            assert first.end_col_offset is not None
            found.append(
                (
                    (first.lineno, _characters(lines[first.lineno - 1], first.col_offset)),
                    (first.end_lineno, _characters(lines[first.end_lineno - 1], first.end_col_offset)),
                )
            )
    return found


def _characters(line: str, offset: int) -> int:
    """A column in characters from one in UTF-8 bytes."""
    return len(line.encode()[:offset].decode())


def _between(lines: list[str], start: Position, end: Position) -> str:
    if start[0] == end[0]:
        return lines[start[0] - 1][start[1] : end[1]]
    inner = lines[start[0] : end[0] - 1]
    return "".join([lines[start[0] - 1][start[1] :], *inner, lines[end[0] - 1][: end[1]]])


def source_text(file: Path) -> str:
    """The text of a Python file in the encoding that it declares."""
    with tokenize.open(file) as stream:
        return stream.read()
