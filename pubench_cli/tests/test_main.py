"""What the command sets up before anything is imported."""

from __future__ import annotations

import subprocess
import sys

import pytest

#: Runs the command for its version, then prints what OpenMP would read and whether torch had not been imported before.
PROBE = """
import os, sys
from pubench_cli.main import main
sys.argv = ["pubench", "--version"]
early = "torch" not in sys.modules
try:
    main()
except SystemExit:
    print(early, os.environ.get("GOMP_SPINCOUNT"))
"""


@pytest.mark.parametrize(
    ("given", "read"),
    [({}, "1000"), ({"GOMP_SPINCOUNT": "7"}, "7"), ({"OMP_WAIT_POLICY": "ACTIVE"}, "None")],
    ids=["default", "spin count given", "policy given"],
)
def test_waiting_threads_spin_briefly_unless_the_user_says_otherwise(
    monkeypatch: pytest.MonkeyPatch, given: dict[str, str], read: str
) -> None:
    for name in ("GOMP_SPINCOUNT", "OMP_WAIT_POLICY"):
        monkeypatch.delenv(name, raising=False)
    for name, value in given.items():
        monkeypatch.setenv(name, value)
    done = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True, check=True)
    assert done.stdout.splitlines()[-1] == f"True {read}"
