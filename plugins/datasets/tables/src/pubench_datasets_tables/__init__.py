"""Users' tables as data: what reads them. The way from a file to features is in the modules of this package."""

from pubench_core import TableInfo, hookimpl

#: Ends of the names of files that are read.
SUFFIXES = (".csv", ".csv.gz", ".tsv", ".tsv.gz", ".xlsx", ".parquet", ".npz")


@hookimpl
def pubench_tables() -> list[TableInfo]:
    return [
        TableInfo(
            key="tables",
            name="Tables",
            summary="a file or frame in which some rows are labeled positive: csv, tsv, xlsx, parquet, npz",
            suffixes=SUFFIXES,
            load="pubench_datasets_tables.reader:Tables",
        )
    ]
