"""The scripts in ``examples/`` run as they are, in an empty folder."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path

EXAMPLES = Path(__file__).parents[1] / "examples"


def example(name: str, folder: Path, **env: str) -> str:
    """What a script printed. It finds the console script of this environment, and no data but the embedded."""
    inherited = {key: value for key, value in os.environ.items() if key not in ("PUBENCH_DATA", "PYTHONPATH")}
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    done = subprocess.run(
        [sys.executable, EXAMPLES / name],
        cwd=folder,
        env={**inherited, "PATH": path, "OMP_NUM_THREADS": "1", **env},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_every_example_is_run_here_and_named_in_the_readme() -> None:
    text, readme = Path(__file__).read_text(encoding="utf-8"), (EXAMPLES / "README.md").read_text(encoding="utf-8")
    scripts = [path.name for path in EXAMPLES.glob("*.py")]
    assert len(scripts) >= 3
    assert [name for name in scripts if f'example("{name}"' not in text or f"({name})" not in readme] == []


def test_two_methods_are_compared(tmp_path: Path) -> None:
    lines = example("compare_two_methods.py", tmp_path).splitlines()
    assert lines[0].startswith("Results: 12 runs of 2 methods (nnpu, vpu) on 2 data sets (digits, breast-cancer)")
    assert sum("mean ± std over seeds, selected by pa" in line for line in lines) == 3
    assert sum("selected by f1 (oracle)" in line for line in lines) == 1
    assert any(line.startswith("nnpu, small steps") for line in lines)
    assert len(list((tmp_path / "results").glob("*/result.json"))) == 15


def test_a_table_without_negatives_is_ranked(tmp_path: Path) -> None:
    printed = example("own_data_without_negatives.py", tmp_path)
    assert "569 rows" in printed
    assert "pauc (validation), mean ± std over seeds" in printed
    auc = float(printed.strip().rpartition(" ")[2])
    assert auc > 0.9


def test_a_new_method_is_made_and_compared(tmp_path: Path) -> None:
    """Installing is what pip does; here the package is put where Python finds it, with its entry point."""
    assert "pubench run --method my-idea" in example("a_new_method.py", tmp_path)
    project = tomllib.loads((tmp_path / "my-idea" / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    source = tmp_path / "my-idea" / "src"
    facts = source / f"{project['name'].replace('-', '_')}-{project['version']}.dist-info"
    facts.mkdir()
    (facts / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {project['name']}\nVersion: {project['version']}\n")
    points = "\n".join(f"{key} = {module}" for key, module in project["entry-points"]["pubench"].items())
    (facts / "entry_points.txt").write_text(f"[pubench]\n{points}\n")
    printed = example("a_new_method.py", tmp_path, PYTHONPATH=str(source))
    assert [line.split()[0] for line in printed.splitlines()[1:4]] == ["method", "my-idea", "nnpu"]
    assert "difference to nnpu over seeds" in printed
