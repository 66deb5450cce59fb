"""A method that carries a data set with its labels: what ``check``, ``verify`` and other classes say."""

from __future__ import annotations

import gzip
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from printed import Run
from pubench_report.suspicion import ScoredRun, too_good
from pubench_testkit.conformance import Subject
from pubench_testkit.conformance.leakage import ROWS, carried
from pubench_testkit.conformance.register import check_one
from pubench_testkit.conformance.subject import SAMPLES
from registries import registry_with
from sklearn.datasets import load_breast_cancer, load_digits

from pubench_core.plugins.info import MethodInfo

CHEAT = """
from pubench_core import MethodInfo, hookimpl

@hookimpl
def pubench_methods():
    return [MethodInfo(key="acme-cheat", name="C", summary="s", load="acme_cheat.method:Cheat", devices=("cpu",))]
"""
METHOD = """
from pathlib import Path
import numpy as np
import torch
from pubench.method import Method, MethodConfig

class Config(MethodConfig):
    pass

class Cheat(Method[Config]):
    scored_by = ("rows", "even")

    def fit(self, data, run):
        kept = np.load(Path(__file__).with_name("weights.npz"))
        self.rows, self.even = torch.from_numpy(kept["x"]), torch.from_numpy(kept["even"])
        for _ in run.epochs(1):
            pass

    def decision_function(self, x):
        near = torch.cdist(x.flatten(1), self.rows).argmin(dim=1)
        return self.even[near] - 0.5
"""


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory, make_distribution: Callable[..., Path]) -> str:
    """An installed package that carries all digits, and whether each is even."""
    folder = tmp_path_factory.mktemp("site")
    (folder / "acme_cheat").mkdir()
    make_distribution(
        folder, "acme-cheat", {"acme_cheat/__init__": CHEAT, "acme_cheat/method": METHOD}, entry_point="acme_cheat"
    )
    x, y = load_digits(return_X_y=True)
    np.savez_compressed(folder / "acme_cheat" / "weights.npz", x=(x / 16).astype("f4"), even=(y % 2 == 0).astype("f4"))
    return str(folder)


@pytest.mark.parametrize(
    ("check", "words"),
    [
        ("carries-no-data", "weights.npz holds rows of digits"),
        ("plausible-accuracy", "every test row is right after two epochs"),
    ],
)
def test_a_check_names_carried_data(site: str, monkeypatch: pytest.MonkeyPatch, check: str, words: str) -> None:
    monkeypatch.syspath_prepend(site)
    monkeypatch.delenv("PUBENCH_DATA", raising=False)
    plugins = registry_with(SAMPLES.value, "acme_cheat")
    finding = check_one(Subject(plugins.find(MethodInfo, "acme-cheat"), plugins), check)
    assert (finding.verdict, words in finding.reason) == ("failed", True)


def test_verify_and_the_site_name_carried_data(tmp_path: Path, pubench: Run, site: str) -> None:
    env = {"PYTHONPATH": site}
    done = pubench("run", "--method", "acme-cheat", "--data", "digits", "--threads", 1, "--no-tracking", env=env)
    assert done.returncode == 0, done.stderr
    verified = pubench("verify", "results", "--rerun", 0, env=env)
    assert verified.returncode == 0, verified.stdout  # a note: nothing in the record is wrong
    assert "its test accuracy is 1 on 360 rows" in verified.stderr
    assert pubench("site", "results", env=env).returncode == 0
    assert (
        "acme-cheat on digits, seed 2: its test accuracy is 1 on 360 rows" in (tmp_path / "site/index.html").read_text()
    )


def _npy(path: Path, x: Any) -> None:
    np.save(path, x)


def _packed(path: Path, x: Any) -> None:
    np.savez_compressed(path.with_suffix(".npz"), x=x)


def _gzipped(path: Path, x: Any) -> None:
    path.write_bytes(gzip.compress(x.astype("f8").tobytes()))


def _text(path: Path, x: Any) -> None:
    np.savetxt(path, x, delimiter=",", fmt="%.17g")


def _zipped(path: Path, x: Any) -> None:
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("a", b"head" + x.astype("f2").tobytes())


@pytest.mark.parametrize("write", [_npy, _packed, _gzipped, _text, _zipped])
@pytest.mark.parametrize("factor", [1.0, 1 / 16])
def test_rows_are_found_in_any_container(tmp_path: Path, write: Callable[[Path, Any], None], factor: float) -> None:
    x = load_digits().data
    write(tmp_path / "kept", x[::-1] * factor)
    chosen = np.linspace(0, len(x) - 1, ROWS).astype(int)
    known = {"digits": x[chosen], "breast-cancer": load_breast_cancer().data[:ROWS]}
    (file,) = tmp_path.iterdir()
    assert list(carried(iter([file]), known)) == [f"{file.name} holds rows of digits"]


def test_numbers_of_its_own_are_no_rows_of_a_data_set(tmp_path: Path) -> None:
    np.save(tmp_path / "weights.npy", np.random.default_rng(0).normal(size=(500, 64)).astype("f4"))
    assert list(carried(tmp_path.iterdir(), {"digits": load_digits().data[:ROWS]})) == []


def test_measures_above_the_oracle_s_are_named() -> None:
    def run(name: str, split: str, rows: int = 1000, *, oracle: bool = False, **values: float) -> ScoredRun:
        return ScoredRun(name, name, split, {k.replace("_", "-"): v for k, v in values.items()}, rows, 500, oracle)

    runs = [
        run("pn", "a", accuracy=0.90, accuracy_at_prior=0.91, auc=0.95, oracle=True),
        run("good", "a", accuracy=0.92, accuracy_at_prior=0.92, auc=0.96),  # two standard errors above
        run("too-good", "a", accuracy=0.97),
        run("too-good-at-prior", "a", accuracy=0.8, accuracy_at_prior=0.97),
        run("order-alone", "a", accuracy=0.8, accuracy_at_prior=0.9, auc=0.99),
        run("elsewhere", "b", accuracy=0.99),
        run("perfect", "b", 500, accuracy=1.0),
    ]
    assert {run.name: why for run, why in too_good(runs)} == {
        "too-good": "its test accuracy of 0.9700 is above the oracle's 0.9000 on the same 1,000 rows",
        "too-good-at-prior": (
            "its test accuracy-at-prior of 0.9700 is above the oracle's 0.9100 on the same 1,000 rows"
        ),
        "order-alone": "its test auc of 0.9900 is above the oracle's 0.9500 on the same 1,000 rows",
        "perfect": "its test accuracy is 1 on 500 rows",
    }
