"""Counts the rows of every class in the data sets that lie on this machine, for the pages of the data sets.

    PUBENCH_DATA=DIR python docs/data_counts.py [KEY ...]

Writes ``docs/data_counts.json``. Sets that are not here keep the counts they have in it.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

from pubench_cli.inventory import availability_of
from pubench_core.data.dataset import data_root
from pubench_core.data.source import source_of
from pubench_core.data.store import open_dataset
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import registry
from pubench_core.specs import ExecutionSpec

COUNTS = Path(__file__).with_suffix(".json")


def main(wanted: list[str]) -> None:
    counts = json.loads(COUNTS.read_text()) if COUNTS.exists() else {}
    root = data_root(ExecutionSpec(offline=True))
    for info in registry().infos(DatasetInfo):
        here = availability_of(info, root)
        if here.state == "files" and info.key in wanted:
            open_dataset(source_of(info), root)
            here = availability_of(info, root)
        if train := here.counts("y"):
            counts[info.key] = {"training": train, **({"test": test} if (test := here.counts("y_test")) else {})}
    lines = [f"{json.dumps(key)}: {json.dumps(counts[key])}" for key in sorted(counts)]
    COUNTS.write_text("{\n  " + ",\n  ".join(lines) + "\n}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
