"""Attempts to break the command line, counted: tried and held, a row per kind.

    python benchmarks/attack.py [--only options,kills,...] [--values 8] [--kills 12]

An attempt holds if its command ends in time with exit code 0, 1 or 2, without a traceback, with one line if it is
refused, and if what its kind checks is so: devices are still devices, stored runs are those of an undisturbed study, a
forged record is no sound one. Commands are forks of a process that has imported torch, unless processes are attacked.
What failed is listed below the table. Needs Linux and all distributions; takes an hour of one core.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import numpy as np
import typer
import yaml

import pubench
from pubench_cli.installed import _infos
from pubench_cli.main import UNREAD, main
from pubench_core.errors import PubenchError
from pubench_core.plugins.registry import load
from pubench_core.records.files import read_scores
from pubench_core.records.record import read_record

ROOT = Path(__file__).parents[1]
SCRIPT = str(Path(sys.executable).with_name("pubench"))
#: Seconds of processor, and on the clock, within which a command ends.
PROCESSOR, CLOCK = 120, 900
NUMBERS = ("nan", "inf", "-inf", "-1", "0", "1e400", "-1e-300", "1" + "0" * 30, "1,2", "0x10", "½", "1_0", "१")
WORDS = (
    "",
    " ",
    "-",
    "=",
    "../x",
    "null",
    "full",
    ".",
    "*",
    "<script>alert(1)</script>",
    "\x1b]0;x\x07",
    "\udcff",
    "a" * 5000,
    "%s{0}",
    "a\nb",
    "dangling",
    "results",
    "own.csv",
    "~",
    "a=b=c",
    "true",
    "none",
    "ｎｎｐｕ",
    "results/first/plan.json",
)
STUDY = {
    "name": "first",
    "methods": ["upu", "pn"],
    "data": "digits",
    "seeds": 2,
    "settings": {"method": {"config": {"epochs": 1}}, "execution": {"threads": 1}},
}


@dataclass(frozen=True)
class Done:
    """End of a command; ``code`` is None if it did not end."""

    code: int | None
    out: str
    err: str

    @property
    def fault(self) -> str | None:
        """Why that is no orderly end; None if it is one."""
        if self.code is None:
            return "does not end"
        if "Traceback (most recent call last)" in self.out + self.err:
            return f"traceback: {self.err.strip().splitlines()[-1][:160]}"
        if self.code not in (0, 1, 2):
            return f"exit code {self.code}"
        lines = [line for line in self.err.splitlines() if line.startswith("error: ")]
        if self.code == 2 and len(lines) != 1:
            return f"refused in {len(lines)} lines of error"
        return None


def call(words: str | Iterable[object], folder: Path, *, most_bytes: int | None = None) -> Done:
    """The command in a fork of this process. ``most_bytes``: no file may become larger; pipes have no such limit."""
    pipes = [os.pipe() for _ in "oe"]
    child = os.fork()
    if not child:
        os.setsid()
        os.chdir(folder)
        resource.setrlimit(resource.RLIMIT_CPU, (PROCESSOR, PROCESSOR))
        if most_bytes is not None:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (most_bytes, most_bytes))
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        for number, (_, end) in zip((1, 2), pipes, strict=True):
            os.dup2(end, number)
        for end in (end for pipe in pipes for end in pipe):
            os.close(end)
        sys.argv = ["pubench", *map(str, _split(words))]
        try:
            main()
        except SystemExit as stop:
            os._exit(int(stop.code or 0))
        except BaseException:  # noqa: BLE001 (as an interpreter ends)
            sys.excepthook(*sys.exc_info())
            sys.stderr.flush()
            os._exit(1)
    for _, end in pipes:
        os.close(end)
    with ThreadPoolExecutor(2) as readers:
        texts = [readers.submit(_read_all, start) for start, _ in pipes]
        latest = time.monotonic() + CLOCK
        while (ended := os.waitpid(child, os.WNOHANG))[0] == 0 and time.monotonic() < latest:
            time.sleep(0.01)
        with suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        if ended[0] == 0:
            os.waitpid(child, 0)
    return Done(os.waitstatus_to_exitcode(ended[1]) if ended[0] else None, *(text.result() for text in texts))


def _read_all(end: int) -> str:
    with os.fdopen(end, errors="replace") as file:
        return file.read()


class Attack:
    """The count: tried and held per kind, and what failed."""

    def __init__(self, scratch: Path, values: int, chains: int) -> None:
        self.scratch, self.values, self.chains = scratch, values, chains
        self.tried: Counter[str] = Counter()
        self.failed: list[tuple[str, str, str]] = []
        self.base = self._made()

    def tell(self, kind: str, what: str, fault: str | None) -> None:
        self.tried[kind] += 1
        if not self.tried[kind] % 50:
            print(f"{kind}: {self.tried[kind]}", file=sys.stderr, flush=True)
        if fault:
            self.failed.append((kind, what, fault))
            print(f"{kind}: {what[:200]}: {fault}", flush=True)

    def _made(self) -> Path:
        """A folder with a study of four runs, tables of scores and features, a package, devices and a dangling link."""
        base = self.scratch / "base"
        base.mkdir()
        (base / "first.yaml").write_text(yaml.safe_dump(STUDY))
        rng = np.random.default_rng(0)
        x = rng.normal(size=(200, 3))
        y = x[:, 0] + rng.normal(size=200) / 3 > 0.3
        s = y & (rng.random(200) < 0.4)
        with (base / "own.csv").open("w") as file:
            file.write("a,b,c,label,truth,score\n")
            for row, label, truth in zip(x, s, y, strict=True):
                file.write(
                    ",".join(f"{v:.3f}" for v in row) + f",{int(label)},{int(truth)},{row[0] + row[1] / 4:.3f}\n"
                )
        done = call(["study", "run", "first.yaml", "-j", 1], base)
        assert done.code == 0, done.err
        done = call("run --method upu --data digits --set epochs=1 --no-tracking --save-model", base)
        assert done.code == 0, done.err
        return base

    def folder(self) -> Path:
        """A copy of the base."""
        folder = Path(tempfile.mkdtemp(dir=self.scratch)) / "here"
        shutil.copytree(self.base, folder)
        os.mknod(folder / "null", stat.S_IFCHR | 0o666, os.makedev(1, 3))
        os.mknod(folder / "full", stat.S_IFCHR | 0o666, os.makedev(1, 7))
        (folder / "dangling").symlink_to(folder / "nowhere")
        return folder

    def try_(
        self,
        kind: str,
        words: str | Iterable[object],
        folder: Path,
        also: Callable[[Done], str | None] | None = None,
        *,
        what: str = "",
        **how: Any,
    ) -> Done:
        words = _split(words)
        done = call(words, folder, **how)
        fault = done.fault or (also(done) if also is not None else None)
        for device in ("null", "full"):
            if (folder / device).exists() and not stat.S_ISCHR((folder / device).stat().st_mode):
                fault = fault or f"replaced the device {device}"
        self.tell(kind, what + " ".join(map(repr, words)), fault)
        return done

    def runs(self) -> list[str]:
        return [p.parent.name for p in sorted((self.base / "results").glob("*/result.json"))]

    # ---------------------------------------------------------------- options

    def options(self) -> None:
        """Odd values of every option and argument of every command."""
        run = self.runs()[0]
        table = "own.csv --label-col label --drop truth,score"
        quick = ["--set", "epochs=1"]
        base: dict[str, str | list[str]] = {
            "list": ["methods"],
            "info": ["nnpu"],
            "doctor": ["nnpu"],
            "run": ["--method", "upu", "--data", "digits", "--no-tracking", *quick],
            "predict": [run, "own.csv"],
            "track": ["--to", "jsonl"],
            "data list": [],
            "data info": ["digits"],
            "data check": table,
            "data fetch": ["digits"],
            "data verify": ["digits"],
            "data path": ["digits"],
            "data remove": ["digits"],
            "data show": ["digits"],
            "advise": [*table, "--prior", "0.4", "--time", "5"],
            "evaluate": "own.csv --score-col score --label-col label --prior 0.4",
            "audit": "own.csv --score-col score --label-col label --n 10",
            "prior": table,
            "compare-methods": ["upu,pn", "--data", "digits", "--seeds", "2", "--no-tracking", *quick],
            "scores": [run],
            "site": ["results"],
            "study report": ["results"],
            "study compare": "results --with results",
            "study protocols": [],
            "study plan": ["first.yaml"],
            "study run": ["first.yaml"],
            "study status": ["first"],
            "study failures": ["first"],
            "study export": ["first"],
            "submit": "results --name mine",
            "board build": "first-board --from results",
            "board check": ["results"],
            "new-method": ["mine"],
            "new-dataset": ["mine"],
            "new-mechanism": ["mine"],
            "new-metric": ["mine"],
            "new-sink": ["mine"],
            "new-command": ["mine"],
            "tune": ["upu", "--data", "digits", "--trials", "2", *quick],
            "verify": "results --rerun 0",
            "reproduce": [run],
        }
        draws = random.Random(0)
        for path, given in base.items():
            command = typer.Typer()
            command.command()(load(_infos()[path]))
            for option in typer.main.get_command(command).params:
                if getattr(option, "is_flag", False):
                    continue
                for odd in draws.sample([*NUMBERS, *WORDS], self.values):
                    folder = self.folder()
                    if option.param_type_name == "option":
                        words = [
                            *path.split(),
                            *_split(given),
                            f"{option.opts[0]}={odd}" if option.opts[0].startswith("--") else f"{option.opts[0]}{odd}",
                        ]
                    else:
                        words = [*path.split(), odd, *_split(given)[1:]]
                    self.try_("options of every command", words, folder)
                    shutil.rmtree(folder.parent, ignore_errors=True)

    # ---------------------------------------------------------------- damage

    def damage(self) -> None:
        """Files of a study truncated, flipped, random, empty, absent, a folder, a dangling link or another's."""
        here = self.base / "results"
        first, second = self.runs()[:2]
        files = [
            f"{first}/{name}" for name in ("result.json", "spec.yaml", "environment.json", "trace.csv", "scores.npz")
        ]
        files += [
            str(p.relative_to(here))
            for p in sorted((here / "studies").rglob("*")) + sorted(here.glob("first/*"))
            if p.is_file()
        ]
        files += [p.name for p in sorted(here.iterdir()) if p.is_file()]
        rng = np.random.default_rng(0)

        def flip(path: Path) -> None:
            content = bytearray(path.read_bytes())
            content[len(content) // 2] ^= 0xFF
            path.write_bytes(content)

        kinds: dict[str, Callable[[Path], object]] = {
            "half": lambda p: p.write_bytes(p.read_bytes()[: p.stat().st_size // 2]),
            "flipped": flip,
            "random": lambda p: p.write_bytes(rng.bytes(999)),
            "empty": lambda p: p.write_bytes(b""),
            "absent": lambda p: p.unlink(),
            "a folder": lambda p: (p.unlink(), p.mkdir()),
            "dangling": lambda p: (p.unlink(), p.symlink_to("nowhere")),
            "another's": lambda p: p.write_bytes(
                next(q for q in (p.parents[1] / second / p.name, self.base / "own.csv") if q.is_file()).read_bytes()
            ),
        }
        commands = (
            "study status first",
            "study report results",
            "study export first",
            ["site", "results"],
            "verify results --rerun 0",
            "study run first.yaml",
        )
        for file in files:
            for name, change in kinds.items():
                folder = self.folder()
                change(folder / "results" / file)
                kept = read_scores(self.base / "results" / first)
                for words in commands:
                    again = words == "study run first.yaml" and file.endswith(("result.json", "scores.npz"))
                    also = partial(_same_scores, folder / "results" / first, kept) if again else None
                    self.try_("damaged files", words, folder, also, what=f"{file} {name}: ")
                shutil.rmtree(folder.parent, ignore_errors=True)

    # ---------------------------------------------------------------- study files

    def studies(self) -> None:
        """Odd values in every field of a study file, and files that unpack to more than memory."""
        from pubench_study.spec import StudySpec

        odd: list[Any] = [
            "",
            " ",
            "x",
            "digits",
            0,
            -1,
            1,
            10**30,
            0.5,
            float("nan"),
            float("inf"),
            True,
            None,
            [],
            [[]],
            [None],
            [""],
            ["x"],
            [{}],
            {},
            {"a": 1},
            {"key": "upu"},
            {"key": ["upu"]},
            ["upu", "upu"],
            ["a" * 5000],
            {"from": 0, "to": 10**12},
            "2..10**9",
            ["\x1b[31m"],
            "../x",
            [1, "x", None],
            {"fraction": 2},
        ]
        aliases = "a0: &a0 [x,x,x,x,x,x,x,x,x,x]\n" + "".join(
            f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]\n" for n in range(1, 10)
        )
        texts = [yaml.safe_dump({**STUDY, field: value}) for field in StudySpec.model_fields for value in odd]
        texts += [
            aliases,
            "[" * 20_000,
            "x: " + "y" * (1 << 21),
            "!!python/object/apply:os.system [ls]",
            "\0",
            "name: x\nname: y",
            "- 1",
            "%YAML 9",
            "a: *b",
            "\ufeff",
        ]
        for text in texts:
            folder = self.folder()
            (folder / "odd.yaml").write_text(text, encoding="utf-8", errors="surrogatepass")
            self.try_("study files", "study plan odd.yaml", folder, what=f"{text[:150]!r}: ")
            shutil.rmtree(folder.parent, ignore_errors=True)

    # ---------------------------------------------------------------- records of others

    def forged(self) -> None:
        """Every alteration of a record, attacks of strangers, and the forgeries of verify's tests."""
        sys.path[:0] = [str(ROOT / "tests/doubles"), str(ROOT / "plugins/tools/verify/tests")]
        from altered import alterations  # type: ignore[import-not-found]
        from test_verify_altered import HOW_IT_RAN, SCORES_ALONE, unexplained  # type: ignore[import-not-found]
        from test_verify_strangers import ATTACKS  # type: ignore[import-not-found]

        record = self.base / "results" / self.runs()[0]

        def problems(change: Callable[[Path], object]) -> list[str]:
            place = Path(tempfile.mkdtemp(dir=self.scratch))
            folder = Path(shutil.copytree(record, place / "records" / record.name))
            change(folder)
            found = [str(problem) for problem in pubench.verify(folder.parent, rerun=0).problems]
            shutil.rmtree(place)
            return found

        for file, path, change in alterations(record):
            name = f"{file} {path}"
            self.tell(
                "altered records, no rerun",
                name,
                None if problems(change) or not unexplained([name], HOW_IT_RAN | SCORES_ALONE) else "accepted",
            )
        for name, (change, words) in ATTACKS.items():
            found = problems(change)
            self.tell(
                "records of strangers",
                name,
                None if any(words in line for line in found) or name == "no device" else str(found)[:100],
            )

    def injected(self) -> None:
        """Markup, scripts, escapes and paths in every text of a record and of a file of rows."""
        record = read_record(self.base / "results" / self.runs()[0])
        plain = json.loads((record.folder / "result.json").read_text())
        payloads = (
            "<script>alert(1)</script>",
            '\'" onload=alert(1) x="',
            "](javascript:alert(1))<img src=x onerror=alert(1)>",
            "../../evil",
            "\x1b]0;evil\x07",
        )
        places = list(_texts(plain))
        places += [("warnings", 0), ("criteria", "pa", "warnings", 0), ("data", "notes", 0)]
        for place in places:
            for payload in payloads:
                folder = self.folder()
                content = json.loads(json.dumps(plain))
                inner = content
                for name in place[:-1]:
                    inner = inner[name] if not isinstance(name, str) or name in inner else inner.setdefault(name, {})
                if isinstance(place[-1], int):
                    if isinstance(inner, list):
                        inner[:] = [payload]
                    else:
                        continue
                else:
                    inner[place[-1]] = payload
                (folder / "results" / record.folder.name / "result.json").write_text(json.dumps(content))
                before = {p.name for p in folder.parent.iterdir()}

                def clean(done: Done, folder: Path = folder, before: set[str] = before) -> str | None:
                    if {p.name for p in folder.parent.iterdir()} - before:
                        return "wrote outside of its folder"
                    if "\x1b]0;evil" in done.out + done.err:
                        return "an escape reaches the terminal"
                    pages = [*folder.glob("site/**/*.html"), *folder.glob("report.html")]
                    return next((f"{page.name}: {bad}" for page in pages if (bad := _markup(page.read_text()))), None)

                for words in ("site results --no-figures", "study report results --format html --out report.html"):
                    self.try_("injection", words, folder, clean)
                shutil.rmtree(folder.parent, ignore_errors=True)

    # ---------------------------------------------------------------- tables

    def tables(self) -> None:
        """Odd tables for everything that reads one."""
        sound = (self.base / "own.csv").read_text()
        lines = sound.splitlines(keepends=True)
        head, rows = lines[0], lines[1:]

        def cell(value: str, column: int = 5) -> str:
            return head + "".join(_with(row, column, value) if k == 3 else row for k, row in enumerate(rows))

        odd: dict[str, str | bytes] = {
            "empty": "",
            "head only": head,
            "one row": head + rows[0],
            "no line end": sound.rstrip(),
            "CRLF": sound.replace("\n", "\r\n"),
            "semicolons": sound.replace(",", ";"),
            "tabs": sound.replace(",", "\t"),
            "BOM": "\ufeff" + sound,
            "utf-16": sound.encode("utf-16"),
            "NUL": sound.replace("0", "\0", 5),
            "binary": os.urandom(5000),
            "ragged": sound + "1,2\n",
            "long row": sound + ",".join("1" * 50) + "\n",
            "quotes": head + '"' + "".join(rows),
            "same names": head.replace("a,b", "a,a") + "".join(rows),
            "no names": "".join(rows),
            "huge cell": cell("9" * 200_000),
            "all labeled": head + "".join(_with(r, 3, "1") for r in rows),
            "none labeled": head + "".join(_with(r, 3, "0") for r in rows),
            "labels of three": cell("2", 3),
            "labels of words": sound.replace(",1,", ",yes,"),
            "constant scores": head + "".join(_with(r, 5, "1") for r in rows),
            "negatives labeled": head + "".join(_with(r, 3, str(1 - int(r.split(",")[4]))) for r in rows),
            "10,000 columns": _wide(10_000),
            "comment": "# x\n" + sound,
            **{
                f"score {value}": cell(value)
                for value in (
                    "nan",
                    "inf",
                    "-inf",
                    "",
                    "x",
                    "1e308",
                    "1e999",
                    "-0",
                    "1,5",
                    "١",
                    "0x1",
                    "1_0",
                    "True",
                    "<b>",
                    "=1+1",
                )
            },
            **{f"feature {value}": cell(value, 0) for value in ("nan", "inf", "", "x", "1e308", "-1e308")},
        }
        commands = (
            "data check own.csv --label-col label --truth-col truth --drop score",
            "run --method upu --data own.csv --label-col label --drop truth,score --prior 0.4 --set epochs=1",
            "evaluate own.csv --score-col score --label-col label --prior 0.4",
            "evaluate own.csv --score-col score --label-col label --truth-col truth",
            "prior own.csv --label-col label --drop truth,score",
            "audit own.csv --score-col score --label-col label --n 10",
        )
        for name, content in odd.items():
            for words in commands:
                folder = self.folder()
                (folder / "own.csv").write_bytes(content if isinstance(content, bytes) else content.encode())
                self.try_("odd tables", words, folder, what=f"{name}: ")
                shutil.rmtree(folder.parent, ignore_errors=True)

    def numbers(self) -> None:
        """Measures of random scores, against scikit-learn's."""
        from sklearn import metrics as sk

        from pubench_core.engine.layers import Layer
        from pubench_core.engine.resolve import resolve
        from pubench_core.metric import Knowledge, Measurer, Scored
        from pubench_core.plugins.registry import registry

        plan = resolve([Layer({"method": {"key": "upu"}, "data": {"key": "digits"}})], registry())
        measurer, rng = Measurer(plan.metrics), np.random.default_rng(0)
        theirs: dict[str, Callable[[Any, Any], float]] = {
            "auc": sk.roc_auc_score,
            "ap": sk.average_precision_score,
            "accuracy": lambda y, s: sk.accuracy_score(y, s > 0),
            "f1": lambda y, s: sk.f1_score(y, s > 0),
            "precision": lambda y, s: sk.precision_score(y, s > 0),
            "recall": lambda y, s: sk.recall_score(y, s > 0),
            "macro-f1": lambda y, s: sk.f1_score(y, s > 0, average="macro"),
            "mcc": lambda y, s: sk.matthews_corrcoef(y, s > 0),
            "average-precision": sk.average_precision_score,
            "balanced-accuracy": lambda y, s: sk.balanced_accuracy_score(y, s > 0),
        }
        for trial in range(100):
            n = int(rng.integers(20, 400))
            truth = rng.permutation(np.arange(n) % 3 == 0).astype(np.int64)
            scores = np.round(rng.normal(size=n) + truth, int(rng.integers(0, 4)))
            for name in theirs.keys() & plan.metrics.keys():
                mine = measurer.measure(name, Scored.of(scores, Knowledge(truth=truth.astype(np.int8)))).value
                other = float(theirs[name](truth, scores))
                same = mine is not None and abs(mine - other) < 1e-9
                self.tell(
                    "numbers against scikit-learn", f"{name}, trial {trial}", None if same else f"{mine} and {other}"
                )

    # ---------------------------------------------------------------- folders

    def folders(self) -> None:
        """Full disks, read-only folders, moved, copied and deleted ones, odd clocks, two commands at once."""
        for most in (0, 100, 2_000, 10_000, 40_000):
            for words in (
                "study run first.yaml --results other",
                "study export first",
                ["site", "results"],
                "run --method upu --data digits --set epochs=1 --no-tracking --force",
            ):
                folder = self.folder()
                self.try_("full disk", words, folder, lambda done, folder=folder: _whole(folder), most_bytes=most)
        for size in ("40k", "100k", "200k", "400k"):
            folder = self.folder()
            (folder / "small").mkdir()
            if subprocess.run(
                ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", folder / "small"], capture_output=True
            ).returncode:
                break
            self.try_(
                "full disk", "study run first.yaml --results small", folder, lambda done, folder=folder: _whole(folder)
            )
            subprocess.run(["mount", "-o", "remount,size=9m", folder / "small"])
            self.try_(
                "full disk",
                "study run first.yaml --results small",
                folder,
                lambda done, folder=folder: _whole(folder, 4),
            )
            subprocess.run(["mount", "-o", "remount,ro", folder / "small"])
            for words in (
                "study run first.yaml --results small --replan",
                "study status first --results small",
                "study export first --results small",
                ["site", "small"],
                "verify small --rerun 0",
                "run --method pn --data digits --results small --set epochs=2",
                "tune upu --data digits --results small --trials 1",
            ):
                self.try_("read-only folder", words, folder)
            subprocess.run(["umount", folder / "small"])
        for name, change in {
            "moved": lambda p: (p / "results").rename(p / "moved"),
            "deleted": lambda p: shutil.rmtree(p / "results"),
            "records deleted": lambda p: [
                shutil.rmtree(q) for q in (p / "results").iterdir() if (q / "result.json").exists()
            ],
            "times of 1970": lambda p: [os.utime(q, (0, 0)) for q in p.rglob("*") if q.is_file()],
            "times of 2100": lambda p: [os.utime(q, (4e9, 4e9)) for q in p.rglob("*") if q.is_file()],
            "a link": lambda p: ((p / "results").rename(p / "moved"), (p / "results").symlink_to("moved")),
            "a file": lambda p: (shutil.rmtree(p / "results"), (p / "results").write_text("x")),
            "a device": lambda p: (shutil.rmtree(p / "results"), (p / "results").symlink_to("null")),
        }.items():
            folder = self.folder()
            change(folder)
            for words in (
                "study status first",
                "study run first.yaml",
                "study report results",
                ["site", "results"],
                "verify results --rerun 0",
                "track --to jsonl",
            ):
                self.try_("folders", words, folder, what=f"{name}: ")
        for words in (
            "study run first.yaml --results both",
            "tune upu --data digits --trials 2 --set epochs=1 --results both",
            "run --method upu --data digits --set epochs=2 --no-tracking --results both",
        ):
            folder = self.folder()
            started = [
                subprocess.Popen(
                    [SCRIPT, *_split(words)], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                )
                for _ in range(3)
            ]
            for process in started:
                err = process.communicate()[1]
                self.tell(
                    "two commands at once",
                    " ".join(_split(words)),
                    Done(process.returncode, "", err).fault or _whole(folder),
                )

    def kills(self) -> None:
        """Signals at random moments to a study and to its workers; then it is carried on with."""
        draws = random.Random(1)
        plan = {
            **STUDY,
            "methods": "upu pn nnpu",
            "settings": {"method": {"config": {"epochs": 5}}, "execution": {"threads": 1}},
        }
        whole: dict[str, Any] = {}
        for chain in range(self.chains + 1):
            folder = Path(tempfile.mkdtemp(dir=self.scratch))
            (folder / "first.yaml").write_text(yaml.safe_dump(plan))
            command = [SCRIPT, "study", "run", "first.yaml", "-j", "2"]
            for _ in range(4 if chain else 0):
                process = subprocess.Popen(
                    command,
                    cwd=folder,
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.PIPE,
                    text=True,
                    start_new_session=True,
                )
                time.sleep(draws.uniform(1, 14))
                number = draws.choice([signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
                whom = draws.choice("parent worker group")
                workers = [
                    int(p)
                    for p in subprocess.run(
                        ["pgrep", "-P", str(process.pid)], capture_output=True, text=True
                    ).stdout.split()
                ]
                try:
                    if whom == "group":
                        os.killpg(process.pid, number)
                    else:
                        os.kill(draws.choice(workers) if whom == "worker" and workers else process.pid, number)
                except ProcessLookupError:
                    pass
                try:
                    err = process.communicate(timeout=300)[1]
                    fault = "traceback" if "Traceback" in err else None
                except subprocess.TimeoutExpired:
                    process.kill()
                    fault = "does not end"
                self.tell("kills", f"{signal.Signals(number).name} to the {whom}", fault)
            done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
            found = {p.parent.name: read_scores(p.parent) for p in folder.glob("results/*/result.json")}
            left = [p.name for p in (folder / "results").glob(".incoming/*") if p.name != ".lock"]
            fault = Done(done.returncode, done.stdout, done.stderr).fault or (f"left {left}" if left else None)
            if not chain:
                whole = found
            elif found.keys() != whole.keys() or any(_differ(found[run], whole[run]) for run in whole):
                fault = fault or f"{len(found)} runs of {len(whole)}, or other bits"
            self.tell("chains of kills", f"chain {chain}", fault)

    def packages(self) -> None:
        """Damaged metadata of other distributions, in processes of their own."""
        sound = b"Metadata-Version: 2.1\nName: broken\nVersion: 1.0\n"
        kinds: dict[str, dict[str, bytes]] = {
            "points no UTF-8": {"METADATA": sound, "entry_points.txt": b"[x]\n\xff\xfe=\xff"},
            "points without =": {"METADATA": sound, "entry_points.txt": b"[console_scripts]\nfoo\n"},
            "pubench's without =": {"METADATA": sound, "entry_points.txt": b"[pubench]\nfoo\n"},
            "pydantic's": {"METADATA": sound, "entry_points.txt": b"[pydantic]\nfoo = nowhere:x\n"},
            "NUL": {"METADATA": sound, "entry_points.txt": b"\0[pubench]\0x=y"},
            "no metadata": {"entry_points.txt": b"[pubench]\nfoo = nowhere:x\n"},
            "empty metadata": {"METADATA": b""},
            "metadata no UTF-8": {"METADATA": b"Name: \xff", "entry_points.txt": b"[pubench]\nfoo = nowhere\n"},
            "raises": {"METADATA": sound, "entry_points.txt": b"[pubench]\nfoo = bad\n"},
            "exits": {"METADATA": sound, "entry_points.txt": b"[pubench.tools]\nfoo = leaving\n"},
        }
        for name, files in kinds.items():
            folder = self.folder()
            place = folder / "site" / "broken-1.0.dist-info"
            place.mkdir(parents=True)
            (place.parent / "bad.py").write_text("raise RuntimeError(1)")
            (place.parent / "leaving.py").write_text("raise SystemExit(3)")
            for file, content in files.items():
                (place / file).write_bytes(content)
            environment = {k: v for k, v in os.environ.items() if k not in UNREAD} | {
                "PYTHONPATH": os.pathsep.join([str(place.parent), os.environ.get("PYTHONPATH", "")])
            }
            for words in (
                ["doctor"],
                ["list", "methods"],
                "verify results --rerun 0",
                "run --method pn --data digits --set epochs=1",
            ):
                done = subprocess.run(
                    [SCRIPT, *_split(words)], cwd=folder, env=environment, capture_output=True, text=True
                )
                fault = Done(done.returncode, done.stdout, done.stderr).fault or (
                    f"exit code {done.returncode}" if done.returncode else None
                )
                self.tell("damaged distributions", f"{name}: {' '.join(_split(words))}", fault)

    def scaffolds(self) -> None:
        """Names of packages that are made."""
        for kind in ("method", "dataset", "mechanism", "metric", "sink", "command"):
            for name in (
                "nnpu",
                "class",
                "a b",
                "1x",
                "a-b-c",
                "A",
                "é",
                "__init__",
                "os",
                "pubench",
                "x" * 300,
                "a/b",
                "..",
                "con",
                "-x",
                "a'b",
                "{x}",
            ):
                folder = self.folder()
                self.try_("made packages", [f"new-{kind}", name], folder)
                shutil.rmtree(folder.parent, ignore_errors=True)

    def determinism(self) -> None:
        """One run in other surroundings: the same bits."""
        words = "run --method nnpu --data digits --set epochs=2 --threads 1 --no-tracking --format json"
        first: Any = None
        ways: dict[str, tuple[dict[str, str], list[str]]] = {
            "plain": ({}, []),
            "again": ({}, []),
            "hash seed": ({"PYTHONHASHSEED": "7"}, []),
            "locale": ({"LC_ALL": "C"}, []),
            "OMP": ({"OMP_NUM_THREADS": "2"}, []),
            "optimized": ({"PYTHONOPTIMIZE": "2"}, []),
            "time zone": ({"TZ": "Asia/Tokyo"}, []),
            "COLUMNS": ({"COLUMNS": "20"}, []),
            "no color": ({"NO_COLOR": "1"}, []),
            "tracked": ({}, ["--sinks", "jsonl"]),
            "model": ({}, ["--save-model"]),
            "more criteria": ({}, ["--select", "f1"]),
        }
        for name, (variables, more) in ways.items():
            folder = Path(tempfile.mkdtemp(dir=self.scratch))
            given = [w for w in _split(words) if not (more and w == "--no-tracking" and "--sinks" in more)]
            done = subprocess.run(
                [SCRIPT, *given, *more], cwd=folder, env={**os.environ, **variables}, capture_output=True, text=True
            )
            arrays = next((read_scores(p.parent) for p in folder.glob("results/*/result.json")), None)
            first = arrays if first is None else first
            shared = {} if arrays is None else {k: arrays[k] for k in arrays.keys() & first.keys()}
            fault = (
                None
                if shared and not _differ(shared, {k: first[k] for k in shared})
                else f"other bits ({done.stderr[-100:]})"
            )
            self.tell("determinism", name, fault)


def _split(words: str | Iterable[object]) -> list[object]:
    return [*words.split()] if isinstance(words, str) else [*words]


def _texts(plain: Any, above: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    if isinstance(plain, dict):
        for name, value in plain.items():
            yield from _texts(value, (*above, name))
    elif isinstance(plain, str):
        yield above


class _Markup(HTMLParser):
    """``bad``: an element or attribute that an attacker would want."""

    bad = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        for name, value in attrs:
            if "alert" in (value or "") and (name.startswith("on") or (value or "").strip().startswith("javascript:")):
                self.bad = f"<{tag} {name}={value}>"
        if tag == "img" and ("src", "x") in attrs:
            self.bad = "<img src=x>"
        self.script = tag == "script"

    def handle_data(self, data: str) -> None:
        if getattr(self, "script", False) and data.strip() == "alert(1)":
            self.bad = "<script>"


def _markup(text: str) -> str:
    parser = _Markup()
    parser.feed(text)
    return parser.bad


def _with(row: str, column: int, value: str) -> str:
    cells = row.strip().split(",")
    cells[column] = value
    return ",".join(cells) + "\n"


def _wide(n: int) -> str:
    return (
        ",".join([*(f"x{k}" for k in range(n)), "label", "truth", "score"])
        + "\n"
        + "".join(",".join(["1"] * n + [str(k % 2), str(k % 2), str(k)]) + "\n" for k in range(8))
    )


def _differ(one: Any, other: Any) -> bool:
    return one.keys() != other.keys() or any(one[k].tobytes() != other[k].tobytes() for k in one)


def _same_scores(folder: Path, kept: Any, done: Done) -> str | None:
    """Why a record is not what it was before it was damaged."""
    try:
        return "repaired with other bits" if _differ(read_scores(folder), kept) else None
    except (PubenchError, OSError) as error:
        return f"not repaired: {error}"


def _whole(folder: Path, records: int = 0) -> str | None:
    """Why the records in a folder are no whole ones: a half of one, or fewer than there must be."""
    found = [p.parent for p in folder.glob("*/*/result.json")]
    try:
        for path in found:
            read_record(path)
            read_scores(path)
    except (PubenchError, OSError) as error:
        return f"half a record: {error}"
    return f"{len(found)} records" if len(found) < records else None


def run() -> None:
    """Makes the attempts that are asked for and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    kinds = (
        "options",
        "damage",
        "studies",
        "forged",
        "injected",
        "tables",
        "numbers",
        "folders",
        "kills",
        "packages",
        "scaffolds",
        "determinism",
    )
    parser.add_argument("--only", default=",".join(kinds), help="kinds, by comma")
    parser.add_argument("--values", type=int, default=8, help="odd values of each option")
    parser.add_argument("--kills", type=int, default=12, help="chains of four signals")
    given = parser.parse_args()
    os.environ.update(UNREAD | {"OMP_NUM_THREADS": "1", "PUBENCH_DATA": os.environ.get("PUBENCH_DATA", "")})
    warnings.simplefilter("ignore")
    import pubench_study.local  # noqa: F401
    import torch

    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory(prefix="pubench-attack-", ignore_cleanup_errors=True) as scratch:
        attack = Attack(Path(scratch), given.values, given.kills)
        for kind in given.only.split(","):
            started = time.monotonic()
            getattr(attack, kind)()
            print(f"{kind}: {time.monotonic() - started:.0f} s", file=sys.stderr, flush=True)
        lost = Counter(kind for kind, _, _ in attack.failed)
        print("\n| kind | tried | held |\n|---|---:|---:|")
        for kind, tried in attack.tried.items():
            print(f"| {kind} | {tried:,} | {tried - lost[kind]:,} |")
        print(f"| all | {attack.tried.total():,} | {attack.tried.total() - lost.total():,} |")
    sys.exit(bool(lost))


if __name__ == "__main__":
    run()
