"""Names that this package adds to ``pubench`` in Python, and what it does for the command line."""

from pubench_core import ApiInfo, hookimpl


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="PUTable", load="pubench_datasets_tables.frames:PUTable"),
        ApiInfo(name="data", load="pubench_datasets_tables.frames:data"),
        ApiInfo(name="decisions", load="pubench_datasets_tables.decisions:decisions"),
        ApiInfo(name="predictions", load="pubench_datasets_tables.decisions:predictions"),
    ]


@hookimpl
def pubench_decisions() -> str:
    return "pubench_datasets_tables.decisions:decisions_of"
