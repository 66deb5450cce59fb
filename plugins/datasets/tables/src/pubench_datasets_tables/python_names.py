"""Names that this package adds to ``pubench`` in Python."""

from pubench_core import ApiInfo, hookimpl


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="PUTable", load="pubench_datasets_tables.frames:PUTable"),
        ApiInfo(name="data", load="pubench_datasets_tables.frames:data"),
    ]
