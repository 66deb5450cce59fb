"""A wrong request is answered by one line on stderr and exit code 2, before anything is trained.

What is wrong whatever the data are is refused before anything is written; what only the data show is recorded too.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from printed import Run
from refusals import error_line

from pubench_cli.messages import in_flags
from pubench_core.results import Failure

#: A sound request; a case's arguments follow, and the last one of a kind counts.
SOUND = ("run", "--method", "nnpu", "--data", "digits", "--no-tracking")
ONE_SAMPLE = ("--scheme", "single-training-set", "--c", "0.9")

WRONG_KEY = {
    "method": (("--method", "nnpuu"), ("unknown method 'nnpuu'", "did you mean 'nnpu'", "pubench list methods")),
    "data": (("--data", "digts"), ("unknown dataset 'digts'", "did you mean 'digits'", "pubench list datasets")),
    "mechanism": (("--mech", "scarr"), ("unknown mechanism 'scarr'", "did you mean 'scar'", "list mechanisms")),
    "criterion": (("--select", "paucc"), ("unknown selection criterion 'paucc'", "did you mean 'pauc'")),
    "backbone": (("--backbone", "lennet"), ("unknown backbone 'lennet'", "did you mean 'lenet'", "list backbones")),
    "preset": (("--preset", "oficial"), ("unknown preset of nnpu 'oficial'", "did you mean 'official'")),
    "metric": (("--set", "evaluation.metrics=[acuracy]"), ("'acuracy'", "did you mean 'accuracy'", "list metrics")),
    "variant": (("--set", "mechanism.variant=papper"), ("variant of mechanism scar", "'papper'", "paper")),
    "estimator": (("--prior", "estimated:nobody"), ("unknown prior 'nobody'", "pubench list priors")),
    "nothing near": (("--method", "zzzzzz"), ("unknown method 'zzzzzz'", "nnpu", "upu")),
}
LABELS = {
    "c of 0": (("--c", "0"), ("--c", "'0'", "(0, 1]")),
    "c no number": (("--c", "abc"), ("--c", "'abc'", "(0, 1]")),
    "prior 0": (("--prior", "0"), ("--prior", "0", "(0, 1)")),
    "prior no number": (("--prior", "foo"), ("--prior", "scaled:1.2", "estimated:KEY")),
    "scheme": (("--scheme", "case-controll"), ("--scheme", "'case-controll'", "case-control, single-training-set")),
    "class": (("--set", "data.positive=[99]"), ("digits has no class 99", "0 to 9")),
    "class on both sides": (("--positive", "1,2", "--negative", "2,3"), ("class 2 is both positive and negative",)),
    "no class": (("--set", "data.positive=[]"), ("at least one class",)),
}
FIELDS = {
    "unknown": (("--set", "epoch=3"), ("--set epoch=3", "nnpu has no field 'epoch'", "did you mean 'epochs'")),
    "unknown, dotted": (("--set", "validation.fractoin=.1"), ("no field 'fractoin'", "did you mean 'fraction'")),
    "unknown section": (("--set", "selektion.criterion=pa"), ("no field 'selektion'", "did you mean 'selection'")),
    "too small": (("--set", "lr=0"), ("--set lr=0", "lr must be a number above 0")),
    "too large": (("--set", "gamma=2"), ("--set gamma=2", "at least 0", "at most 1")),
    "wrong word": (("--set", "correction=none"), ("correction", "ascent, clamp, flip")),
    "no number": (("--set", "lr=abc"), ("--set lr=abc", "'abc'", "a number above 0")),
    "infinite": (("--set", "lr=.inf"), ("--set lr=.inf", "a number above 0")),
    "no whole number": (("--set", "epochs=2.5"), ("2.5", "a whole number of at least 1")),
    "truth value": (("--set", "lr=true"), ("lr", "true is a truth value", "number")),
    "no value": (("--set", "lr="), ("--set lr=", "a number above 0")),
    "no equals sign": (("--set", "lr"), ("--set lr", "name=value", "lr=1e-3")),
    "no name": (("--set", "=3"), ("--set =3", "name=value")),
    "broken YAML": (("--set", "lr=[1"), ("--set lr=[1", "YAML")),
    "criteria without the chosen one": (("--set", "selection.criteria=[pauc]"), ("'pa' is not tracked", "pauc")),
    "list for a preset": (("--set", "method.preset=[quick]"), ("preset", "quick")),
    "list for a key": (("--set", "data.key=[digits]"), ("dataset", "digits")),
    "list in a list of metrics": (("--set", "evaluation.metrics=[[a]]"), ("unknown metric", "list metrics")),
    "list in a list of criteria": (("--set", "selection.criteria=[[a]]"), ("unknown selection criterion",)),
    "list for a binarization": (("--set", "data.binarization=[a]"), ("unknown binarization",)),
    "item of a list": (("--set", "evaluation.trace=[foo]"), ("given 'foo'", "each one of train, validation, test")),
    "number for a mapping": (("--set", "method.config=3"), ("method.config", "3", "mapping")),
}
MACHINE = {
    "c of a scheme that draws": (("--scheme", "two-sample", "--c", "0.1"), ("--c", "--positive-rate", "takes no --c")),
    "positive rate of a scheme that labels a share": (
        ("--positive-rate", "0.2"),
        ("--positive-rate: needs scheme one-sample or two-sample", "case-control takes --c"),
    ),
    "total of a scheme that takes all": (("--total", "200"), ("--total: needs scheme one-sample or two-sample",)),
    "a positive rate of 1": (("--scheme", "one-sample", "--positive-rate", "1"), ("--positive-rate", "in (0, 1)")),
    "device": (("--device", "foo"), ("--device", "'foo'", "auto", "cpu", "cuda")),
    "seed no number": (("--seed", "x"), ("--seed", "'x'", "a whole number of at least 0")),
    "seed negative": (("--seed", "-1"), ("--seed", "'-1'", "a whole number of at least 0")),
    "seed fraction": (("--seed", "1.5"), ("--seed", "'1.5'", "a whole number")),
    "threads 0": (("--threads", "0"), ("--threads", "'0'", "at least 1")),
    "artifact": (("--artifacts", "scorez"), ("--artifacts", "scores", "trace")),
    "format": (("--format", "yaml"), ("--format", "yaml", "table", "json")),
    "results in the way": (("--results", "a-file"), ("a-file", "--results")),
    "results below a file": (("--results", "a-file/below"), ("a-file/below", "--results")),
    "option": (("--metod", "nnpu"), ("No such option", "--metod", "--method")),
    "too many words": (("nnpu",), ("nnpu", "pubench run --help")),
}
#: What only the data, their split or the labels can show.
DATA = {
    "prior scaled too far": (("--prior", "scaled:3"), ("scaled:3", "1.488", "(0, 1)")),
    "prior below the labeled share": (
        (*ONE_SAMPLE, "--prior", "0.1", "--set", "method.calibrate='off'"),
        ("prior 0.1", "513 of 1149", "above 0.4465"),
    ),
    "c that labels nobody": (("--c", "0.0001"), ("c = 0.0001 labels nobody", "570 positives")),
    "more than half labeled": (
        ("--scheme", "one-sample", "--positive-rate", "0.7"),
        ("--positive-rate must be at most 0.5, where all positives are labeled, got 0.7",),
    ),
    "more rows than there are": (
        ("--scheme", "one-sample", "--total", "100000"),
        ("--total 100000", "allows", "with --positive-rate 0.3"),
    ),
    "undefined criterion": (("--set", "validation.fraction=0"), ("'pa' is undefined on this split",)),
    "vector for an image network": (("--backbone", "lenet"), ("lenet", "1x28x28", "given 64", "use --backbone mlp")),
    "vector for a size-agnostic network": (("--backbone", "cnn"), ("cnn", "given 64", "use --backbone mlp")),
}


@pytest.mark.parametrize(
    ("arguments", "words"),
    [pytest.param(*case, id=name) for cases in (WRONG_KEY, LABELS, FIELDS, MACHINE) for name, case in cases.items()],
)
def test_a_wrong_request_is_one_line(
    pubench_within: Run, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    (tmp_path / "a-file").write_text("in the way")
    line = error_line(pubench_within(*SOUND, *arguments))
    for word in words:
        assert word in line
    assert not list(tmp_path.rglob("result.json"))
    assert not list(tmp_path.rglob("failure.json"))


@pytest.mark.parametrize(("arguments", "words"), DATA.values(), ids=DATA)
def test_what_the_data_refuse_is_one_line_and_a_record(
    pubench_within: Run, tmp_path: Path, arguments: tuple[str, ...], words: tuple[str, ...]
) -> None:
    line = error_line(pubench_within(*SOUND, *arguments))
    for word in words:
        assert word in line
    assert not list(tmp_path.rglob("result.json"))
    (path,) = tmp_path.rglob("failure.json")
    found = Failure.model_validate_json(path.read_text())
    assert (found.cause, found.stage, found.epoch, found.step) == ("refused", None, None, None)
    assert in_flags(found.reason) in line


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("run", "--data", "digits"), ("no method given", "--method KEY", "pubench list methods")),
        (("run", "--method", "nnpu"), ("no data given", "--data KEY", "pubench list datasets")),
        (("lst",), ("lst", "list")),
        (("list",), ("methods", "backbones")),
        (("list", "models"), ("models", "methods", "backbones")),
        (("info", "nnpuu"), ("unknown key 'nnpuu'", "did you mean the method 'nnpu'?")),
        (("info", "acuracy"), ("did you mean the metric 'accuracy'?",)),
        (("info", "qqqqqqqq"), ("'pubench list methods', 'pubench list datasets' and so on",)),
        (("doctor", "nnpuu"), ("unknown key 'nnpuu'", "did you mean 'nnpu'")),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, tuple) else None,
)
def test_a_wrong_command_is_one_line(pubench_within: Run, arguments: tuple[str, ...], words: tuple[str, ...]) -> None:
    line = error_line(pubench_within(*arguments))
    for word in words:
        assert word in line


FILES = {
    "syntax": (b"seed: 2\ndata: [digits\nprior: 1\n", ("line 3", "not valid YAML")),
    "tab": (b"seed: 2\n\tdata: digits\n", ("line 2", "not valid YAML")),
    "control character": (b"seed: \x00\n", ("not valid YAML",)),
    "object": (b"seed: !!python/object:os.system x\n", ("line 1", "not valid YAML")),
    "not text": (b"\xff\xfe\x00", ("cannot read",)),
    "list": (b"- digits\n- nnpu\n", ("mapping", "data", "method")),
    "text": (b"just words\n", ("mapping",)),
    "empty": (b"", ("mapping",)),
    "misspelled": (b"seed: 3\nmethod:\n  config:\n    epoch: 3\n", ("line 4", "'epoch'", "'epochs'")),
    "unknown section": (b"seed: 3\nselektion:\n  criterion: pa\n", ("line 2", "'selektion'", "'selection'")),
    "misplaced": (b"seed: 2\nepochs: 3\n", ("line 2", "of nnpu, written method: {config: {epochs: 3}}")),
    "unknown field": (b"data:\n  schema: case-control\n", ("line 2", "'schema'", "'scheme'")),
    "value of a hyper parameter": (b"method:\n  config:\n    lr: 0\n", ("line 3", "given 0", "above 0")),
    "value of a field": (b"seed: 2\n\nmechanism:\n  c: 2\n", ("line 4", "given 2", "(0, 1]")),
    "type": (b"seed: [1]\n", ("line 1", "seed", "whole number")),
    "number as field": (b"1: 2\n", ("line 1",)),
    "section no mapping": (b"selection: 3\n", ("line 1", "selection must be a mapping")),
    "contains itself": (b"data: &a\n  key: *a\n", ("line 2",)),
    "field given twice": (b"seed: 1\nprior: 0.4\nseed: 2\n", ("line 3", "seed")),
}


class TestRunFile:
    @pytest.mark.parametrize(("content", "words"), FILES.values(), ids=FILES)
    def test_the_line_names_file_line_and_field(
        self, pubench_within: Run, tmp_path: Path, content: bytes, words: tuple[str, ...]
    ) -> None:
        (tmp_path / "run.yaml").write_bytes(content)
        line = error_line(pubench_within(*SOUND, "--config", "run.yaml"))
        assert "run.yaml" in line
        for word in words:
            assert word in line

    @pytest.mark.parametrize("name", ["absent.yaml", "."])
    def test_one_that_cannot_be_read_is_named(self, pubench_within: Run, name: str) -> None:
        assert f"cannot read {name}: " in error_line(pubench_within(*SOUND, "--config", name))


class TestMissingFiles:
    FILES = ("train-images-idx3-ubyte", "train-labels-idx1-ubyte", "t10k-images-idx3-ubyte", "t10k-labels-idx1-ubyte")

    def refused(self, pubench: Run, *arguments: object, **environment: str) -> str:
        return error_line(pubench(*SOUND, "--data", "mnist", *arguments, env=environment))

    def test_which_files_where_from_and_which_folder(self, pubench: Run, tmp_path: Path) -> None:
        line = self.refused(pubench, "--data-root", tmp_path / "data")
        for name in self.FILES:
            assert name in line
        assert str(tmp_path / "data" / "mnist") in line
        assert "(data root from --data-root)" in line
        assert "the MNIST distribution" in line

    def test_by_default_files_are_expected_in_the_user_cache(self, pubench: Run, tmp_path: Path) -> None:
        line = self.refused(pubench, PUBENCH_CACHE=str(tmp_path / "cache"))
        assert str(tmp_path / "cache" / "data" / "mnist") in line
        assert "(data root from the user cache)" in line


def test_a_gpu_that_is_not_there(pubench: Run) -> None:
    import torch

    there = torch.cuda.device_count() if torch.cuda.is_available() else 0
    line = error_line(pubench(*SOUND, "--device", f"cuda:{there}"))
    assert f"--device cuda:{there}" in line
    if there:
        assert f"expected cuda:0{f' to cuda:{there - 1}' if there > 1 else ''} on this machine" in line
        return
    assert "use cpu or auto" in line
    assert "no CUDA device is available" in error_line(pubench(*SOUND, "--device", "cuda"))
