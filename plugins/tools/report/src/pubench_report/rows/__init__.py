"""Rows of runs: one table of columns, and one frame whatever file they are in.

``columns`` declares them, ``record`` fills them from a record, ``files`` reads and writes files of them, ``runs`` makes
runs of rows.
"""
