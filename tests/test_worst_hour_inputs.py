"""Hostile files and arguments: each is one line that says what is wrong with it, soon, and nothing of it is obeyed."""

from __future__ import annotations

import contextlib
import io
import json
import os
import random
import signal
import zipfile
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch
from printed import Done, Run
from pubench_datasets_tables import encoding
from pubench_datasets_tables.user_table import read_user_table
from pubench_mechanisms.posterior import auxiliary_logit
from pubench_models.model_file import model_bytes
from pubench_models.saved_model import model_of
from refusals import error_line
from registries import registry_with
from safetensors.torch import load as tensors_of
from safetensors.torch import save as file_of
from torch import Tensor

from pubench_cli.recorded_run import folder_of_run
from pubench_cli.yaml_layers import assigned, read_yaml
from pubench_core.data import checksum_cache
from pubench_core.data.cache import sha256_of
from pubench_core.data.dataset import DataRoot
from pubench_core.data.source import source_of
from pubench_core.data.store import located, open_dataset, read
from pubench_core.engine.build import build_problem
from pubench_core.engine.resolve import resolve
from pubench_core.engine.train import train
from pubench_core.errors import PubenchError, RequestError
from pubench_core.plugins.info import DatasetInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.records.store import RecordStore
from pubench_core.specs import UserTableSpec

Saved = Callable[[str], tuple[dict[str, Any], dict[str, Tensor]]]


class TooLong(BaseException):
    """No class that code under test would catch."""


@contextlib.contextmanager
def within(seconds: float) -> Iterator[None]:
    """Raises TooLong in a block that takes longer."""

    def late(number: int, frame: object) -> None:
        raise TooLong(f"{seconds} seconds")

    before = signal.signal(signal.SIGALRM, late)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def line_of(attack: Callable[[], object], most: int = 700) -> str | None:
    """The one line that an attack is refused with; None where nothing was wrong with it."""
    try:
        with within(20):
            attack()
    except PubenchError as error:
        line = str(error)
        assert "\n" not in line
        assert 0 < len(line) <= most
        return line
    return None


# ---------------------------------------------------------------- YAML and --set


class TestDocuments:
    @pytest.mark.parametrize(
        ("text", "words"),
        [
            ("data: " + "{a: " * 3000 + "}" * 3000, "nested more than 50 deep"),
            ("- x\n" * 300_000, "more than"),
            ("#" * 2_000_000, "more than 1,048,576 characters"),
            (
                "seed: 2020-13-45\n",
                "line 1: not valid YAML: '2020-13-45' is not a valid timestamp; put a text in quotes",
            ),
            ("seed: !!bool foo\n", "line 1: not valid YAML: 'foo' is not a valid bool"),
            ("seed: " + "9" * 5000, "a number of 5000 characters"),
        ],
        ids=["flow", "list", "size", "date", "bool", "digits"],
    )
    def test_a_file_out_of_bounds_is_refused_soon(self, tmp_path: Path, text: str, words: str) -> None:
        path = tmp_path / "run.yaml"
        path.write_text(text)
        line = line_of(lambda: read_yaml(path))
        assert line is not None
        assert words in line
        assert str(path) in line

    def test_aliases_within_bounds_are_values(self, tmp_path: Path) -> None:
        path = tmp_path / "run.yaml"
        path.write_text("seed: &s 3\nmethod: {key: nnpu, config: {epochs: *s}}\ndata: digits\n")
        spec = resolve([read_yaml(path)], registry()).spec
        assert (spec.seed, spec.method.config["epochs"]) == (3, 3)

    def test_aliases_of_aliases_are_refused_before_they_are_values(self, tmp_path: Path) -> None:
        path, levels = tmp_path / "run.yaml", range(1, 10)
        text = "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]\n" for n in levels)
        path.write_text(text)
        words = "more than 100,000 values, with those that aliases repeat"
        assert words in (line_of(lambda: read_yaml(path)) or "")


# ---------------------------------------------------------------- a saved model


@pytest.fixture(scope="module")
def plugins() -> Registry:
    return registry_with("pubench_doubles")


