"""Records that others made, checked: whether each agrees with its files, its code and its scores.

``folder`` finds the records and looks at their files; ``record`` compares each with what its spec, code and data
(``derived``) and its scores (``scores``) give; ``reproduction`` carries a run out again, and ``rerun`` judges what it
gives. Both compare field by field (``difference``). ``fresh`` tries a method on a problem that nobody knew.
"""

from __future__ import annotations

from pubench_core import ApiInfo, CommandInfo, hookimpl

COMMANDS = [
    CommandInfo(
        path="verify",
        panel="Results",
        load="pubench_verify.cli.verify:verify",
        help="Check records that others made: files, specs, code, measures from stored scores; run some of them again.",
        example="pubench verify results --rerun 2",
    ),
    CommandInfo(
        path="reproduce",
        panel="Run and compare",
        load="pubench_verify.cli.reproduce:reproduce",
        help="Run a record's spec again and say whether the scores are the same to the last bit; if not, what differs.",
        example="pubench reproduce 783e61fad537fd47 --results results",
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
