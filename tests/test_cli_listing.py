"""``list``, ``info``, ``doctor``, ``--version``, ``--help`` and completion say what is installed, and import little."""

from __future__ import annotations

import csv
import io
import json
from typing import Any

import pytest
from printed import Run

INSTALLED = {
    "methods": {"nnpu", "upu", "pn"},
    "datasets": {"digits", "breast-cancer", "mnist", "fashion-mnist"},
    "mechanisms": {"scar"},
    "metrics": {"accuracy", "precision", "recall", "f1", "macro-f1", "auc", "average-precision", "mcc"}
    | {"balanced-accuracy", "pa", "pauc", "oa"},
    "priors": {"bbe", "alphamax", "alphamax-two-sided", "km2", "km1", "elkan-noto", "tice", "dedpul"}
    | {"pulscar", "pulsnar"},
    "backbones": {"mlp", "mlp-wang", "linear", "lenet", "cnn-cifar", "cnn-mri", "resnet18", "resnet32", "cnn"},
}


def listed(pubench: Run, kind: str) -> list[dict[str, Any]]:
    done = pubench("list", kind, "--format", "json")
    assert (done.returncode, done.stderr) == (0, "")
    rows = json.loads(done.stdout)
    assert isinstance(rows, list)
    return rows


@pytest.mark.parametrize("kind", INSTALLED)
def test_a_list_has_the_same_plugins_as_json_csv_and_table(pubench_within: Run, kind: str) -> None:
    rows = listed(pubench_within, kind)
    assert {row["key"] for row in rows if row["status"] == "ok"} >= INSTALLED[kind]
    assert all(row["package"].startswith("pubench-") for row in rows if row["key"] in INSTALLED[kind])
    of_csv, of_table = pubench_within("list", kind, "--format", "csv"), pubench_within("list", kind)
    assert {(done.returncode, done.stderr) for done in (of_csv, of_table)} == {(0, "")}
    assert of_csv.stdout.startswith("key,")
    in_csv = [(row["key"], row["status"]) for row in csv.DictReader(io.StringIO(of_csv.stdout))]
    assert in_csv == [(row["key"], row["status"]) for row in rows]
    header, *lines = of_table.stdout.splitlines()
    assert header.split()[0] == "key"
    assert {"package", "status"} <= set(header.split())
    assert {line.split()[0] for line in lines} >= INSTALLED[kind]
    assert all(line.split()[-1] == "ok" for line in lines)


def test_a_method_is_listed_with_what_a_reader_chooses_by(pubench_within: Run) -> None:
    rows = {row["key"]: row for row in listed(pubench_within, "methods")}
    nnpu = rows["nnpu"]
    assert (nnpu["name"], nnpu["venue"], nnpu["year"]) == ("nnPU", "NeurIPS", 2017)
    assert (nnpu["family"], nnpu["setting"]) == ("risk minimization", "two-sample")
    assert (nnpu["needs_prior"], nnpu["oracle"]) == (True, False)
    assert (nnpu["package"], nnpu["version"]) == ("pubench-nnpu", "1.0.0")
    assert (rows["pn"]["needs_prior"], rows["pn"]["oracle"]) == (False, True)


def test_metrics_say_which_need_true_labels(pubench_within: Run) -> None:
    rows = {row["key"]: row for row in listed(pubench_within, "metrics") if row["key"] in INSTALLED["metrics"]}
    assert {key for key, row in rows.items() if row["oracle"]} == INSTALLED["metrics"] - {"pa", "pauc"}
    assert all(row["oracle"] == ("truth" in row["needs"]) for row in rows.values())


def test_metrics_say_what_must_hold_for_their_value_to_mean_what_it_says(pubench_within: Run) -> None:
    assumed = {
        row["key"]: row["assumes"] for row in listed(pubench_within, "metrics") if row["key"] in INSTALLED["metrics"]
    }
    assert {key: words for key, words in assumed.items() if words} == {"pa": ["SCAR", "prior"], "pauc": ["SCAR"]}


