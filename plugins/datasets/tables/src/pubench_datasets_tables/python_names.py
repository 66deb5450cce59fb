"""Names that this package adds to ``pubench`` in Python."""

from pubench_core import ApiInfo, hookimpl


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="PUTable", load="pubench_datasets_tables.frames:PUTable"),
        ApiInfo(name="RunResult.decisions", load="pubench_datasets_tables.decisions:decisions"),
        ApiInfo(name="RunResult.predictions", load="pubench_datasets_tables.decisions:predictions"),
        ApiInfo(name="data", load="pubench_datasets_tables.frames:data"),
        ApiInfo(name="run.decisions", load="pubench_datasets_tables.decisions:decisions_of"),
    ]
