"""Stored results as tables, tests, reports, figures and leaderboards.

Floors, from below; ``tests/test_rooms.py`` has the list of modules:

- ``rows``: the columns of a run's row, and one frame of whatever holds rows; ``grouping`` says what may be averaged.
- ``ranking``, ``significance``: order, intervals, tests, and what cannot be told apart.
- tables: ``cells``, ``report.model`` and its tables, ``rendering`` in five formats.
- figures: ``drawing``.
- ``pages``.
- commands, and the Python names: ``results``, ``comparing``, ``comparison``, ``site``, ``cli``.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="compare-methods",
            panel="Run and compare",
            load="pubench_report.cli.commands:compare_methods",
            example="pubench compare-methods my-method nnpu vpu --data digits,breast-cancer --seeds 3",
        ),
        CommandInfo(
            path="site",
            panel="Results",
            load="pubench_report.cli.commands:site",
            example="pubench site results --out site",
        ),
        CommandInfo(
            path="study report",
            load="pubench_report.cli.commands:report",
            example="pubench study report results --study quick --format html",
        ),
        CommandInfo(
            path="study compare",
            load="pubench_report.cli.compare:compare",
            example="pubench study compare results --with pubench2026",
        ),
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="Results", load="pubench_report.results:Results"),
        ApiInfo(name="SideBySide", load="pubench_report.comparison:SideBySide"),
        ApiInfo(name="compare", load="pubench_report.comparing:compare"),
        ApiInfo(name="compare_with", load="pubench_report.comparison:compare_with"),
        ApiInfo(name="load_results", load="pubench_report.results:load_results"),
        ApiInfo(name="site", load="pubench_report.site.write:site"),
        ApiInfo(name="trace", load="pubench_report.rows.record:trace"),
    ]


@hookimpl
def pubench_frame() -> str:
    return "pubench_report.rows.files:write_parquet"


@hookimpl
def pubench_seeds() -> str:
    return "pubench_report.cli.seeds:run_seeds"
