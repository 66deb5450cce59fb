"""Checks that need a GPU, in ten minutes: rows (check, subject, what, value) in one file.

    make gpu                                     all checks, /tmp/gpu.csv
    python -m benchmarks.timing.gpu --pretend    the same steps on the CPU, as long as there is no GPU
    python -m benchmarks.timing.gpu --only methods,bits --limit 300 --published PU-BENCH

A check that fails is a row that says why. After ``--limit`` seconds no step begins; rows are written as they come.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import yaml
from pubench_backbones.networks import cnn_mri, lenet

import pubench
from benchmarks.raw_rows import append
from benchmarks.timing.published import published_code
from benchmarks.timing.turns import SCRIPT, timed
from pubench_core.errors import PubenchError
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import registry
from pubench_core.records.files import read_scores

#: (subject, what, value); one row of the file.
Row = tuple[str, str, object]


@dataclass(frozen=True)
class Asked:
    """Device of the checks."""

    device: str
    place: Path
    published: str | None
    packages: str
    pretend: bool
    images: str
    """of LeNet; a table stands for them on the CPU, where nothing is measured"""


def scores_and_seconds(asked: Asked, method: str, **given: Any) -> tuple[np.ndarray, float]:
    """Test scores of a short run, and its seconds of training."""
    warnings.simplefilter("ignore", pubench.PubenchWarning)
    given = {"data": "digits", "device": asked.device, "preset": "quick", **given}
    results = Path(tempfile.mkdtemp(dir=asked.place))
    run = pubench.run(method, c=0.1, seed=2, results=results, tracking=False, threads=1, select="last", **given)
    return read_scores(run.folder)[f"test_scores_{run.result.chosen.snapshot}"], run.result.seconds.training


def methods(asked: Asked) -> Iterator[Row]:
    """Every network method with preset ``quick`` on both devices: largest difference of scores, in their deviations."""
    for info in (info for info in registry().infos(MethodInfo) if "cuda" in info.devices):
        try:
            cpu, gpu = (scores_and_seconds(asked, info.key, device=d)[0] for d in ("cpu", asked.device))
        except PubenchError as error:
            yield info.key, "failed", str(error)[:300]
            continue
        yield info.key, "difference", np.abs(gpu - cpu).max() / max(cpu.std(), 1e-12)


def bits(asked: Asked) -> Iterator[Row]:
    """The same run in two new processes."""
    found = []
    for number in range(2):
        subprocess.run([SCRIPT, *words(asked, asked.place / f"bits-{number}")], check=True, capture_output=True)
        found.append(next((asked.place / f"bits-{number}").glob("*/scores.npz")).parent)
    one, other = map(read_scores, found)
    yield "nnpu", "same bits", all(np.array_equal(one[name], other[name], equal_nan=True) for name in one)


def precision(asked: Asked) -> Iterator[Row]:
    """How far scores of other precisions are from ``ieee``, in their deviations."""
    for method in ("nnpu", "vpu"):
        exact, seconds = scores_and_seconds(asked, method, data=asked.images)
        yield method, "ieee seconds", seconds
        for name in ("bf16",) if asked.pretend else ("tf32", "bf16"):
            near, seconds = scores_and_seconds(asked, method, data=asked.images, precision=name)
            yield method, f"{name} difference", np.abs(near - exact).max() / max(exact.std(), 1e-12)
            yield method, f"{name} seconds", seconds


def slots(asked: Asked) -> Iterator[Row]:
    """Twelve runs at once by 1, 2, 4 and 8."""
    for number in (1, 2) if asked.pretend else (1, 2, 4, 8):
        folder = study(asked, seeds=12)
        shared = ["-j", str(number)] if asked.pretend else ["--gpus", "0", "--slots-per-gpu", str(number)]
        began = time.perf_counter()
        subprocess.run([SCRIPT, "study", "run", "study.yaml", *shared], cwd=folder, check=True, capture_output=True)
        yield f"{number} slots", "seconds", time.perf_counter() - began


def graph(asked: Asked) -> Iterator[Row]:
    """A step as PyTorch launches it, and as one CUDA graph."""
    mlp = torch.nn.Sequential(torch.nn.Linear(57, 300), torch.nn.ReLU(), torch.nn.Linear(300, 1))
    nets = [("mlp", mlp, (57,)), ("lenet", lenet((1, 28, 28), 1), (1, 28, 28))]
    for name, net, shape in nets if asked.pretend else [*nets, ("cnn-mri", cnn_mri((1, 128, 128), 1), (1, 128, 128))]:
        net, x = net.to(asked.device), torch.randn(256, *shape, device=asked.device)
        optimizer = torch.optim.Adam(net.parameters(), capturable=not asked.pretend)

        def step(net: Any = net, x: torch.Tensor = x, optimizer: torch.optim.Adam = optimizer) -> None:
            optimizer.zero_grad(set_to_none=False)
            torch.sigmoid(-net(x)).mean().backward()
            optimizer.step()

        yield name, "eager seconds", per_step(asked, step)
        if not asked.pretend:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured):
                step()
            yield name, "graph seconds", per_step(asked, captured.replay)


def per_step(asked: Asked, step: Callable[[], None], steps: int = 200) -> float:
    """Seconds of one of many steps, after some that are not counted."""
    for count in (20, steps):
        began = time.perf_counter()
        for _ in range(count):
            step()
        if not asked.pretend:
            torch.cuda.synchronize()
    return (time.perf_counter() - began) / steps


def memory(asked: Asked) -> Iterator[Row]:
    """Exit code and message of a run that gets a thousandth of the GPU's memory; a CPU has no such limit."""
    argv = ["pubench", *words(asked, asked.place / "memory")]
    code = f"""import sys, torch
torch.cuda.set_per_process_memory_fraction(0.001)
from pubench_cli.main import main
sys.argv = {argv!r}
main()"""
    if not asked.pretend:
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
        yield "nnpu", "exit code", done.returncode
        yield "nnpu", "message", (done.stderr.strip().splitlines() or ["none"])[-1][:200]


