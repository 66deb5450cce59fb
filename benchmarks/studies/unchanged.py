"""Checksums of the scores of short runs of every method, to show that a change of the code changes no number.

    PUBENCH_DATA=... python -m benchmarks.studies.unchanged --out before.csv       # at the older commit
    PUBENCH_DATA=... python -m benchmarks.studies.unchanged --out after.csv --compare before.csv

Fifteen runs cover three sampling schemes, five mechanisms, nine data sets, two user tables and a saved model that
scores new rows; every other method runs on digits. One thread, so that a row depends on the machine and on nothing
else that runs there. A row is the SHA-256 of one array (the scores of one part under one criterion) or of a file. The
comparison names everything that differs, or that only one file has, and ends with exit code 1 if anything differs.
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from benchmarks import raw_rows
from pubench_core.records.files import MODEL, PREDICTIONS, read_scores
from pubench_core.records.record import read_record
from pubench_core.records.scores import scores_of

TABLE = ("--data", "TABLE", "--label-col", "labeled", "--prior", "0.35", "--set", "epochs=4")
RUNS: dict[str, tuple[str, ...]] = {
    "nnpu-digits": ("--method", "nnpu", "--data", "digits", "--set", "epochs=3"),
    "nnpu-digits-s2": (
        *("--method", "nnpu", "--data", "digits", "--scheme", "single-training-set", "--mech", "s2", "--c", "0.5"),
        *("--set", "epochs=3", "--set", "evaluation.trace=[train, test]"),
    ),
    "vpu-breast-cancer": ("--method", "vpu", "--data", "breast-cancer", "--set", "epochs=4", "--select", "native"),
    "puet-spambase": (
        *("--method", "puet", "--preset", "pubench", "--data", "spambase"),
        *("--scheme", "single-training-set", "--c", "0.3"),
    ),
    "p3mix-c-mnist": (
        *("--method", "p3mix-c", "--data", "mnist", "--set", "epochs=3", "--set", "warm_up=1", "--select", "f1"),
        *("--set", "steps_per_epoch=30", "--set", "validation.fraction=0.01"),
    ),
    "lbe-pu-spambase": (
        *("--method", "lbe-pu", "--preset", "pubench", "--data", "spambase", "--set", "epochs=2"),
        *("--scheme", "single-training-set", "--c", "0.3"),
    ),
    "dist-pu-digits-s4": ("--method", "dist-pu", "--data", "digits", "--mech", "s4", "--c", "0.5", "--preset", "quick"),
    "mpe-pu-spambase": ("--method", "mpe-pu", "--data", "spambase", "--c", "0.3", "--preset", "quick"),
    "pulda-20news": (
        *("--method", "pulda", "--preset", "pubench", "--data", "20news", "--set", "epochs=2"),
        *("--set", "validation.fraction=0.01", "--select", "macro-f1"),
    ),
    "cvir-table": ("--method", "cvir", *TABLE, "--truth-col", "diagnosis", "--positive-value", "M"),
    "pusb-table-model": ("--method", "pusb", *TABLE, "--drop", "diagnosis", "--save-model"),
    "pn-letter": ("--method", "pn", "--data", "letter", "--preset", "quick", "--set", "epochs=2"),
    "nnpu-ga-usps": (
        *("--method", "nnpu-ga", "--data", "usps", "--scheme", "single-training-set", "--set", "epochs=2"),
        *("--set", "method.calibrate=off", "--backbone", "mlp-wang"),
    ),
    "upu-fashion-mnist-s3": (
        *("--method", "upu", "--data", "fashion-mnist", "--mech", "s3", "--c", "0.05", "--set", "epochs=1"),
        *("--set", "mechanism.variant=released", "--set", "validation.fraction=0.01"),
    ),
    "nnpu-connect-4": (
        *("--method", "nnpu", "--preset", "wang", "--data", "connect-4", "--prior", "scaled:1.2", "--set", "epochs=3"),
    ),
}
#: Methods that no run above has.
OTHERS = (
    *("cgenpu", "count-loss", "elkan-noto", "glws", "holistic-pu", "lagam-pu", "naive", "p3mix-e", "pan", "pu-bagging"),
    *("pu-boost", "pubn", "pue", "pul-cpbf", "robust-pu", "self-pu", "two-step", "vae-pu"),
)
RUNS |= {f"{key}-digits": ("--method", key, "--data", "digits", "--preset", "quick") for key in OTHERS}


def write_tables(folder: Path) -> tuple[Path, Path]:
    """A table of labeled and unlabeled rows with texts and gaps, made of breast-cancer, and 50 rows of it to score."""
    from sklearn.datasets import load_breast_cancer

    found = load_breast_cancer(as_frame=True)
    table, rng = found.data.copy(), np.random.default_rng(0)
    radius, positive = table["mean radius"], found.target == 0
    table["stage"] = np.where(radius > 15, "late", np.where(radius > 12, "mid", "early"))
    table.loc[rng.random(len(table)) < 0.05, "mean texture"] = np.nan
    table.head(50).to_csv(folder / "new.csv", index=False)
    table["diagnosis"] = np.where(positive, "M", "B")
    table["labeled"] = (positive & (rng.random(len(table)) < 0.3)).astype(int)
    table.to_csv(folder / "table.csv", index=False)
    return folder / "table.csv", folder / "new.csv"


def carry_out(name: str, folder: Path, table: Path) -> Path:
    """The record of one run."""
    words = [str(table) if word == "TABLE" else word for word in RUNS[name]]
    execution = ("--threads", "1", "--device", "cpu", "--no-tracking", "--results", str(folder / name))
    script = Path(sys.executable).with_name("pubench")
    done = subprocess.run([script, "run", *words, *execution], capture_output=True, text=True)
    if done.returncode:
        sys.exit(f"{name}: {done.stderr.strip().splitlines()[-1]}")
    return Path(done.stdout.splitlines()[-1].removeprefix("record: "))


def checksums(record: Path, new_rows: Path) -> Iterator[tuple[str, str]]:
    """(what, SHA-256) of everything that a run computed."""
    arrays = read_scores(record)
    for name, criterion in read_record(record).result.criteria.items():
        for part, scores in scores_of(arrays, criterion.snapshot).items():
            yield f"{name}/{part}", hashlib.sha256(scores.tobytes()).hexdigest()
    for name in ("test_rows", "validation_rows", "validation_labeled"):
        if name in arrays:
            yield name, hashlib.sha256(arrays[name].tobytes()).hexdigest()
    if (record / PREDICTIONS).exists():
        yield PREDICTIONS, hashlib.sha256((record / PREDICTIONS).read_bytes()).hexdigest()
    if (record / MODEL).exists():
        script = Path(sys.executable).with_name("pubench")
        done = subprocess.run([script, "predict", str(record), str(new_rows)], capture_output=True, check=True)
        yield "saved model on new rows", hashlib.sha256(done.stdout).hexdigest()


def compared(rows: list[dict[str, str]], older: Path) -> tuple[list[str], list[str]]:
    """(what differs from the rows of an earlier call, what only one of the two has)."""
    with older.open(newline="") as file:
        before = {(row["run"], row["what"]): row["sha256"] for row in csv.DictReader(file)}
    now = {(row["run"], row["what"]): row["sha256"] for row in rows}
    changed = [" ".join(key) for key in sorted(before.keys() & now.keys()) if before[key] != now[key]]
    return changed, [" ".join(key) for key in sorted(before.keys() ^ now.keys())]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--compare", type=Path, help="rows of an earlier call")
    parser.add_argument("--run", nargs="+", choices=RUNS, default=list(RUNS))
    options = parser.parse_args()
    rows: list[dict[str, str]] = []
    with tempfile.TemporaryDirectory(prefix="pubench-unchanged-") as scratch:
        table, new_rows = write_tables(Path(scratch))
        for name in options.run:
            record = carry_out(name, Path(scratch), table)
            found = [{"run": name, "what": what, "sha256": digest} for what, digest in checksums(record, new_rows)]
            for row in found:
                raw_rows.append(options.out, row)
            rows += found
            print(f"{name}: {len(found)} checksums", flush=True)
    if options.compare is not None:
        changed, alone = compared(rows, options.compare)
        print(f"{len(rows)} checksums, {len(changed)} differ, {len(alone)} are in one file only")
        print("".join(f"differs: {text}\n" for text in changed) + "".join(f"in one file: {text}\n" for text in alone))
        sys.exit(1 if changed else 0)


if __name__ == "__main__":
    main()
