"""How CPU threads wait for each other. Imports nothing heavy: it must run before torch is loaded."""

from __future__ import annotations

import os


def wait_briefly() -> None:
    """Has OpenMP's threads spin 1,000 turns, not 300,000, before they sleep; read when torch loads it.

    Measured, nnPU on Connect-4, 2 threads, seconds per epoch: with two other programs on 2 cores 18 to 60 by default
    and 1.5 so; alone .70 and .74 to .86 (Fashion-MNIST: 2.3 to 2.55, and 2.37). What the user has set stays, and a
    process that has loaded torch already goes on as it does.
    """
    if "OMP_WAIT_POLICY" not in os.environ:
        os.environ.setdefault("GOMP_SPINCOUNT", "1000")
