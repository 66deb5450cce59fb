"""Rows of runs: one table of columns, and one frame whatever file they are in.

``columns`` declares them, ``record`` fills them from a record, ``files`` reads and writes files of them, ``runs`` makes
runs of rows.
"""

from .columns import BOARD, COLUMNS, FILE, FRAME, LONG, RowColumn, names, types
from .files import Board, as_file, file_rows, has_rows, is_board, read_board, read_rows
from .record import RowSource, problem_of, rows_of

__all__ = [
    "BOARD",
    "COLUMNS",
    "FILE",
    "FRAME",
    "LONG",
    "Board",
    "RowColumn",
    "RowSource",
    "as_file",
    "file_rows",
    "has_rows",
    "is_board",
    "names",
    "problem_of",
    "read_board",
    "read_rows",
    "rows_of",
    "types",
]
