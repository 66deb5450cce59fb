"""Users' tables as data: what reads them. The way from a file to features is in the modules of this package."""

from pubench_core import TableInfo, hookimpl

_TEXT = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".txt", ".txt.gz")
#: Ends of names of files that are read.
SUFFIXES = (*_TEXT, ".xlsx", ".parquet", ".npz", ".jsonl", ".ndjson", ".svmlight", ".libsvm", ".arff")


@hookimpl
def pubench_tables() -> list[TableInfo]:
    return [
        TableInfo(
            key="tables",
            name="Tables",
            summary="a file or frame in which some rows are labeled positive: csv, tsv, txt, xlsx, parquet, npz, ...",
            suffixes=SUFFIXES,
            load="pubench_datasets_tables.user_table:Tables",
        )
    ]
