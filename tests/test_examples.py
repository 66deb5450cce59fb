"""The scripts in ``examples/`` run in an empty folder, as they are except for the number of epochs of a comparison."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parents[1] / "examples"
#: How long runs train. An estimator trains as long as its example says.
EPOCHS = re.compile(r"""config=\{["']epochs["']: \d+\}""")


@pytest.fixture
def example(script_in: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path) -> Callable[..., str]:
    """``example(name)``: what a script printed. It finds the console script of this environment, and no data but the
    embedded.
    """
    folder = tmp_path / "examples"
    folder.mkdir()
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])

    def carried_out(name: str, **env: str) -> str:
        script = (EXAMPLES / name).read_text(encoding="utf-8")
        (folder / name).write_text(EPOCHS.sub('config={"epochs": 3}', script), encoding="utf-8")
        done = script_in(tmp_path, folder / name, env={"PATH": path, "OMP_NUM_THREADS": "1", **env})
        assert done.returncode == 0, done.stderr
        return done.stdout

    return carried_out


def test_every_example_is_run_here_and_named_in_the_readme() -> None:
    text, readme = Path(__file__).read_text(encoding="utf-8"), (EXAMPLES / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in EXAMPLES.glob("*.py")]
    assert len(scripts) >= 3
    assert [name for name in scripts if f'example("{name}"' not in text or f"({name})" not in readme] == []


def test_the_notebook_runs_as_a_script_but_for_its_installation(
    script_in: Callable[..., subprocess.CompletedProcess[str]], tmp_path: Path
) -> None:
    """The cells in their order, each last expression printed as a notebook shows it."""
    notebook = json.loads((EXAMPLES / "first-run.ipynb").read_text(encoding="utf-8"))
    cells = ["".join(cell["source"]) for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert cells[0] == "%pip install --quiet pubench"
    assert all(cell.get("outputs", []) == [] for cell in notebook["cells"])
    assert "(first-run.ipynb)" in (EXAMPLES / "README.md").read_text(encoding="utf-8")
    script = tmp_path / "notebook.py"
    script.write_text(EPOCHS.sub('config={"epochs": 3}', "\n".join(map(_shown, cells[1:]))), encoding="utf-8")
    done = script_in(tmp_path, script, env={"OMP_NUM_THREADS": "1"})
    assert done.returncode == 0, done.stderr
    assert "mean ± std over seeds" in done.stdout
    assert 0.7 < float(done.stdout.split()[-1]) <= 1


def _shown(cell: str) -> str:
    """A cell that prints its last expression."""
    tree = ast.parse(cell)
    last = tree.body[-1]
    if isinstance(last, ast.Expr):
        tree.body[-1] = ast.Expr(ast.Call(ast.Name("print", ast.Load()), [last.value], []))
    return ast.unparse(ast.fix_missing_locations(tree))


def test_two_methods_are_compared(example: Callable[..., str], tmp_path: Path) -> None:
    lines = example("compare_two_methods.py").splitlines()
    assert lines[0].startswith("Results: 12 runs of 2 methods (nnpu, vpu) on 2 data sets (digits, breast-cancer)")
    assert sum("mean ± std over seeds, selected by pa" in line for line in lines) == 3
    assert sum("selected by f1 (oracle)" in line for line in lines) == 1
    assert any(line.startswith("nnpu, small steps") for line in lines)
    assert len(list((tmp_path / "results").glob("*/result.json"))) == 15


def test_a_table_without_negatives_is_ranked(example: Callable[..., str], tmp_path: Path) -> None:
    printed = example("own_data_without_negatives.py")
    assert "569 rows" in printed
    assert "pauc (validation), mean ± std over seeds" in printed
    auc = float(printed.strip().rpartition(" ")[2])
    assert auc > 0.9


def test_a_single_training_set_lacks_its_labeled_positives(example: Callable[..., str], tmp_path: Path) -> None:
    assert example("two_schemes.py").splitlines() == [
        "case-control: 500 positives among 1000 rows of U, prior 0.500",
        "single-training-set: 450 positives among 950 rows of U, prior 0.474",
    ]
    assert (tmp_path / "two-schemes.png").read_bytes().startswith(b"\x89PNG")


def test_who_is_labeled_is_counted_by_class(example: Callable[..., str]) -> None:
    counts = [line.replace(",", "").split() for line in example("who_is_labeled.py").splitlines()]
    assert [line[0] for line in counts] == [f"{k}:" for k in range(10)]
    assert [line[1] for line in counts] == ["positive", "negative"] * 5
    assert sum(int(line[2]) for line in counts) == 1149
    labeled = [int(line[4]) for line in counts]
    assert (sum(labeled), labeled[1::2]) == (57, [0] * 5)


def test_a_new_method_is_made_and_compared(example: Callable[..., str], tmp_path: Path) -> None:
    """Installing is what pip does; here the package is put where Python finds it, with its entry point."""
    assert "pubench run --method my-idea" in example("a_new_method.py")
    project = tomllib.loads((tmp_path / "my-idea" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = tmp_path / "my-idea" / "src"
    facts = source / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "\n".join(f"{key} = {module}" for key, module in project["entry-points"]["pubench"].items())
    (facts / "entry_points.txt").write_text(f"[pubench]\n{points}\n")
    printed = example("a_new_method.py", PYTHONPATH=str(source))
    assert [line.split()[0] for line in printed.splitlines()[1:4]] == ["method", "my-idea", "nnpu"]
    assert "difference to nnpu over seeds" in printed