@pytest.fixture(scope="module")
def saved(plugins: Registry, tmp_path_factory: pytest.TempPathFactory) -> Saved:
    """``saved(method)``: facts and tensors of a small real model."""
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"a": rng.normal(size=80).round(3), "s": np.arange(80) < 20, "c": rng.choice(["x", "y"], 80)})
    path = tmp_path_factory.mktemp("own") / "my.csv"
    frame.to_csv(path, index=False)

    @cache
    def made(method: str) -> bytes:
        sets = {"puet": ["n_estimators=3"], "nnpu": ["epochs=1"], "pusb": ["epochs=1"]}[method]
        own = [f"data.own.path={path}", "data.own.label_col=s", "prior=0.5", "execution.threads=1"]
        plan = resolve([assigned(f"method.key={method}", *own, *sets)], plugins)
        problem = build_problem(plan)
        trained = train(plan, problem)
        chosen = trained.selection.tracks[plan.spec.selection.criterion].chosen
        assert chosen is not None
        return model_bytes(plan, problem, trained.method, chosen.candidate)

    def read(method: str) -> tuple[dict[str, Any], dict[str, Tensor]]:
        content = made(method)
        header = json.loads(content[8 : 8 + int.from_bytes(content[:8], "little")])
        return json.loads(header["__metadata__"]["pubench"]), tensors_of(content)

    return read


def works(content: bytes, plugins: Registry) -> None:
    """Reads a model and scores rows with it."""
    model = model_of(content, plugins)
    assert model.scores(np.zeros((3, *model.shape), dtype=np.float32)).shape == (3,)


def content_of(facts: Any, tensors: dict[str, Tensor]) -> bytes:
    said = facts if isinstance(facts, str) else json.dumps(facts)
    return bytes(file_of({k: v.contiguous() for k, v in tensors.items()}, {"pubench": said}))


#: Whether every value is replaced by every other, as ``make fuzz`` does; four are drawn otherwise.
EXHAUSTIVE = "PUBENCH_FUZZ_SECONDS" in os.environ
#: What a value of the metadata becomes. Last: taken away.
REPLACED: list[Any] = [
    *(None, True, 0, -1, 2**40, 10**30, 0.5, float("nan"), float("inf"), "", "x", "../../etc", "\x1b[31m", "__class__"),
    *([], [1], [10**9], [[[]]], [None], {}, {"a": 1}, {"object": "os:system"}, {"backbone": 10**9}, {"value": True}),
    *({"backbones": [1] * 50}, {"array": True}, {"backbone": -3}, {"assembled": "x"}, {"object": ":"}),
    *([1] * 5000, "GONE"),
]


def places_in(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """The path of every value in nested ones."""
    if path:
        yield path
    for key, inner in value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ()):
        yield from places_in(inner, (*path, key))


def replaced(facts: Any, path: tuple[Any, ...], value: Any) -> Any:
    """Other facts, with one value replaced or taken away."""
    copy = json.loads(json.dumps(facts))
    node = copy
    for key in path[:-1]:
        node = node[key]
    if value == "GONE":
        del node[path[-1]]
    else:
        node[path[-1]] = value
    return copy


