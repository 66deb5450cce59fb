"""The batch script of an array, each of whose tasks is a worker on the same folder of records."""

from __future__ import annotations

import math
import shlex
from collections.abc import Sequence
from pathlib import Path

from .config import Slurm

#: Seconds of work that a task should have, and the most.
SHORT, LONG = 1800.0, 7200.0
#: How often a task is started again: what cannot be stored would else be tried forever.
MOST_RESTARTS = 20

_BODY = """
# caches of this node: many machines would write the same files of a network home
export XDG_CACHE_HOME="${{SLURM_TMPDIR:-${{TMPDIR:-/tmp}}}}/pubench-cache-${{USER:-me}}"
cd {folder} || exit 2

summary=$(mktemp)
{command} > "$summary" &
run=$!
# Slurm warns this script {delay} s before the time is over, and when it takes the node away. The first signal starts no
# more runs, the second gives up those in work; another task, or this one when it is started again, does them.
stop() {{
    kill -TERM "$run"
    for _ in $(seq {patience}); do kill -0 "$run" 2>/dev/null || return; sleep 1; done
    kill -TERM "$run"
}}
trap stop TERM
wait "$run"
code=$?
while kill -0 "$run" 2>/dev/null; do wait "$run"; code=$?; done
cat "$summary"
left=$(sed -n 's/.*"left": \\([0-9]*\\).*/\\1/p' "$summary")
rm -f "$summary"
# 2 is a wrong request, which is wrong again
if [ "$code" -ne 2 ] && [ "${{left:-1}}" -gt 0 ] && [ "${{SLURM_RESTART_COUNT:-0}}" -lt {restarts} ]; then
    scontrol requeue "${{SLURM_ARRAY_JOB_ID}}_${{SLURM_ARRAY_TASK_ID}}"
fi
exit "$code"
"""


def tasks_for(runs: int, seconds: float | None, slurm: Slurm) -> int:
    """Number of tasks: an hour of work each, as far as recorded times tell; four runs for each CPU otherwise."""
    at_once = slurm.cpus_per_task
    if seconds is None:
        wanted = math.ceil(runs / (4 * at_once))
    else:
        usable = min(LONG, max(SHORT, 0.5 * slurm.seconds))
        wanted = math.ceil(seconds / at_once / usable)
    return max(1, min(wanted, math.ceil(runs / at_once), slurm.max_array_size - 1 or 1))


def script(
    study: str, results: Path, only: Sequence[str], tasks: int, slurm: Slurm, *, gpu: bool, options: Sequence[str]
) -> str:
    """The text of a batch script. ``results``: absolute. ``options``: further ones of 'pubench study run'."""
    logs = results / "studies" / study / "slurm"
    limit = f"%{slurm.array_parallelism}" if slurm.array_parallelism is not None else ""
    header = {
        "job-name": slurm.job_name or slurm.name or f"pubench-{study}",
        "array": f"0-{tasks - 1}{limit}",
        **slurm.options(gpu=gpu),
        "output": f"{logs}/%A_%a.log",
        "open-mode": "append",
        "requeue": "",
        "signal": f"B:TERM@{slurm.signal_delay_s}",
    }
    lines = [f"#SBATCH --{name}{f'={value}' if value else ''}" for name, value in header.items()]
    lines += [line for line in slurm.setup if line.startswith("#SBATCH")]
    setup = [line for line in slurm.setup if not line.startswith("#SBATCH")]
    no_more = max(60, slurm.seconds - slurm.signal_delay_s - 60)
    run = [
        "pubench",
        "study",
        "run",
        study,
        "--results",
        str(results),
        *(part for text in only for part in ("--only", text)),
    ]
    run += [*options, "--offline", "--max-time", f"{no_more}s", "--format", "json"]
    command = f'{shlex.join(run)} -j "${{SLURM_CPUS_PER_TASK:-1}}"' if not gpu else f"{shlex.join(run)} --gpus 0"
    body = _BODY.format(
        folder=shlex.quote(str(Path.cwd())),
        command=command,
        delay=slurm.signal_delay_s,
        patience=slurm.signal_delay_s // 2,
        restarts=MOST_RESTARTS,
    )
    return "\n".join(["#!/bin/bash", *lines, "", *setup]) + body
