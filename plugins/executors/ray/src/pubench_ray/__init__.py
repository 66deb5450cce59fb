"""Runs of a study as tasks of a Ray cluster."""

from pubench_core import ExecutorInfo, hookimpl


@hookimpl
def pubench_executors() -> list[ExecutorInfo]:
    return [
        ExecutorInfo(
            key="ray",
            name="Ray cluster",
            summary="Tasks of a Ray cluster; their results come back and are stored here.",
            load="pubench_ray.pool:pool",
            address="HOST:PORT, ray://HOST:PORT or auto; by default a cluster on this machine",
        )
    ]
