"""A method that does, as instructed, what no method should do, and a listener as bad as it."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from pubench.method import Field, Method, MethodConfig, PUData, Run
from pubench_core import MethodInfo, hookimpl


class Config(MethodConfig):
    does: str = Field("nothing", description="what")
    seconds: float = Field(0.0, ge=0, description="sleep per epoch")
    mark: str = Field("", description="file to which a line is added when training starts")


class Stop(BaseException):
    """No Exception."""


class Unprintable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("not even this")


class Kept:
    """State of any kind."""

    def __init__(self, **state: Any) -> None:
        self.state = state

    def state_dict(self) -> dict[str, Any]:
        return self.state

    def load_state_dict(self, state: dict[str, Any]) -> None:
        self.state = state


def leave_traces() -> None:
    """Everything that a process shares."""
    torch.set_default_dtype(torch.float64)
    torch.set_grad_enabled(False)
    torch.autograd.set_detect_anomaly(True)
    torch.backends.mkldnn.enabled = False
    torch.set_flush_denormal(True)
    np.seterr(all="raise")
    warnings.simplefilter("error")
    os.environ["PUBENCH_DATA"] = "/nowhere"
    os.environ.pop("HOME", None)
    os.chdir("/")


def do(what: str) -> None:
    match what:
        case "exit":
            sys.exit(0)
        case "killed":
            os.kill(os.getpid(), signal.SIGKILL)
        case "out of memory":
            raise torch.OutOfMemoryError("CUDA out of memory")
        case "fails":
            raise ValueError("it is too late")
        case "generator-exit":
            raise GeneratorExit
        case "cancelled":
            raise asyncio.CancelledError
        case "own":
            raise Stop("my own")
        case "unprintable":
            raise Unprintable
        case "surrogate":
            raise ValueError("a name like \udcff")
        case "traces":
            leave_traces()
        case "traces and fails":
            leave_traces()
            raise ValueError("after all that")


class Worst(Method[Config]):
    scored_by = ("kept",)

    def fit(self, data: PUData, run: Run[Config]) -> None:
        x, labeled, what = data.x.reshape(len(data), -1), data.labeled, self.config.does
        if self.config.mark:
            with Path(self.config.mark).open("a") as file:
                file.write(f"{os.getpid()}\n")
        for _ in run.epochs(1):
            time.sleep(self.config.seconds)
            direction = x[labeled].mean(dim=0) - x[~labeled].mean(dim=0)
            more: dict[str, Any] = {
                "text": {"names": np.array(["a", "b"])},
                "object": {"names": np.array([None, 1], dtype=object)},
                "sparse": {"matrix": torch.eye(3).to_sparse()},
            }.get(what, {})
            self.kept = Kept(direction=direction.numpy(), **more)
        do(what)
        self.trained = True

    def decision_function(self, x: Tensor) -> Tensor:
        if self.config.does == "interrupted" and hasattr(self, "trained"):
            self.config.__dict__["does"] = "nothing"  # once
            os.kill(os.getpid(), signal.SIGINT)
        return x.reshape(len(x), -1) @ torch.from_numpy(self.kept.state["direction"])


@hookimpl
def pubench_methods() -> list[MethodInfo]:
    return [MethodInfo(key="worst", name="Worst", summary="a test double", load=f"{__name__}:Worst")]