class TestTamperedModel:
    @pytest.mark.parametrize("method", ["puet", "pusb"])
    def test_any_value_of_the_metadata_may_be_any_other(self, plugins: Registry, saved: Saved, method: str) -> None:
        """Either one line, or a model that scores."""
        facts, tensors = saved(method)
        works(content_of(facts, tensors), plugins)
        draw = random.Random(0)
        for path in places_in(facts):
            for value in REPLACED if EXHAUSTIVE else draw.sample(REPLACED, 4):
                line_of(
                    lambda path=path, value=value: works(content_of(replaced(facts, path, value), tensors), plugins)
                )

    @pytest.mark.parametrize("method", ["puet", "pusb"])
    def test_any_tensor_may_be_any_other(self, plugins: Registry, saved: Saved, method: str) -> None:
        facts, tensors = saved(method)
        kinds = (torch.int64, torch.bool, torch.bfloat16, torch.complex64, torch.float16)
        changes: list[Callable[[Tensor], Tensor]] = [
            *(lambda t: t[:0], lambda t: t.flatten()[:1], lambda t: t[None], lambda t: torch.zeros(()), lambda t: -t),
            *(lambda t: t.to(torch.float64) * 1e300, lambda t: torch.full_like(t.float(), float("nan"))),
            *(lambda t: torch.cat([t, t]) if t.ndim else t, torch.zeros_like),
            *(lambda t, kind=kind: t.to(kind) for kind in kinds),
        ]
        for name in tensors:
            others = {k: v for k, v in tensors.items() if k != name}
            line_of(lambda others=others: works(content_of(facts, others), plugins))
            line_of(
                lambda name=name, others=others: works(content_of(facts, others | {f"{name}x": tensors[name]}), plugins)
            )
            for change in changes:
                altered = others | {name: change(tensors[name])}
                line_of(lambda altered=altered: works(content_of(facts, altered), plugins))

    def test_a_network_far_larger_than_the_file_is_never_made(self, plugins: Registry, saved: Saved) -> None:
        facts, tensors = saved("nnpu")
        for change in ({"shape": [10**7], "columns": None}, {"parts": {"net": {"backbone": 10**8}}}):
            line = line_of(lambda change=change: works(content_of({**facts, **change}, tensors), plugins))
            assert line is not None
            assert "far more than it holds" in line

    @pytest.mark.parametrize(
        "text",
        [
            "[" * 100_000,
            '{"a":' * 50_000,
            "9" * 5000,
            '{"version": ' + "9" * 5000 + "}",
            "\ud800".encode("utf-8", "replace").decode(),
        ],
        ids=["lists", "mappings", "digits", "version", "text"],
    )
    def test_metadata_that_are_no_facts_are_one_line(self, plugins: Registry, saved: Saved, text: str) -> None:
        assert line_of(lambda: model_of(content_of(text, saved("nnpu")[1]), plugins)) is not None

    def test_bytes_at_random_are_one_line(self, plugins: Registry, saved: Saved) -> None:
        whole, draw = bytearray(content_of(*saved("puet"))), random.Random(0)
        for _ in range(150):
            altered = bytearray(whole)
            for _ in range(draw.randint(1, 8)):
                altered[draw.randrange(len(altered))] = draw.randrange(256)
            end = draw.choice([None, draw.randrange(len(altered))])
            line_of(lambda content=bytes(altered[:end]): works(content, plugins))


Forest = dict[str, Tensor]  # the arrays of a forest, by name


def child_of_itself(forest: Forest) -> None:
    inner = int(torch.nonzero(forest["feature"] >= 0)[0])
    forest["left"][inner] = forest["right"][inner] = inner


def splitting_on(feature: int) -> Callable[[Forest], None]:
    def change(forest: Forest) -> None:
        forest["feature"] = torch.where(forest["feature"] >= 0, feature, forest["feature"]).to(torch.int32)

    return change


def cut_at(offsets: list[int]) -> Callable[[Forest], None]:
    def change(forest: Forest) -> None:
        forest["offsets"] = torch.tensor([*offsets, len(forest["feature"])], dtype=torch.int64)

    return change


CUTS = [[], [0, 0], [1, 2], [0, 2**62, 2**62 + 1], [0, -5], [0, 2**63 - 1, -(2**63)]]
CHILDREN = [(side, value) for side in ("left", "right") for value in (0, -1, -(2**31), 2**31 - 1, 10_000_000)]
CRAFTED: list[tuple[str, Callable[[Forest], object]]] = [
    *(
        (f"a {s} child of a forest is no later node of its tree", lambda t, s=s, v=v: t[s].fill_(v))
        for s, v in CHILDREN
    ),
    ("no later node", child_of_itself),
    *(("splits on a feature beyond its 3", splitting_on(value)) for value in (3, 10**6, 2**31 - 1)),
    ("was grown on 1000000", lambda t: t.update(importances=torch.zeros(10**6, dtype=torch.float64))),
    *(("do not cut its nodes into trees", cut_at(offsets)) for offsets in CUTS),
]
RESHAPED: dict[str, Callable[[Tensor], Tensor]] = {
    "longer": lambda t: torch.cat([t, t]),
    "shorter": lambda t: t[:-1],
    "empty": lambda t: t[:0],
    "wide": lambda t: t[None],
    "float": lambda t: t.to(torch.float32),
}


