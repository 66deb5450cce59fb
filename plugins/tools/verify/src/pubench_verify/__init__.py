"""Records that others made, checked and carried out again; dated boards of them, and submissions to boards.

``verification`` finds out what it is given and asks every check. ``files`` looks at the files of a folder; ``record``
compares each record with what its spec, code, data and scores give. ``reproduction`` carries runs out again and judges
what they give. What they find is in ``findings``.

``boards`` builds a dated board and checks one; ``submission`` opens an archive that anybody may have made.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
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
            path="board",
            panel="Results",
            load="pubench_verify.cli.commands:board",
            example="pubench board 2026.12 --from results --out boards",
        ),
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="Reproduction", load="pubench_verify.reproduction:Reproduction"),
        ApiInfo(name="reproduce", load="pubench_verify.reproduction:reproduce"),
        ApiInfo(name="Verification", load="pubench_verify.findings:Verification"),
        ApiInfo(name="verify", load="pubench_verify.verification:verify"),
    ]