class TestInfo:
    def test_a_method_in_json(self, pubench_within: Run) -> None:
        done = pubench_within("info", "nnpu", "--format", "json")
        assert (done.returncode, done.stderr) == (0, "")
        described = json.loads(done.stdout)
        assert (described["key"], described["kind"], described["name"]) == ("nnpu", "method", "nnPU")
        assert (described["reference"]["venue"], described["reference"]["year"]) == ("NeurIPS", 2017)
        assert described["follows"].startswith("kiryor/nnPUlearning")
        fields = {field["name"]: field for field in described["hyper_parameters"]}
        assert {"optimizer", "lr", "weight_decay", "batch_size", "epochs", "steps_per_epoch"} <= set(fields)
        assert fields["gamma"]["values"] == "a number of at least 0 of at most 1"
        assert fields["lr"]["values"] == "a number above 0"
        assert fields["surrogate"]["values"] == "one of sigmoid, logistic"
        assert all(field["meaning"] for field in fields.values())
        assert set(described["presets"]) == {"official", "pubench", "wang", "table", "quick"}
        assert described["presets"]["pubench"]["values"]["epochs"] == 40
        assert described["presets"]["official"]["per_data"]["cifar10"] == {"lr": 1e-5, "batch_size": 500}

    def test_a_method_as_text(self, pubench_within: Run) -> None:
        done = pubench_within("info", "nnpu")
        assert (done.returncode, done.stderr) == (0, "")
        for words in ("nnpu", "NeurIPS 2017", "1703.00593", "preset official", "a number above 0", "PU-Bench"):
            assert words in done.stdout

    @pytest.mark.parametrize(
        ("key", "kind", "word"),
        [
            ("mnist", "dataset", "CC BY-SA 3.0"),
            ("f-mnist", "dataset", "fashion-mnist"),
            ("scar", "mechanism", "SCAR"),
            ("pauc", "metric", "assumes: SCAR"),
            ("lenet", "backbone", "Table D.3"),
        ],
    )
    def test_every_kind_by_key_or_alias(self, pubench_within: Run, key: str, kind: str, word: str) -> None:
        text, data = pubench_within("info", key), pubench_within("info", key, "--format", "json")
        assert (text.returncode, data.returncode) == (0, 0)
        assert word in text.stdout
        assert json.loads(data.stdout)["kind"] == kind


class TestDoctor:
    def test_a_sound_installation(self, pubench: Run) -> None:
        done = pubench("doctor", env={"PUBENCH_DATA": "/nowhere/at/all"})
        assert (done.returncode, done.stderr) == (0, "")
        assert "0 broken" in done.stdout
        assert "/nowhere/at/all (from PUBENCH_DATA): no such folder yet" in done.stdout
        for word in ("python", "processor", "torch", "CUDA"):
            assert word in done.stdout

    @pytest.mark.parametrize("key", ["nnpu", "digits", "f-mnist"])
    def test_one_that_loads(self, pubench_within: Run, key: str) -> None:
        done = pubench_within("doctor", key)
        assert (done.returncode, done.stderr) == (0, "")
        assert done.stdout.endswith(": ok\n")


def test_the_version_of_the_command_and_of_core(pubench: Run) -> None:
    done = pubench("--version")
    assert (done.returncode, done.stdout, done.stderr) == (0, "pubench 1.0.0 (core 1.0.0)\n", "")


@pytest.mark.parametrize("command", [(), ("list",), ("info",), ("doctor",), ("run",)])
def test_help_shows_an_example_that_works(pubench_within: Run, command: tuple[str, ...]) -> None:
    done = pubench_within(*command, "--help")
    assert (done.returncode, done.stderr) == (0, "")
    text = " ".join(done.stdout.replace("│", " ").split())
    example = text.split("Example: pubench ", 1)[1].split(" ╭")[0].split()
    if example[0] == "run":
        example.append("--dry-run")
    assert pubench_within(*example).returncode == 0


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_the_script_of_a_shell_is_printed(pubench: Run, shell: str) -> None:
    done = pubench("--show-completion", shell, env={"_TYPER_COMPLETE_TEST_DISABLE_SHELL_DETECTION": "1"})
    assert (done.returncode, done.stderr) == (0, "")
    assert "_PUBENCH_COMPLETE" in done.stdout
