"""``slurm.yaml``: what the jobs of a cluster need, under the names that submitit and benchopt have for it."""

from __future__ import annotations

import math
import re
from pathlib import Path
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError, model_validator

from pubench_cli.yaml_layers import read_yaml
from pubench_core.errors import RequestError, unknown

#: Seconds of a job for which nothing is said.
DEFAULT_TIME = 7200
#: Keys of submitit that say how it starts Python; a script needs none of them.
_OF_SUBMITIT = {"folder", "python", "srun_args", "use_srun", "max_num_timeout", "stderr_to_stdout", "wckey"}


class Slurm(BaseModel):
    """Needs of a job. Every field may be written with the prefix ``slurm_``; times are as sbatch reads them."""

    model_config = ConfigDict(extra="forbid", frozen=True, coerce_numbers_to_str=True)

    backend: Literal["submitit", "slurm"] = "slurm"
    time: str | None = Field(None, description="of a job: minutes, MM:SS, HH:MM:SS or D-HH:MM:SS")
    timeout_min: int | None = Field(None, gt=0, description="the same, in minutes")
    partition: str | None = None
    account: str | None = None
    qos: str | None = None
    constraint: str | None = None
    exclude: str | None = None
    comment: str | None = None
    name: str | None = None
    job_name: str | None = None
    nodes: int = Field(1, ge=1, le=1, description="a run takes one node")
    ntasks_per_node: int = Field(1, ge=1, le=1)
    tasks_per_node: int = Field(1, ge=1, le=1)
    cpus_per_task: int = Field(1, ge=1, le=1024)
    mem: str | None = None
    mem_gb: float | None = Field(None, gt=0)
    mem_per_cpu: str | None = None
    gres: str | None = None
    gpus_per_node: str | None = None
    gpus_per_task: str | None = None
    array_parallelism: int | None = Field(None, ge=1, description="jobs at once")
    max_array_size: int = Field(1001, ge=1, description="of the cluster: scontrol show config says")
    signal_delay_s: int = Field(120, ge=10, description="seconds from the signal to the end of a job's time")
    setup: tuple[str, ...] = Field((), description="lines of the script before the command, #SBATCH lines too")
    additional_parameters: dict[str, str | int | float | bool] = Field({}, description="further options of sbatch")

    @model_validator(mode="before")
    @classmethod
    def _plain_names(cls, given: dict[str, Any]) -> dict[str, Any]:
        plain = {str(name).removeprefix("slurm_"): value for name, value in given.items()}
        if isinstance(plain.get("additional_parameters"), dict) and "cpus-per-task" in plain["additional_parameters"]:
            others = dict(plain["additional_parameters"])
            plain |= {"cpus_per_task": others.pop("cpus-per-task"), "additional_parameters": others}
        return {name: value for name, value in plain.items() if name not in _OF_SUBMITIT}

    @property
    def seconds(self) -> int:
        """Seconds that a job may take."""
        if self.time is None:
            return DEFAULT_TIME if self.timeout_min is None else 60 * self.timeout_min
        days, _, clock = self.time.rpartition("-")
        parts = [int(part) for part in clock.split(":")]
        if days:  # days-hours[:minutes[:seconds]]
            parts += [0] * (3 - len(parts))
        elif len(parts) == 1:  # minutes
            parts = [0, parts[0], 0]
        hours, minutes, seconds = [0] * (3 - len(parts)) + parts
        return 86_400 * int(days or 0) + 3600 * hours + 60 * minutes + seconds

    @property
    def has_gpu(self) -> bool:
        """Whether jobs ask for a GPU."""
        others = " ".join(f"{name}={value}" for name, value in self.additional_parameters.items())
        return any((self.gres, self.gpus_per_node, self.gpus_per_task)) or "gpu" in others

    def options(self, *, gpu: bool) -> dict[str, str]:
        """Options of sbatch, those for a GPU only if one is wanted."""
        named = ("partition", "account", "qos", "constraint", "exclude", "comment", "mem", "mem_per_cpu")
        of_gpu = ("gres", "gpus_per_node", "gpus_per_task") if gpu else ()
        found = {name.replace("_", "-"): getattr(self, name) for name in (*named, *of_gpu)}
        found |= {"mem": f"{math.ceil(1024 * self.mem_gb)}M"} if self.mem_gb is not None else {}
        found |= {"time": _clock(self.seconds), "cpus-per-task": self.cpus_per_task, "ntasks": 1}
        others = {name.replace("_", "-"): value for name, value in self.additional_parameters.items()}
        found |= {name: value for name, value in others.items() if gpu or "gpu" not in f"{name}={value}"}
        return {
            name: "" if value is True else str(value) for name, value in found.items() if value not in (None, False)
        }


def _clock(seconds: int) -> str:
    return f"{seconds // 3600:02}:{seconds % 3600 // 60:02}:{seconds % 60:02}"


_WORDS = [f"{prefix}{name}" for name in Slurm.model_fields for prefix in ("", "slurm_")]


def read_config(path: Path | None) -> Slurm:
    """A configuration; the defaults if there is no file. Raises RequestError for what is wrong in it."""
    if path is None:
        return Slurm()
    values = read_yaml(path, what="a Slurm configuration", fields=_WORDS).values
    # YAML reads 01:00:00 as a number to the base of 60, after which 30:00 and 1800 are the same
    if written := re.search(r"(?m)^(slurm_)?time:\s*['\"]?([\d:-]+)", path.read_text(encoding="utf-8")):
        values = {**values, f"{written[1] or ''}time": written[2]}
    try:
        found = Slurm.model_validate(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        key = str(first["loc"][0])
        if first["type"] == "extra_forbidden":
            raise RequestError(
                f"{path}: {unknown('key', key, Slurm.model_fields)}; additional_parameters takes others"
            ) from None
        raise RequestError(f"{path}: {key}: {first['msg'].lower()}, got {first['input']!r}") from None
    if found.time is not None and not re.fullmatch(r"(\d+-\d+(:\d+){0,2}|\d+(:\d+){0,2})", found.time):
        raise RequestError(f"{path}: time must be minutes, MM:SS, HH:MM:SS or D-HH:MM:SS, got {found.time!r}")
    if found.seconds <= 2 * found.signal_delay_s:
        raise RequestError(
            f"{path}: jobs of {found.seconds} s are too short; they end {found.signal_delay_s} s earlier"
        )
    return found