def resume(asked: Asked) -> Iterator[Row]:
    """A study killed after its first record, and resumed."""
    folder = study(asked, seeds=4)
    command = [SCRIPT, "study", "run", "study.yaml", "--format", "json", "--device", asked.device]
    first = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while not [*folder.glob("results/*/result.json")] and first.poll() is None:
        time.sleep(0.1)
    first.kill()
    first.wait()
    done = json.loads(subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout)
    yield "study", "trained after the kill", done["trained"]
    yield "study", "records", len([*folder.glob("results/*/result.json")])


def epochs(asked: Asked) -> Iterator[Row]:
    """An epoch of nnPU and VPU next to the published code, if its folder is named."""
    if asked.published is not None:
        names, each = ("nnpu", "vpu"), ("ieee", "tf32", "bf16")
        for case in published_code(asked.published, names, each, packages=asked.packages, device=asked.device):
            for name, work in case.sides.items():
                yield str(case.facts["method"]), f"{name} seconds", timed(work)["seconds"]


def first_page(asked: Asked) -> Iterator[Row]:
    """The command of the first page, two epochs, and of nnPU one."""
    data, precisions = ("digits", ("ieee",)) if asked.pretend else ("adni", ("ieee", "tf32", "bf16"))
    for precision in precisions:
        for method, number in (("p3mix-c", 2), ("nnpu", 1)):
            spent = scores_and_seconds(asked, method, data=data, precision=precision, config={"epochs": number})[1]
            yield method, f"{precision} seconds of {number}", spent


def words(asked: Asked, results: str | Path) -> list[str]:
    """Words of a short run of nnPU."""
    data = f"--data {asked.images} --mech scar --c 0.1 --preset quick --device {asked.device}"
    return f"run --method nnpu {data} --results {results} --no-tracking".split()


def study(asked: Asked, seeds: int) -> Path:
    """A folder with a study of short runs of nnPU."""
    folder = Path(tempfile.mkdtemp(dir=asked.place))
    plan = {"name": "s", "methods": [{"key": "nnpu", "preset": "quick"}], "data": ["digits"], "seeds": [*range(seeds)]}
    (folder / "study.yaml").write_text(yaml.safe_dump(plan))
    return folder


CHECKS: tuple[Callable[[Asked], Iterator[Row]], ...] = (
    bits, graph, precision, memory, resume, first_page, epochs, slots, methods,
)  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pretend", action="store_true", help="on the CPU")
    parser.add_argument("--limit", type=float, default=600, help="seconds after which no step begins")
    parser.add_argument("--only", help="names of checks, by commas")
    parser.add_argument("--published", help="folder of the published benchmark's code")
    parser.add_argument("--packages", default="", help="folder of the packages that it needs and we do not")
    parser.add_argument("--out", type=Path, default=Path("/tmp/gpu.csv"))
    given = parser.parse_args()
    device, images = ("cpu", "digits") if given.pretend else ("cuda:0", "fashion-mnist")
    name, ends = "pretended" if given.pretend else torch.cuda.get_device_name(0), time.monotonic() + given.limit
    with tempfile.TemporaryDirectory() as place:
        asked = Asked(device, Path(place), given.published, given.packages, given.pretend, images)
        for check in CHECKS:
            if given.only is None or check.__name__ in given.only.split(","):
                for row in until(ends, check, asked):
                    cells = zip(("check", "subject", "what", "value"), (check.__name__, *row), strict=True)
                    append(given.out, dict(cells) | {"device": name})
                    print(check.__name__, *row, sep=", ", flush=True)


def until(ends: float, check: Callable[[Asked], Iterator[Row]], asked: Asked) -> Iterator[Row]:
    """A check's rows until the time is over, or it fails."""
    steps = check(asked)
    while time.monotonic() < ends:
        try:
            yield next(steps)
        except StopIteration:
            return
        except (PubenchError, RuntimeError, subprocess.CalledProcessError) as error:
            yield check.__name__, "failed", " ".join(str(error).split())[:300]
            return
    yield check.__name__, "out of time", ""


if __name__ == "__main__":
    main()
