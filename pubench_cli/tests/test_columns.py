"""Tables at every width: what is shown is whole, and what is not shown is named."""

from __future__ import annotations

import io
import re

from rich.console import Console

from pubench_cli.columns import PrintedColumn, print_table

COLUMNS = (
    PrintedColumn("method"),
    PrintedColumn("accuracy", right=True, rank=1),
    PrintedColumn("a rather long header", right=True, rank=2),
    PrintedColumn("what it says", wraps=True, rank=3),
)
ROWS = [
    ["nnpu", "0.9876", "-12.3456", "a risk that is kept from going below zero"],
    ["p3mix-c", "0.1234", "123456.789", "one two"],
]
NUMBERS = {"0.9876", "-12.3456", "0.1234", "123456.789"}


def printed(width: int, **more: str) -> str:
    text = io.StringIO()
    print_table(Console(file=text, width=width, highlight=False), COLUMNS, ROWS, **more)  # type: ignore[arg-type]
    assert max(len(line.rstrip()) for line in text.getvalue().splitlines()) <= width
    assert "…" not in text.getvalue()
    return text.getvalue()


def test_where_there_is_room_a_row_is_a_line() -> None:
    lines = [line.split() for line in printed(120).splitlines()]
    assert len(lines) == 3
    assert lines[1] == ["nnpu", "0.9876", "-12.3456", *ROWS[0][3].split()]


def test_no_number_is_ever_cut() -> None:
    columns = ("accuracy", {"0.9876", "0.1234"}), ("a rather long header", {"-12.3456", "123456.789"})
    for width in range(12, 121):
        text = printed(width)
        found = set(re.findall(r"-?\d+\.\d+", text))
        assert found <= NUMBERS
        hidden = re.search(r"not shown at this width: (.*)", " ".join(text.split()))
        for column, numbers in columns:
            gone = hidden is not None and column in hidden[1]
            assert gone != (numbers <= found), width


def test_nothing_is_lost_where_columns_go_below() -> None:
    for width in range(12, 121):
        text = printed(width, surplus="below")
        assert set(re.findall(r"-?\d+\.\d+", text)) == NUMBERS, width
        words = " ".join(text.split())
        for word in ("nnpu", "p3mix-c", "accuracy", "going", "zero"):
            assert word in words


def test_columns_are_left_out_by_rank_and_named_with_what_shows_them() -> None:
    text = printed(24, everything="pubench list methods --format csv")
    assert text.splitlines()[0].split() == ["method", "accuracy"]
    assert " ".join(text.split()).endswith(
        "not shown at this width: a rather long header, what it says (pubench list methods --format csv)"
    )


def test_texts_are_wrapped_before_a_column_goes() -> None:
    lines = printed(66).splitlines()
    assert lines[0].split() == ["method", "accuracy", "a", "rather", "long", "header", "what", "it", "says"]
    assert "not shown" not in " ".join(lines)
    assert len(lines) > 3


def test_where_not_even_two_columns_fit_a_row_becomes_lines() -> None:
    text = io.StringIO()
    columns = (PrintedColumn("key"), PrintedColumn("value", right=True))
    print_table(Console(file=text, width=12), columns, [["abcdefgh", "123.456"], ["b", ""]])
    assert [line.rstrip() for line in text.getvalue().splitlines()] == ["abcdefgh", "  value:", "123.456", "b"]


def test_a_table_without_rows_has_its_header() -> None:
    text = io.StringIO()
    print_table(Console(file=text, width=40), COLUMNS[:2], [])
    assert text.getvalue().split() == ["method", "accuracy"]


def test_brackets_and_wide_letters_are_what_they_are() -> None:
    text = io.StringIO()
    print_table(
        Console(file=text, width=40), (PrintedColumn("[name]"), PrintedColumn("n", right=True)), [["[red]甲乙", "1"]]
    )
    assert text.getvalue().splitlines()[1].split() == ["[red]甲乙", "1"]