class TestCraftedForest:
    """Compiled code that walks a tree looks at no bounds: the forest is looked at when it is read."""

    def refused(self, plugins: Registry, saved: Saved, change: Callable[[Forest], object]) -> str:
        facts, tensors = saved("puet")
        forest = {name.removeprefix("forest."): tensors.pop(name) for name in [*tensors] if name.startswith("forest.")}
        change(forest)
        tensors.update({f"forest.{name}": tensor for name, tensor in forest.items()})
        line = line_of(lambda: works(content_of(facts, tensors), plugins))
        assert line is not None
        assert "does not fit puet" in line
        return line

    @pytest.mark.parametrize(("words", "change"), CRAFTED)
    def test_a_forest_that_would_be_walked_out_of_its_arrays(
        self, plugins: Registry, saved: Saved, words: str, change: Callable[[Forest], object]
    ) -> None:
        assert words in self.refused(plugins, saved, change)

    @pytest.mark.parametrize("name", ["feature", "left", "right", "threshold", "label", "posterior", "offsets"])
    @pytest.mark.parametrize("how", RESHAPED)
    def test_arrays_of_another_length_or_kind(self, plugins: Registry, saved: Saved, name: str, how: str) -> None:
        self.refused(plugins, saved, lambda forest: forest.update({name: RESHAPED[how](forest[name])}))
        self.refused(plugins, saved, lambda forest: forest.pop(name))


# ---------------------------------------------------------------- files of data sets


def root_at(folder: Path) -> DataRoot:
    return DataRoot(folder, "a test", cache=folder / "cache")


def reading_of(key: str, root: DataRoot) -> Callable[[], object]:
    source = source_of(registry().find(DatasetInfo, key))
    return lambda: read(source, located(source, root), root)


def put(folder: Path, name: str, content: bytes) -> DataRoot:
    """A data root with one file."""
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return root_at(folder)


def refused_for(key: str, root: DataRoot, words: str) -> None:
    line = line_of(reading_of(key, root))
    assert line is not None
    assert words in line


class TestDeepData:
    """Data that no machine holds are one line."""

    def test_lists_in_lists_in_a_line(self, tmp_path: Path) -> None:
        refused_for("imdb", put(tmp_path, "imdb/imdb.jsonl", b"[" * 200_000 + b"\n"), "imdb.jsonl is damaged")

    def test_an_array_that_says_it_is_larger_than_memory(self, tmp_path: Path) -> None:
        line = json.dumps({"split": "train", "label": 1, "text": "x"}).encode() + b"\n"
        root = put(tmp_path, "imdb/imdb.jsonl", line + line.replace(b"train", b"test"))
        head = io.BytesIO()
        np.lib.format.write_array_header_1_0(head, {"descr": "<f4", "fortran_order": False, "shape": (2**44, 384)})
        with zipfile.ZipFile(tmp_path / "imdb" / "minilm_l6_v2.npz", "w") as archive:
            archive.writestr("embedding.npy", head.getvalue())
        refused_for("imdb", root, "minilm_l6_v2.npz has the sha256 checksum")


class TestPipes:
    """Opening a pipe waits until somebody writes into it, for ever if nobody does."""

    def test_a_file_of_a_data_set(self, tmp_path: Path) -> None:
        (tmp_path / "spambase").mkdir()
        os.mkfifo(tmp_path / "spambase" / "spambase.data")
        source = source_of(registry().find(DatasetInfo, "spambase"))
        line = line_of(lambda: open_dataset(source, root_at(tmp_path)))
        assert line is not None
        assert "it is a pipe or a device, not a file" in line

    @pytest.mark.parametrize("name", ["my.csv", "my.npz", "my.parquet"])
    def test_a_table(self, pubench_within: Run, tmp_path: Path, name: str) -> None:
        os.mkfifo(tmp_path / name)
        line = error_line(pubench_within("run", "--method", "nnpu", "--data", name, "--label-col", "s", "--prior", 0.3))
        assert line.startswith(f"error: cannot read {name}: it is a pipe or a device")
        assert not (tmp_path / "results").exists()

    def test_a_device(self) -> None:
        with pytest.raises(OSError, match="it is a pipe or a device"):
            sha256_of(Path("/dev/zero"))


# ---------------------------------------------------------------- what is kept in the cache


def posterior(cache: Path | None = None) -> Any:
    rows = np.arange(60)
    return auxiliary_logit(np.random.default_rng(0).normal(size=(60, 3)), (rows % 2).astype(np.int8), rows, rows, cache)


