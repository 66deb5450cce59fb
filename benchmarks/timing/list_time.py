"""Wall-clock seconds of ``pubench list methods``, and which heavy packages it imports (none is right).

python -m benchmarks.timing.list_time --out benchmarks/results/list-time.csv
"""

from __future__ import annotations

import argparse
import statistics
import subprocess
import sys
import time
from pathlib import Path

from benchmarks import raw_rows

HEAVY = ("torch", "sklearn", "mlflow", "torchvision", "openml", "sentence_transformers", "scipy", "pydantic")
PROBE = (
    "import sys; sys.argv = ['pubench', 'list', 'methods']\n"
    "from pubench_cli.main import main\n"
    "try: main()\n"
    f"finally: print([m for m in {HEAVY!r} if m in sys.modules], file=sys.stderr)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--times", type=int, default=5)
    options = parser.parse_args()
    script = Path(sys.executable).with_name("pubench")
    seconds = []
    for _ in range(options.times + 1):
        started = time.perf_counter()
        subprocess.run([script, "list", "methods"], check=True, capture_output=True)
        seconds.append(time.perf_counter() - started)
    seconds = seconds[1:]  # the first one fills the file cache
    heavy = subprocess.run([sys.executable, "-c", PROBE], capture_output=True, text=True).stderr.strip()
    print(f"median {statistics.median(seconds):.3f} s of {', '.join(f'{s:.3f}' for s in seconds)}; imported: {heavy}")
    for value in seconds:
        row = {
            "what": "pubench list methods",
            "seconds": round(value, 3),
            "heavy_imports": heavy,
        }
        raw_rows.append(options.out, row)


if __name__ == "__main__":
    main()
