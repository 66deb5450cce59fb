"""``pubench advise``: from a table without negatives to an answer.

``look``, ``labeling``, ``prior``, ``fitting`` (with ``portfolio`` and ``fits``), ``evidence``, ``choose`` and
``answer`` are the steps, ``advise`` carries them out, ``page`` shows them.
"""

from pubench_core import ApiInfo, CommandInfo, hookimpl


@hookimpl
def pubench_commands() -> list[CommandInfo]:
    return [
        CommandInfo(
            path="advise",
            panel="Your own data",
            load="pubench_advise.commands:advise",
            help="Recommend a method for a table without negatives, rank its rows, and name the rows to check next.",
            example="pubench advise my.csv --label-col labeled --goal review:200",
        )
    ]


@hookimpl
def pubench_api() -> list[ApiInfo]:
    return [
        ApiInfo(name="Advice", load="pubench_advise.page:Advice"),
        ApiInfo(name="advise", load="pubench_advise.advise:advise"),
    ]