#: What is done with the content of a file.
DAMAGES: dict[str, Callable[[Path, bytes], object]] = {
    "truncated": lambda path, content: path.write_bytes(content[:-3]),
    "emptied": lambda path, content: path.write_bytes(b""),
    "altered": lambda path, content: path.write_bytes(content[:40] + bytes([content[40] ^ 1]) + content[41:]),
    "longer": lambda path, content: path.write_bytes(content + b"\0" * 8),
    "text": lambda path, content: path.write_bytes(b"no numbers"),
    "of another shape": lambda path, content: checksum_cache.keep(path, np.ones(7).tobytes()),
}


class TestKeptPosterior:
    @pytest.mark.parametrize("how", DAMAGES)
    def test_a_damaged_one_is_computed_again(self, tmp_path: Path, how: str) -> None:
        right = posterior(tmp_path)
        (path,) = tmp_path.iterdir()
        content = path.read_bytes()
        DAMAGES[how](path, content)
        np.testing.assert_array_equal(posterior(tmp_path), right)
        assert path.read_bytes() == content

    def test_a_cache_that_cannot_be_read_or_written_costs_time_only(self, tmp_path: Path) -> None:
        right = posterior(tmp_path / "cache")
        (path,) = (tmp_path / "cache").iterdir()
        path.unlink()
        path.mkdir()
        np.testing.assert_array_equal(posterior(tmp_path / "cache"), right)
        (tmp_path / "file").touch()
        np.testing.assert_array_equal(posterior(tmp_path / "file"), right)


# ---------------------------------------------------------------- what reaches the terminal

#: Renames the window, clears the screen, writes over the line, turns text around, types for the user.
STEERING = "\x1b]0pwned\x07\x1b[2J\x9b31m\u202e\x7f"
ON_DIGITS = ("run", "--method", "nnpu", "--data", "digits")


class TestEscapeSequences:
    def plain(self, done: Done) -> str:
        found = done.stdout + done.stderr
        assert not any(c in found for c in "\x1b\x07\x9b\u202e\x7f")
        return found

    @pytest.fixture
    def hostile(self, tmp_path: Path) -> Path:
        """A table whose headers and values are hostile, in a file with such a name."""
        path = tmp_path / f"my{STEERING}.csv"
        rng = np.random.default_rng(0)
        frame = pd.DataFrame(
            {
                f"a{STEERING}": rng.normal(size=80).round(3),
                f"s{STEERING}": np.where(np.arange(80) < 20, f"yes{STEERING}", "no"),
                f"c{STEERING}": rng.choice([f"x{STEERING}", "y"], 80),
                f"k{STEERING}": "constant",
            }
        )
        frame.to_csv(path, index=False)
        return path

    def test_headers_labels_and_names_of_files(self, pubench: Run, hostile: Path) -> None:
        run = (*ON_DIGITS, "--data", hostile, "--prior", 0.5, "--threads", 1, "--set", "epochs=1", "--no-tracking")
        asked = pubench(*run)
        assert asked.returncode == 2
        assert "\\x1b]0pwned\\x07" in self.plain(asked)
        unclear = pubench(*run, "--label-col", f"s{STEERING}")
        assert unclear.returncode == 2
        assert "\\x1b[2J" in self.plain(unclear)
        done = pubench(*run, "--label-col", f"s{STEERING}", "--positive-value", f"yes{STEERING}", "--save-model")
        assert done.returncode == 0, done.stderr
        assert "left out" in self.plain(done)
        for words in (
            (*run, "--label-col", f"nothing{STEERING}"),
            ("data", "check", hostile),
        ):
            self.plain(pubench(*words))

    @pytest.mark.parametrize(
        "arguments",
        [
            ("predict", STEERING, "x.csv"),
            ("list", STEERING),
            (STEERING,),
            (*ON_DIGITS, "--set", f"{STEERING}=1"),
            (*ON_DIGITS, "--config", f"{STEERING}.yaml"),
        ],
        ids=lambda words: " ".join(words).replace(STEERING, "?"),
    )
    def test_arguments(self, pubench_within: Run, arguments: tuple[str, ...]) -> None:
        done = pubench_within(*arguments)
        assert done.returncode in (1, 2)
        assert self.plain(done)

    def test_warnings_of_python(self, pubench: Run, with_plugin: Callable[..., dict[str, str]]) -> None:
        env = with_plugin("acme-warns", f"import warnings\nwarnings.warn('warned' + {STEERING!r})")
        assert "warned\\x1b]0pwned" in self.plain(pubench("doctor", "acme-warns", env=env))

    def test_on_a_real_terminal(
        self, hostile: Path, tmp_path: Path, pubench_on_terminal: Callable[..., tuple[int, str]]
    ) -> None:
        """Where rich draws, with escape sequences of its own."""
        _, done = pubench_on_terminal(tmp_path, 100, "data", "check", hostile)
        assert "pwned" in done
        for payload in ("\x1b]0", "\x07", "\x1b[2J", "\x9b", "\u202e", "\x7f"):
            assert payload not in done


