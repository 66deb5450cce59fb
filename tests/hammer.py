"""Hammers on results folders: random kills, interrupts and writers next to each other; counts what held.

    python tests/hammer.py [--times 20] [--writers 4] [--only kill,interrupt,...]

Each attack says ``held / tried`` and what did not hold. Exit code 1 if anything did not. Needs Linux and the packages.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path

SCRIPT = str(Path(sys.executable).with_name("pubench"))
DOUBLES = Path(__file__).parent / "doubles"
RUN = "0123456789abcdef"
HEED = "import os, signal, sys; signal.signal(signal.SIGINT, signal.SIG_DFL); os.execv(sys.argv[1], sys.argv[1:])"
WRITER = """
import json, sys, time
from pathlib import Path
from pubench_core.records.store import RecordStore
root, writer, times, size = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4])
store = RecordStore(root)
print(flush=True)
for n in range(times):
    with store.write("0123456789abcdef") as folder:
        (folder / "scores.npz").write_bytes(bytes(size))
        plain = {"run_id": "0123456789abcdef", "finished_at": "%06d" % n, "writer": writer}
        (folder / "result.json").write_text(json.dumps(plain))
    print(n, flush=True)
"""

Verdicts = Iterator[str]


def site_of(folder: Path) -> str:
    """A folder for PYTHONPATH in which the double of ``pubench_worst`` is installed."""
    facts = folder / "worst-1.0.dist-info"
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: worst\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[pubench]\nworst = pubench_worst\n")
    shutil.copy(DOUBLES / "pubench_worst.py", folder)
    return str(folder)


def start(folder: Path, site: str, *words: object, tracking: bool = False) -> subprocess.Popen[str]:
    """A run of the double in ``folder``."""
    fixed = ["run", "--method", "worst", "--data", "digits", "--threads", "1", "--format", "json"]
    command = [*fixed, *([] if tracking else ["--no-tracking"]), *map(str, words)]
    path = os.pathsep.join(filter(None, [site, os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "PYTHONPATH": path, "OMP_NUM_THREADS": "1"}
    return subprocess.Popen(
        [sys.executable, "-c", HEED, SCRIPT, *command], cwd=folder, env=environment, stdout=-1, stderr=-1, text=True
    )


def whole(folder: Path) -> bool:
    """Whether everything that a reader would take for a record is one."""
    for path in folder.glob("results/*/result.json"):
        plain = json.loads(path.read_text())
        if plain["run_id"] != path.parent.name or not (path.parent / "scores.npz").exists():
            return False
    return True


def cleared(folder: Path) -> bool:
    """Whether nothing is left of those that were killed."""
    return [path.name for path in (folder / "results" / ".incoming").iterdir()] == [".lock"]


def kills(folder: Path, site: str, times: int) -> Verdicts:
    """A run is killed at a random moment; what is there is whole, and the next run ends with a result."""
    for n in range(times):
        victim = start(folder, site, "--seed", n)
        time.sleep(random.uniform(0.5, 6))
        victim.kill()
        victim.communicate()
        sound = whole(folder)
        out, err = start(folder, site, "--seed", n).communicate()
        yield "" if sound and out and whole(folder) and cleared(folder) else f"seed {n}: {err[-300:]}"


def interrupts(folder: Path, site: str, times: int) -> Verdicts:
    """Ctrl-C at a random moment after training started: exit code 0 or 130, and a record if training was over."""
    for n in range(times):
        victim = start(folder, site, "--seed", n, "--set", "does=nothing")
        assert victim.stderr is not None
        victim.stderr.readline()
        time.sleep(random.uniform(0, 0.3))
        victim.send_signal(signal.SIGINT)
        _, err = victim.communicate()
        over = "is stored before this ends" in err or victim.returncode == 0
        stored = len(list(folder.glob("results/*/result.json")))
        shutil.rmtree(folder / "results")
        held = victim.returncode in (0, 130) and "Traceback" not in err and stored == int(over)
        yield "" if held else f"seed {n}: code {victim.returncode}, {stored} stored, over {over}: {err[-300:]}"


def terminations(folder: Path, site: str, times: int) -> Verdicts:
    """SIGTERM at a random moment; what is there is whole."""
    for n in range(times):
        victim = start(folder, site, "--seed", n)
        time.sleep(random.uniform(0.5, 6))
        victim.terminate()
        victim.communicate()
        yield "" if victim.returncode in (0, -signal.SIGTERM) and whole(folder) else f"code {victim.returncode}"


def writers(folder: Path, count: int, times: int) -> Verdicts:
    """Writers of one record next to each other: every record that a writer finished is there, whole."""
    root = folder / "results"
    command = [sys.executable, "-c", WRITER, str(root)]
    processes = [
        subprocess.Popen([*command, str(n), str(times), "1000"], stdout=-1, stderr=-1, text=True) for n in range(count)
    ]
    errors = "".join(process.communicate()[1] for process in processes)
    kept = [*root.glob("*/result.json"), *root.glob("superseded/*/result.json")]
    found = {(plain["writer"], int(plain["finished_at"])) for plain in (json.loads(p.read_text()) for p in kept)}
    for writer in range(count):
        for n in range(times):
            yield "" if (writer, n) in found else f"writer {writer} lost {n}: {errors[-300:]}"


def killed_writers(folder: Path, count: int, times: int) -> Verdicts:
    """Writers of one record, killed at random while they write: nothing that they finished is lost."""
    for n in range(times):
        root = folder / str(n)
        command = [sys.executable, "-c", WRITER, str(root)]
        processes = [
            subprocess.Popen([*command, str(k), "10000", "200000"], stdout=-1, stderr=-1, text=True)
            for k in range(count)
        ]
        for process in processes:
            assert process.stdout is not None
            process.stdout.readline()
        time.sleep(random.uniform(0.05, 0.5))
        for process in processes:
            process.kill()
        done = {(k, int(line)) for k, p in enumerate(processes) for line in p.communicate()[0].split()}
        last = subprocess.run([*command, str(count), "1", "10"], capture_output=True, text=True)  # who clears up
        kept = [*root.glob("*/result.json"), *root.glob("superseded/*/result.json")]
        found = {(plain["writer"], int(plain["finished_at"])) for plain in (json.loads(p.read_text()) for p in kept)}
        left = [path.name for path in (root / ".incoming").iterdir() if path.name != ".lock"]
        yield "" if done <= found and not left else f"lost {sorted(done - found)}, left {left}: {last.stderr[-300:]}"
        shutil.rmtree(root)


def same_run(folder: Path, site: str, count: int, times: int) -> Verdicts:
    """Several processes on one run: one result, trained once, all answers alike."""
    for n in range(times):
        mark = folder / f"trained-{n}"
        processes = [start(folder, site, "--seed", n, "--set", f"mark={mark}") for _ in range(count)]
        outs = [process.communicate() for process in processes]
        answers = [json.loads(out)["finished_at"] for out, _ in outs if out]
        trained = len(mark.read_text().splitlines())
        held = len(answers) == count and len(set(answers)) == 1 and trained == 1 and cleared(folder)
        yield "" if held else f"seed {n}: {len(answers)} answers, trained {trained} times: {outs[0][1][-300:]}"


def namespaces(folder: Path, site: str, times: int) -> Verdicts:
    """Runs in process namespaces of their own, next to one here: no one sweeps what another is writing."""
    for n in range(times):
        command = ["unshare", "--pid", "--fork", "--mount-proc", sys.executable, "-c", WRITER, str(folder / "results")]
        there = [subprocess.Popen([*command, str(k), "20", "1000"], stdout=-1, stderr=-1, text=True) for k in (1, 2)]
        here = subprocess.Popen(
            [sys.executable, "-c", WRITER, str(folder / "results"), "0", "20", "1000"], stdout=-1, stderr=-1, text=True
        )
        said = [process.communicate()[1] for process in (here, *there)]
        root = folder / "results"
        kept = [*root.glob("*/result.json"), *root.glob("superseded/*/result.json")]
        yield "" if len(kept) == 60 else f"round {n}: {len(kept)} of 60: {' '.join(said)[-300:]}"
        shutil.rmtree(root)


def first_trackings(folder: Path, site: str, count: int, times: int) -> Verdicts:
    """Several first runs at once into a new folder: all tracked, and the database is sound."""
    for n in range(times):
        here = folder / str(n)
        here.mkdir()
        outs = [p.communicate() for p in [start(here, site, "--seed", k, tracking=True) for k in range(count)]]
        done = subprocess.run([SCRIPT, "track"], cwd=here, capture_output=True, text=True)
        held = done.stdout.startswith(f"0 sent, {count} already there, 0 left out")
        said = " ".join(err[-300:] for _, err in outs)
        yield "" if held else f"round {n}: {done.stdout} {done.stderr[-300:]} {said}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--times", type=int, default=20, help="how often each attack is tried")
    parser.add_argument("--writers", type=int, default=4, help="processes next to each other")
    parser.add_argument("--only", default="", help="names of attacks, joined by commas")
    parser.add_argument("--seed", type=int, default=0, help="of the random moments")
    given = parser.parse_args()
    random.seed(given.seed)
    with tempfile.TemporaryDirectory() as folder:
        site = site_of(Path(folder) / "site")
        attacks: dict[str, Callable[[Path], Verdicts]] = {
            "kill": lambda here: kills(here, site, given.times),
            "interrupt": lambda here: interrupts(here, site, given.times),
            "terminate": lambda here: terminations(here, site, given.times),
            "writers": lambda here: writers(here, given.writers, 10 * given.times),
            "killed-writers": lambda here: killed_writers(here, given.writers, given.times),
            "same-run": lambda here: same_run(here, site, given.writers, given.times),
            "namespaces": lambda here: namespaces(here, site, given.times),
            "first-trackings": lambda here: first_trackings(here, site, given.writers, given.times),
        }
        chosen = given.only.split(",") if given.only else list(attacks)
        failed = False
        for name in chosen:
            here = Path(folder) / name
            here.mkdir()
            verdicts = list(attacks[name](here))
            bad = [verdict for verdict in verdicts if verdict]
            failed = failed or bool(bad)
            print(f"{name}: {len(verdicts) - len(bad)} / {len(verdicts)} held", *bad[:5], sep="\n  ", flush=True)
    sys.exit(failed)


if __name__ == "__main__":
    main()
