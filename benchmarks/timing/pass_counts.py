"""How many rows a whole run sends through its networks, against nnPU's: what its time cannot go below.

    python -m benchmarks.timing.pass_counts --method self-pu lagam-pu --out benchmarks/results/pass-counts.csv

Preset ``pubench`` unless ``--preset`` names another, seed 2, every planned epoch (no patience), validation and test
scored after each. ``forward``: rows through a network without a gradient, ``trained``: rows that are differentiated as
well, which count three times (the backward pass costs two forward passes). Fashion-MNIST's network is replaced by a
linear one, since the count is the same: neither the figures of such a run nor its seconds mean anything.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from pubench_backbones import networks
from torch import Tensor, nn

import pubench
from benchmarks import raw_rows
from pubench_core.backbone import Backbone


class Counted:
    """Rows that entered any backbone."""

    def __init__(self) -> None:
        self.forward = self.trained = 0

    def watch(self) -> None:
        before = Backbone.until

        def until(net: Backbone, x: Tensor, stage: int) -> Tensor:
            if stage >= 0:
                if torch.is_grad_enabled() and not torch.is_inference_mode_enabled():
                    self.trained += len(x)
                else:
                    self.forward += len(x)
            return before(net, x, stage)

        Backbone.until = until  # type: ignore[method-assign]


def linear(shape: tuple[int, ...], outputs: int) -> Backbone:
    """A network that costs next to nothing."""
    return Backbone([nn.Flatten()], nn.Identity(), torch.Size(shape).numel(), outputs)


def counted(method: str, data: str, preset: str, root: Path | None, sets: list[str]) -> Counted:
    """The rows of one run."""
    networks.lenet = linear  # type: ignore[assignment]
    counts = Counted()
    counts.watch()
    with tempfile.TemporaryDirectory() as results:
        pubench.run(
            method=method,
            data=data,
            c=0.1,
            seed=2,
            preset=preset,
            config={"patience": None} | dict(text.split("=", 1) for text in sets),
            validation=0.01,
            data_root=root,
            results=results,
            device="cpu",
        )
    return counts


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--method", nargs="+", required=True)
    parser.add_argument("--data", default="spambase")
    parser.add_argument("--preset", default="pubench")
    parser.add_argument("--root", type=Path)
    parser.add_argument("--set", action="append", default=[])
    options = parser.parse_args()
    for method in options.method:
        counts = counted(method, options.data, options.preset, options.root, options.set)
        row = {
            "method": method,
            "data": options.data,
            "preset": options.preset,
            "forward": counts.forward,
            "trained": counts.trained,
            "cost": counts.forward + 3 * counts.trained,
        }
        raw_rows.append(options.out, row)
        print(row, flush=True)


if __name__ == "__main__":
    main()
