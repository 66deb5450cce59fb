"""Seconds of an epoch of the published benchmark's own code next to ours: whole processes, in turns.

An epoch is the difference between a run of four epochs and one of one, so that imports and reading data are left out.
"""

from __future__ import annotations

import gzip
import os
import sys
import tempfile
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from pathlib import Path
from shutil import rmtree
from typing import Any, Literal

import yaml

from benchmarks.timing.turns import SCRIPT, Case, process, timed

#: Epochs of the longer run; the shorter one has one.
LONG = {"fashion-mnist": 4, "spambase": 61}
#: Method -> its name in the published code.
NAMES = {"nnpu": "nnpu", "vpu": "vpu", "pusb": "nnpusb", "dist-pu": "distpu"}
#: Runs the published code, which would download Spambase.
RUN = """
import os, runpy, sys
import pandas, sklearn.datasets
table = pandas.read_csv(os.environ["PUBENCH_DATA"] + "/spambase/spambase.data", header=None)
bunch = sklearn.utils.Bunch(data=table.iloc[:, :-1], target=table.iloc[:, -1])
sklearn.datasets.fetch_openml = lambda **_: bunch
del sys.argv[0]
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def published_code(
    folder: str,
    methods: tuple[str, ...] = tuple(NAMES),
    precisions: tuple[str, ...] = ("ieee",),
    threads: int = 1,
    packages: str = "",
    device: str = "cpu",
    data: Literal["fashion-mnist", "spambase"] = "fashion-mnist",
) -> Iterator[Case]:
    """One epoch with three parts scored. ``folder``: a checkout of PU-Bench, which gets the files of ``PUBENCH_DATA``;
    ``packages``: folder with the packages that it needs and we do not. An epoch of Dist-PU is one of its second stage.
    """
    with tempfile.TemporaryDirectory() as scratch:
        place, code = Path(scratch), Path(folder).resolve()
        _as_torchvision(Path(os.environ["PUBENCH_DATA"]) / "fashion-mnist", place)
        (place / "run.py").write_text(RUN)
        env = {
            **os.environ, "OMP_NUM_THREADS": str(threads), "MKL_NUM_THREADS": str(threads),
            "PYTHONPATH": os.pathsep.join([str(code), packages]),
        }  # fmt: skip
        for method in methods:
            theirs = partial(_published, code, NAMES[method], data, place, env)
            ours = {f"pubench {name}": partial(_ours, method, data, name, threads, device) for name in precisions}
            long = LONG[data] * (1 if device == "cpu" else 4)
            work = {name: partial(_per_epoch, one, long) for name, one in {"published": theirs, **ours}.items()}
            yield Case({"method": method, "data": data, "threads": threads}, work)


def _per_epoch(run: Callable[[int], Mapping[str, Any]], epochs: int) -> dict[str, Any]:
    """Seconds and processor seconds of one epoch; memory and load after the longer run."""
    short, long = timed(partial(run, 1)), timed(partial(run, epochs))
    return {**long, **{name: (long[name] - short[name]) / (epochs - 1) for name in ("seconds", "cpu_seconds")}}


def _as_torchvision(folder: Path, place: Path) -> None:
    raw = place / "FashionMNIST" / "raw"
    raw.mkdir(parents=True)
    for packed in folder.glob("*.gz"):
        (raw / packed.stem).write_bytes(gzip.decompress(packed.read_bytes()))


def _published(
    code: Path, name: str, data_set: str, place: Path, env: Mapping[str, str], epochs: int
) -> dict[str, Any]:
    plain = yaml.safe_load((code / "config" / "methods" / f"{name}.yaml").read_text())
    if name == "distpu":
        plain[name]["stages"]["warm_up"]["epochs"], plain[name]["stages"]["mixup"]["epochs"] = 0, epochs
    else:
        plain[name]["num_epochs"] = epochs
    plain[name]["checkpoint"]["early_stopping"]["enabled"] = False
    data = yaml.safe_load(
        (code / "config" / "datasets_typical" / f"param_sweep_{data_set.replace('-', '')}.yaml").read_text()
    )
    data |= {"random_seeds": [2], "data_dir": str(place)}
    (place / f"{name}.yaml").write_text(yaml.safe_dump(plain))
    (place / "data.yml").write_text(yaml.safe_dump(data))
    words = ["--dataset-config", place / "data.yml", "--methods", name, "--methods-dir", place]
    rmtree(place / "results", ignore_errors=True)
    spent = process(sys.executable, place / "run.py", code / "run_train.py", *words, env=env, cwd=place)
    if not [*place.glob("results/*/*.json")]:  # it prints errors, and ends well
        raise RuntimeError(f"{code / 'run_train.py'} wrote no result for {name}; call it by hand to see why")
    return spent


def _ours(method: str, data: str, precision: str, threads: int, device: str, epochs: int) -> dict[str, Any]:
    with tempfile.TemporaryDirectory() as results:
        words = [
            "run", "--method", method, "--data", data, "--mech", "scar", "--c", "0.1", "--seed", "2",
            "--preset", "pubench", "--device", device, "--threads", str(threads), "--precision", precision,
            "--select", "f1", "--artifacts", "none", "--results", results, "--no-tracking", "--set", "patience=null",
            "--set", "validation.fraction=0.01", "--set", "evaluation.trace=[train, validation, test]",
        ]  # fmt: skip
        words += ["--set", f"epochs={epochs}", *(["--set", "warm_up=0"] if method == "dist-pu" else [])]
        return process(SCRIPT, *words)