# ---------------------------------------------------------------- arguments and records


class TestArguments:
    @pytest.mark.parametrize(
        ("arguments", "words"),
        [
            (("predict", "a" * 5000, "x.csv"), "no finished run 'aaa"),
            (("predict", "a/" * 2000, "x.csv"), "no finished run 'a/a"),
            (("info", "a" * 5000), "unknown key 'aaa"),
            ((*ON_DIGITS, "--method", "a" * 5000), "unknown method 'aaa"),
            ((*ON_DIGITS, "--data", "a" * 5000 + ".csv", "--label-col", "s"), "File name too long"),
            ((*ON_DIGITS, "--results", "a" * 5000), "File name too long"),
            ((*ON_DIGITS, "--threads", "99999999999"), "threads must be"),
            ((*ON_DIGITS, "--device", "cuda:" + "9" * 20), "device must be"),
            ((*ON_DIGITS, "--device", "cuda:999"), "--device cuda:999"),
            ((*ON_DIGITS, "--seed", "9" * 5000), "seed must be a whole number"),
            ((*ON_DIGITS, "--c", "1e999"), "--c"),
        ],
        ids=lambda value: " ".join(value)[:60] if isinstance(value, tuple) else "",
    )
    def test_each_is_one_line_and_exit_code_2(
        self, pubench_within: Run, arguments: tuple[str, ...], words: str
    ) -> None:
        assert words in error_line(pubench_within(*arguments))

    def test_a_folder_that_may_not_be_entered_is_one_line(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As root may enter every folder, the system's answer is played."""
        locked, stat = tmp_path / "locked", os.stat

        def denied(path: Any, *more: Any, **named: Any) -> os.stat_result:
            if str(path).startswith(str(locked)):
                raise PermissionError(13, "Permission denied", str(path))
            return stat(path, *more, **named)

        monkeypatch.setattr(os, "stat", denied)
        for key in ("spambase", "imdb", "20news", "mnist", "cifar10"):
            line = line_of(reading_of(key, root_at(locked)), most=2000)
            assert line is not None
            assert str(locked) in line
        with pytest.raises(RequestError, match="no finished run"):
            folder_of_run(locked, "abc")
        with pytest.raises(RequestError, match="no finished run"):
            folder_of_run(tmp_path, str(locked / "abc"))
        assert RecordStore(locked).all()[0] == []


class TestWideTable:
    def test_columns_are_looked_at_together(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        """100,000 columns took minutes one after the other; of numbers none is looked at by itself."""
        rng, d = np.random.default_rng(0), 400
        frame = pd.DataFrame(rng.normal(size=(60, d)).round(3), columns=[f"f{k}" for k in range(d)])
        frame["count"] = rng.integers(0, 9, 60)
        frame["s"], frame["text"], frame["gap"] = np.arange(60) < 20, rng.choice(["x", "y"], 60), np.nan
        frame.loc[0, "gap"] = 0.25
        frame.loc[1, "gap"] = 0.75
        frame.to_csv(tmp_path / "my.csv", index=False)
        alone: list[str] = []
        text = encoding._text
        monkeypatch.setattr(
            encoding, "_text", lambda name, *more, **named: (alone.append(name), text(name, *more, **named))[1]
        )
        path = tmp_path / "my.csv"
        table = read_user_table(UserTableSpec(path=path, sha256=sha256_of(path), label_col="s"))
        assert alone == ["text"]
        assert table.x.shape == (60, d + 1 + 2 + 1)
        np.testing.assert_array_equal(table.x[:, :d], frame.iloc[:, :d].to_numpy(dtype=np.float32))
