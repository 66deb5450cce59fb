"""Seconds of every image backbone in both memory formats: training steps and scoring, taking turns.

    python -m benchmarks.timing.channels_last --out benchmarks/results/channels-last.csv

A step is the forward and backward pass of one batch in training mode, scoring the forward pass of one in evaluation
mode without gradients. Weights and images are random; both formats get the same. In every round each format does the
same number of batches, one after the other; the first round is not kept. ``difference`` is the largest difference of a
score between the formats over the largest score.
"""

from __future__ import annotations

import argparse
import copy
import statistics
import time
from pathlib import Path
from typing import Any

import torch
from pubench_backbones import pubench_backbones
from torch import nn

from benchmarks import raw_rows
from pubench_core.backbone import Backbone, Normalize
from pubench_core.plugins.registry import load

FORMATS = {"contiguous": torch.contiguous_format, "channels_last": torch.channels_last}
#: Backbone, shape of an image, images in a batch: as large as fits the time, and as published where that is.
CASES: tuple[tuple[str, tuple[int, int, int], int], ...] = (
    ("lenet", (1, 28, 28), 256),
    ("cnn", (1, 28, 28), 256),
    ("cnn", (3, 32, 32), 128),
    ("cnn-cifar", (3, 32, 32), 32),
    ("cnn-mri", (1, 128, 128), 8),
    ("resnet18", (3, 32, 32), 16),
)


def network_of(key: str, shape: tuple[int, int, int]) -> Backbone:
    """A backbone with its normalizing layer."""
    torch.manual_seed(0)
    info = next(info for info in pubench_backbones() if info.key == key)
    network: Backbone = load(info)(shape, 1)
    network.normalize = Normalize([0.5] * shape[0], [0.25] * shape[0])
    return network


def step(network: nn.Module, x: torch.Tensor) -> None:
    """Forward and backward."""
    network.zero_grad()
    nn.functional.softplus(network(x)).mean().backward()


def score(network: nn.Module, x: torch.Tensor) -> None:
    """Forward."""
    with torch.inference_mode():
        network(x)


def seconds_of(what: str, network: nn.Module, x: torch.Tensor, batches: int) -> float:
    """Per batch."""
    network.train(what == "step")
    action = step if what == "step" else score
    started = time.perf_counter()
    for _ in range(batches):
        action(network, x)
    return (time.perf_counter() - started) / batches


def measured(
    case: tuple[str, tuple[int, int, int], int], threads: int, rounds: int, batches: int
) -> list[dict[str, Any]]:
    """One row per round, format and kind of pass."""
    key, shape, size = case
    torch.set_num_threads(threads)
    network, x = network_of(key, shape), torch.rand(size, *shape)
    sides = {
        name: (copy.deepcopy(network).to(memory_format=layout), x.clone(memory_format=layout))
        for name, layout in FORMATS.items()
    }
    with torch.inference_mode():
        one, other = (side[0].eval()(side[1]) for side in sides.values())
    difference = float((one - other).abs().max() / one.abs().max())
    rows = []
    for turn in range(rounds + 1):
        for what in ("step", "score"):
            for name, (net, images) in sides.items():
                seconds = seconds_of(what, net, images, batches)
                if turn:
                    rows.append(
                        {
                            "backbone": key,
                            "shape": "x".join(map(str, shape)),
                            "batch": size,
                            "what": what,
                            "format": name,
                            "threads": threads,
                            "round": turn,
                            "seconds": f"{seconds:.6f}",
                            "difference": f"{difference:.2g}",
                        }
                    )
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--batches", type=int, default=4, help="in a row, per format and round")
    parser.add_argument("--threads", type=int, nargs="+", default=[1, 2])
    parser.add_argument("--backbones", nargs="+", default=sorted({case[0] for case in CASES}))
    options = parser.parse_args()
    for threads in options.threads:
        for case in CASES:
            if case[0] not in options.backbones:
                continue
            rows = measured(case, threads, options.rounds, options.batches)
            for row in rows:
                if options.out is not None:
                    raw_rows.append(options.out, row)
            for what in ("step", "score"):
                contiguous, last = (
                    statistics.median(float(r["seconds"]) for r in rows if (r["what"], r["format"]) == (what, name))
                    for name in FORMATS
                )
                found = f"contiguous {contiguous * 1000:.1f} ms, channels_last {last * 1000:.1f} ms"
                ratio = f"{contiguous / last:.2f} x"
                print(f"{case[0]} {rows[0]['shape']} {what}, {threads} thread(s): {found}, {ratio}", flush=True)


if __name__ == "__main__":
    main()
