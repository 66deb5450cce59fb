"""Records that others made, checked and carried out again; dated boards of them, and submissions to boards.

``folder`` finds the records and looks at their files; ``record`` compares each with what its spec, code, data and
scores (``score_checks``) give; ``reproduction`` carries a run out again, and ``rerun`` judges what it gives. All of
them compare field by field (``difference``).

``boards`` builds a dated board and checks one; ``archive`` packs a submission, and opens one that anybody may have
made; ``submission`` judges it, ``duplicates`` compares its scores with those of others.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="verify",
        panel="Results",
        load="pubench_verify.cli.commands:verify",
        example="pubench verify results --rerun 2",
    ),
    CommandInfo(
        path="reproduce",
        panel="Run and compare",
        load="pubench_verify.cli.commands:reproduce",
        example="pubench reproduce 783e61fad537fd47 --results results",
    ),
    CommandInfo(
        path="submit",
        panel="Results",
        load="pubench_verify.cli.commands:submit",
        example="pubench submit results --name my-method --with board@2026.12",
    ),
    CommandInfo(
        path="board",
        panel="Results",
        help="Dated boards: frozen rows of finished runs that others can compare with.",
    ),
    CommandInfo(
        path="board build",
        load="pubench_verify.cli.commands:build",
        example="pubench board build 2026.12 --from results --out boards",
    ),
    CommandInfo(
        path="board check",
        load="pubench_verify.cli.commands:check",
        example="pubench board check boards/2026.12",
    ),
]
API = [
    ApiInfo(name="Reproduction", load="pubench_verify.reproduction:Reproduction"),
    ApiInfo(name="reproduce", load="pubench_verify.reproduction:reproduce"),
    ApiInfo(name="Verification", load="pubench_verify.result:Verification"),
    ApiInfo(name="verify", load="pubench_verify.verification:verify"),
]


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return COMMANDS


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return API
