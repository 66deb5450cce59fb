"""Code is what computes: tokens count, comments, docstrings and layout do not, in every module that is reached."""

from __future__ import annotations

import ast
import importlib
import os
import sys
from collections.abc import Callable, Iterator
from importlib.metadata import entry_points
from pathlib import Path

import pytest

from pubench_core.engine.identity import code_of
from pubench_core.errors import PluginError
from pubench_core.plugins import source_code
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import Registry, registry
from pubench_core.plugins.source_code import hash_package, tokens_of

SOURCE = '''\
"""What it is."""

import math


def area(radius: float) -> float:
    """Of a disk."""
    factor = "pi"  # the constant
    return getattr(math, factor) * radius**2


class Disk:
    """A disk."""

    unit = "cm²"

    def label(self, radius: float) -> str:
        """With its unit."""
        return f"{area(radius):.2f} {self.unit}"
'''


def changed(old: str, new: str) -> str:
    assert SOURCE.count(old) >= 1
    return SOURCE.replace(old, new)


# ---------------------------------------------------------------- tokens


def tokens(text: str) -> list[str]:
    return list(tokens_of(text, ast.parse(text)))


SILENT = {
    "another comment": changed("# the constant", "# π, a constant"),
    "no comment": changed("  # the constant", ""),
    "a comment on a line of its own": changed("    return getattr", "    # by name\n    return getattr"),
    "another docstring of the module": changed('"""What it is."""', '"""Measured: 97.2 ± 0.3."""'),
    "another docstring of a function": changed('"""Of a disk."""', "'''Of a disk.\n\n    In square units.\n    '''"),
    "no docstring of a function": changed('    """Of a disk."""\n', ""),
    "another docstring of a class": changed('"""A disk."""', 'r"A disk."'),
    "another docstring of a method": changed('"""With its unit."""', '"""Mit Einheit: cm², 長さ."""'),
    "no docstring of the module": changed('"""What it is."""\n\n', ""),
    "more blank lines": changed("\n\n\nclass", "\n\n\n\n\nclass"),
    "no blank lines": changed("\n\n\nclass", "\nclass"),
    "blanks between tokens": changed("radius**2", "radius ** 2"),
    "a deeper indentation": changed("    ", "        "),
    "a statement over two lines": changed("getattr(math, factor)", "getattr(\n        math,\n        factor\n    )"),
    "a continued line": changed("return getattr", "return \\\n        getattr"),
    "no newline at the end": SOURCE.rstrip("\n"),
    "other ends of lines": SOURCE.replace("\n", "\r\n"),
}
TELLING = {
    "another name": changed("factor", "constant"),
    "another number": changed("radius**2", "radius**3"),
    "another operator": changed("radius**2", "radius*2"),
    "another text": changed('"pi"', '"tau"'),
    "the same text in other quotes": changed('"pi"', "'pi'"),
    "another character in a text that is not ASCII": changed("cm²", "cm³"),
    "another annotation": changed("-> str", "-> object"),
    "another format in an f-string": changed(":.2f", ":.3f"),
    "another expression in an f-string": changed("{area(radius)", "{area(2)"),
    "another text in an f-string": changed("} {self", "}, {self"),
    "a text that is no docstring, since it comes second": changed(
        '    unit = "cm²"', '    unit = "cm²"\n    "a remark"'
    ),
    "a docstring that is returned": changed('    """Of a disk."""\n', '    return """Of a disk."""\n'),
    "another order of statements": changed('    unit = "cm²"\n', "").replace(
        '"""With its unit."""', '"""With its unit."""\n        unit = "cm²"'
    ),
    "a statement in another block": changed("    return getattr", "    if radius:\n        return getattr"),
    "a decorator": changed("def area", "@staticmethod\ndef area"),
    "one statement less": changed("import math\n", ""),
}


@pytest.mark.parametrize("text", SILENT.values(), ids=SILENT)
def test_what_computes_nothing_changes_no_hash(text: str) -> None:
    assert text != SOURCE
    assert tokens(text) == tokens(SOURCE)


@pytest.mark.parametrize("text", TELLING.values(), ids=TELLING)
def test_what_computes_changes_the_hash(text: str) -> None:
    assert tokens(text) != tokens(SOURCE)


#: Name -> (one text, another, whether they are the same code).
PAIRS = {
    "the end of a block": ("for k in x:\n    a()\n    b()\n", "for k in x:\n    a()\nb()\n", False),
    "letters of the next name": ("ab = c\n", "a = bc\n", False),
    "two statements on one line": ("x = 1\ny = 2\n", "x = 1; y = 2\n", False),
    "a docstring in several pieces": ('def f():\n    "a" "b"\n    return 1\n', "def f():\n    return 1\n", True),
    "a form feed between sections": ("a = 1\n\x0c\nb = 2\n", "a = 1\n\nb = 2\n", True),
    "a text before a docstring": ('é = "ü"; x = 1\nclass G: "Maß"\n', 'é = "u"; x = 1\nclass G: "Maß"\n', False),
}
#: What stands around a docstring, so that its place is hard to find.
AROUND = {
    "a function of it alone": 'def f():\n    """{}"""\n\nx = 1\n',
    "an asynchronous one": 'async def f():\n    """{}"""\n\nx = 1\n',
    "a class of it alone": 'class F:\n    """{}"""\n\nx = 1\n',
    "a default with a bracket": 'def f(a, b=(1,)):\n    """{}"""\n\nx = 1\n',
    "characters of several bytes": 'é = "ü"; x = 1\nclass Größe: "{}"\ny = 2\n',  # trees count bytes, tokens characters
    **{
        f"a line end of Unicode, {end!a}": f'A = "é{end}é"\n\n\ndef f():\n    x = 1\n\n\nclass G: """{{}}"""\n'
        for end in ("\x0c", "\x1c", "\u2028", "\x85")
    },
}


@pytest.mark.parametrize(("one", "other", "same"), PAIRS.values(), ids=PAIRS)
def test_texts_are_the_same_code_or_not(one: str, other: str, same: bool) -> None:
    assert (tokens(one) == tokens(other)) == same


@pytest.mark.parametrize("text", AROUND.values(), ids=AROUND)
def test_a_docstring_is_left_out_wherever_it_is_and_nothing_else(text: str) -> None:
    assert tokens(text.format("First.")) == tokens(text.format("Second, longer: é 97.2"))
    assert tokens(text.format("First.")) != tokens(text.format("First.").replace("= 1", "= 2"))


def test_an_f_string_is_one_token_as_written_in_every_version_of_python() -> None:
    found = tokens("x = f'{a!r:>{width}} é' f\"{b}\" + 'c'\n")
    assert found == ["x", "=", "f'{a!r:>{width}} é'", 'f"{b}"', "+", "'c'", "NEWLINE"]
    assert tokens('x = f"""{a}\n  {b}"""\n') == ["x", "=", 'f"""{a}\n  {b}"""', "NEWLINE"]
    assert tokens("x = f\"{f'{y}'}\"\n") == ["x", "=", "f\"{f'{y}'}\"", "NEWLINE"]


# ---------------------------------------------------------------- packages

Write = Callable[[str, str], Path]
METHOD = "from .help import shift\n\n\ndef fit(x):\n    return shift(x)\n"


def forget() -> None:
    """Where modules lie is kept by Python; what is made of a file that is as young as these is not kept by anybody."""
    importlib.invalidate_caches()


@pytest.fixture
def write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """``write("toy_pack/method.py", text)``: a file of a package that exists for one test."""
    monkeypatch.syspath_prepend(tmp_path)

    def write(path: str, text: str) -> Path:
        file = tmp_path / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")
        forget()
        return file

    yield write
    for name in [name for name in sys.modules if name.split(".")[0].startswith("toy_")]:
        del sys.modules[name]


@pytest.fixture
def pack(write: Write) -> Path:
    """A package of an info module, an implementation, a helper and data."""
    write("toy_pack/method.py", METHOD)
    write("toy_pack/help.py", "def shift(x):\n    return x + 1\n")
    write("toy_pack/weights.csv", "1,2,3\n")
    return write("toy_pack/__init__.py", '"""Infos."""\n\nSUMMARY = "s"\n').parent


def code(**options: object) -> str:
    forget()
    return hash_package("toy_pack", "toy_pack", **options)  # type: ignore[arg-type]


OTHERS = ("toy_near", "toy_far", "toy_stranger")
HELP = "toy_pack/help.py"
UNUSED = "toy_near/unused.py"
LIBRARY = {"toy_helper/__init__.py": "def f():\n    import toy_more\n", "toy_more.py": "X = 1\n"}
#: (files that are there too, what counts if it is edited or added, what does not), with blanks between paths.
REACHED: list[tuple[dict[str, str], str, str]] = [
    ({"toy_pack/template.py": "class {{ name }}:\n"}, "toy_pack/template.py", ""),  # no Python, whatever its name
    ({}, "toy_pack/method.py toy_pack/help.py toy_pack/weights.csv toy_pack/deep/er.py toy_pack/table.json", ""),
    ({}, "toy_pack/README.md toy_pack/weights.md toy_pack/.weights toy_pack/method.pyi", ""),
    ({}, "", "toy_pack/__init__.py toy_pack/py.typed toy_pack/__pycache__/method.cpython-311.pyc"),
    ({}, "", "toy_pack/.method.py.swp toy_pack/.DS_Store toy_pack/.ipynb_checkpoints/method-checkpoint.py"),
    (
        {HELP: "from . import more\nfrom toy_pack.more import x\n", "toy_pack/more.py": "x = 1\n"},
        "",
        "toy_pack/__init__.py",
    ),
    ({}, "toy_near/used.py toy_far/used.py toy_near/table.csv", "toy_near/unused.py toy_far/unused.py toy_near/new.py"),
    ({}, "", "toy_stranger/used.py toy_stranger/table.csv toy_near/__init__.py"),
    ({HELP: "from toy_stranger import X\n", "toy_stranger/__init__.py": "X = 1\n"}, "toy_stranger/__init__.py", ""),
    ({HELP: "from toy_near.deep.er import X\n", "toy_near/deep/er.py": "X = 1\n"}, "toy_near/deep/__init__.py", ""),
    ({HELP: "from toy_near import unused\n"}, UNUSED, ""),
    ({HELP: "from toy_near.unused import X\n"}, UNUSED, ""),
    ({HELP: "import toy_near.unused as u\n"}, UNUSED, ""),
    ({HELP: "if True:\n    from toy_near import unused as u\n"}, UNUSED, ""),
    ({HELP: "from .more import u\n", "toy_pack/more.py": "import toy_near.unused as u\n"}, UNUSED, ""),
    (
        {HELP: "import toy_helper\n", **LIBRARY},
        "toy_helper/__init__.py toy_helper/inner.py toy_helper/w.bin toy_more.py",
        "",
    ),
    ({HELP: "try:\n    import toy_fast\nexcept ImportError:\n    pass\n"}, "toy_fast.py", ""),
    ({HELP: "import openml, json, pubench_core\n"}, "", "openml/__init__.py json/__init__.py pubench_core/__init__.py"),
]


@pytest.fixture
def shared(pack: Path, write: Write) -> None:
    """Three packages of formulas; toy_pack imports one module of toy_near, which imports one of toy_far."""
    for name in OTHERS:
        write(f"{name}/__init__.py", "")
        for module in ("used", "unused"):
            write(f"{name}/{module}.py", "X = 1\n")
    write(HELP, "def shift(x):\n    from toy_near.used import X\n    return x + X\n")
    write("toy_near/used.py", "import toy_far.used\n\nX = toy_far.used.X\n")


@pytest.mark.usefixtures("shared")
@pytest.mark.parametrize(
    ("there", "path", "counts"),
    [(there, path, counts) for there, *both in REACHED for counts in (1, 0) for path in both[1 - counts].split()],
)
def test_an_edit_counts_exactly_if_what_trains_can_reach_it(
    write: Write, there: dict[str, str], path: str, counts: int
) -> None:
    for name, text in there.items():
        write(name, text)
    before = code(others=OTHERS)
    write(path, "X = 2\n")
    assert (code(others=OTHERS) != before) == bool(counts)


@pytest.mark.parametrize(
    "imports",
    [
        "from . import SCALE",
        "from toy_pack import SCALE as s",
        "import toy_pack",
        "import toy_pack.help",
        "def f():\n    from . import *",
        "from . import help, SCALE",
    ],
)
def test_what_describes_counts_if_hashed_code_imports_of_it(pack: Path, write: Write, imports: str) -> None:
    write("toy_pack/__init__.py", "SCALE = 1.0\n\n\n@hookimpl\ndef pubench_methods():\n    return ['a']\n")
    before = code()
    write("toy_pack/help.py", f"{imports}\n\n\ndef shift(x):\n    return x + 1\n")
    reading = code()
    write("toy_pack/__init__.py", "SCALE = -1.0\n\n\n@hookimpl\ndef pubench_methods():\n    return ['a']\n")
    other = code()
    assert len({before, reading, other}) == 3
    write(
        "toy_pack/__init__.py",
        '"""Infos."""\n\nSCALE = -1.0\n\n\n@hookimpl\ndef pubench_methods():\n    return ["b"]\n',
    )
    assert code() == other


def test_an_info_module_inside_the_package_is_left_out_but_not_its_parent(pack: Path, write: Write) -> None:
    write("toy_pack/plugin.py", "KEYS = 1\n")
    before = hash_package("toy_pack", "toy_pack.plugin")
    write("toy_pack/plugin.py", "KEYS = 2\n")
    assert hash_package("toy_pack", "toy_pack.plugin") == before
    write("toy_pack/__init__.py", "X = 2\n")
    assert hash_package("toy_pack", "toy_pack.plugin") != before


def test_the_name_of_a_file_counts(pack: Path) -> None:
    before = code()
    (pack / "help.py").rename(pack / "helper.py")
    assert code() != before


def test_where_the_package_lies_does_not_count(pack: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    before = code()
    (tmp_path / "elsewhere").mkdir()
    pack.rename(tmp_path / "elsewhere" / "toy_pack")
    monkeypatch.syspath_prepend(tmp_path / "elsewhere")
    assert code() == before


def test_a_linked_folder_counts_wherever_it_lies(pack: Path, tmp_path_factory: pytest.TempPathFactory) -> None:
    data = tmp_path_factory.mktemp("elsewhere") / "weights.txt"
    data.write_text("1\n")
    (pack / "parts").symlink_to(data.parent)
    (pack / "loop").symlink_to(pack)
    before = code()
    data.write_text("2\n")
    assert code() != before


def test_what_cannot_be_hashed_is_an_error_that_names_it(pack: Path) -> None:
    os.mkfifo(pack / "pipe")
    with pytest.raises(PluginError, match="pipe is no file and cannot be hashed"):
        code()
    (pack / "pipe").unlink()
    (pack / "help.py").write_bytes(b"X = '\xff'\n")
    with pytest.raises(PluginError, match=r"help\.py cannot be hashed: "):
        code()


def test_a_single_module_is_hashed_alone(write: Write) -> None:
    write("toy_single.py", "X = 1\n")
    write("toy_beside.py", "X = 1\n")
    before = hash_package("toy_single")
    write("toy_beside.py", "X = 2\n")
    assert hash_package("toy_single") == before
    write("toy_single.py", '"""Doc."""\nX = 1  # one\n')
    assert hash_package("toy_single") == before
    write("toy_single.py", "X = 2\n")
    assert hash_package("toy_single") != before


def test_a_file_in_a_declared_encoding_is_read_in_it(write: Write, tmp_path: Path) -> None:
    path = write("toy_single.py", 'X = "é"\n')
    in_utf8 = hash_package("toy_single")
    path.write_bytes('# -*- coding: latin-1 -*-\nX = "é"\n'.encode("latin-1"))
    forget()
    assert hash_package("toy_single") == in_utf8


@pytest.mark.parametrize("name", ["toy_absent", "toy_absent.inner", "sys", "_thread"])
def test_a_module_without_source_is_a_plugin_error(name: str) -> None:
    with pytest.raises(PluginError, match=f"{name} has no source files to hash"):
        hash_package(name)


# ---------------------------------------------------------------- what is kept for the process


def long_ago(*files: Path) -> None:
    """As if nobody had written these files for a while: what is made of them is kept from now on."""
    for file in files:
        os.utime(file, (1_000_000_000, 1_000_000_000))


@pytest.fixture
def read_again(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The names of the files whose tokens are read, in that order."""
    found: list[str] = []
    real = source_code.source_text

    def noting(file: Path) -> str:
        found.append(file.name)
        return real(file)

    monkeypatch.setattr(source_code, "source_text", noting)
    return found


def test_an_edited_file_is_read_again_and_no_other(pack: Path, measures: Path, read_again: list[str]) -> None:
    long_ago(*pack.iterdir(), *measures.parent.glob("*.py"))
    before = code(), metric()
    read_again.clear()
    (pack / "help.py").write_text("def shift(x):\n    return x + 2\n")
    (measures.parent / "ranks.py").write_text("def ranked(x):\n    return -x\n")
    after = code(), metric()
    assert after[0] != before[0]
    assert after[1] != before[1]
    assert set(read_again) == {"help.py", "ranks.py"}


def test_a_second_edit_within_one_tick_of_the_clock_is_seen(pack: Path, measures: Path) -> None:
    now = (pack / "help.py").stat().st_mtime_ns
    found, texts = set(), {pack / "help.py": "def shift(x):\n    return x + {}\n", measures: "def good(v):\n    {}\n"}
    for number in range(3):  # as many bytes each time
        for file, text in texts.items():
            file.write_text(text.format(number))
            os.utime(file, ns=(now, now))
        found |= {code(), metric()}
    assert len(found) == 6


def test_a_file_that_comes_or_goes_is_seen(pack: Path) -> None:
    long_ago(*pack.iterdir())
    before = code()
    (pack / "more.py").write_text("X = 1\n")
    assert code() != before
    (pack / "more.py").unlink()
    assert code() == before


def test_what_is_in_memory_counts_until_it_is_loaded_again(pack: Path, measures: Path) -> None:
    """A notebook that edits a method goes on with the old one until it reloads it, and its records must say so."""
    loaded = [importlib.import_module(name) for name in ("toy_pack.help", "toy_metrics.measures")]
    before = code(), metric()
    (pack / "help.py").write_text("def shift(x):\n    return x + 100\n")
    measures.write_text(MEASURES.replace("LIMIT = 3", "LIMIT = 100"))
    assert (code(), metric()) == before
    for module in loaded:
        importlib.reload(module)
    after = code(), metric()
    assert after[0] != before[0]
    assert after[1] != before[1]


# ---------------------------------------------------------------- metrics

MEASURES = "from .ranks import ranked\n\nLIMIT = 3\n\n\ndef good(view):\n    return min(ranked(view), LIMIT)\n"


@pytest.fixture
def measures(write: Write) -> Path:
    write("toy_metrics/__init__.py", "")
    write("toy_metrics/ranks.py", "def ranked(x):\n    return x\n")
    write("toy_metrics/neighbor.py", "from .ranks import ranked\n\n\ndef other(view):\n    return 7\n")
    return write("toy_metrics/measures.py", MEASURES)


def metric(name: str = "measures") -> str:
    forget()
    return hash_package("toy_metrics", "toy_metrics", module=f"toy_metrics.{name}")


@pytest.mark.parametrize(
    ("path", "text", "counts"),
    [
        ("measures.py", MEASURES.replace("3", "4"), True),
        ("ranks.py", "def ranked(x):\n    return -x\n", True),
        ("costs.csv", "1,2\n", True),
        ("neighbor.py", "def other(view):\n    return 8\n", False),
        ("newcomer.py", "def new(view):\n    return 0\n", False),
        ("__init__.py", "SUMMARY = 'another'\n", False),
    ],
)
def test_a_metric_is_hashed_by_what_it_reaches_and_no_other(
    measures: Path, write: Write, path: str, text: str, counts: bool
) -> None:
    before = metric()
    write(f"toy_metrics/{path}", text)
    assert (metric() != before) == counts


def test_a_metric_that_looks_modules_up_is_hashed_with_all_next_to_it(measures: Path, write: Write) -> None:
    write("toy_metrics/measures.py", "import importlib\n\nimportlib.import_module('toy_metrics.neighbor')\n")
    before = metric()
    write("toy_metrics/neighbor.py", "def other(view):\n    return 8\n")
    assert metric() != before


# ---------------------------------------------------------------- distributions

INFO = """\
from pubench_core import MethodInfo, hookimpl

SIGN = 1.0


def pubench_scale(x):
    return 2.0 * x


@hookimpl
def pubench_methods():
    return [MethodInfo(key="toy", name="Toy", summary="one", load="toy_plugin.method:Toy", follows="3.0")]
"""
#: What a method reads -> (its code, the file that is edited). A number there, 1.0 unless it is said, gets a minus.
READ = {
    "a function there that is called like a hook": ("from . import pubench_scale", "toy_plugin/__init__.py"),
    "a constant there, by import_module": (
        "import importlib\n\nSIGN = importlib.import_module(__package__).SIGN",
        "toy_plugin/__init__.py",
    ),
    "a constant there, by sys.modules": (
        "import sys\n\nSIGN = sys.modules[__package__].SIGN",
        "toy_plugin/__init__.py",
    ),
    "its own description, by the registry": (
        "from pubench_core.plugins.registry import registry\n\n\ndef sign(info):\n    return info.follows",
        "toy_plugin/__init__.py",
    ),
    "another package of its distribution": ("from toy_core.scale import SIGN", "toy_core/scale.py"),
    "a docstring": ("from . import words\n\nSIGN = float(words.__doc__)", "toy_plugin/words.py"),
    "a file next to the package": ("from pathlib import Path\n\nPath(__file__).parents[1] / 'w.txt'", "toy_w.txt"),
}


@pytest.fixture(params=["by an installer", "by hand", "as editable"])
def site(request: pytest.FixtureRequest, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The folder that a distribution of two packages is imported from."""
    site, facts = tmp_path / "site", tmp_path / "site" / "toy_plugin-1.0.dist-info"
    sources = tmp_path / "src" if request.param == "as editable" else site
    files = {
        "toy_plugin/__init__.py": INFO,
        "toy_plugin/words.py": '"""1.0"""\n',
        "toy_core/__init__.py": "",
        "toy_core/scale.py": "SIGN = 1.0\n",
        "toy_w.txt": "1.0\n",
    }
    for path, text in files.items():
        (sources / path).parent.mkdir(parents=True, exist_ok=True)
        (sources / path).write_text(text)
    facts.mkdir(parents=True)
    (facts / "METADATA").write_text("Metadata-Version: 2.1\nName: toy-plugin\nVersion: 1.0\n")
    (facts / "entry_points.txt").write_text("[pubench]\ntoy = toy_plugin\n")
    if request.param == "by an installer":
        (facts / "RECORD").write_text("".join(f"{path},,\n" for path in (*files, "toy_plugin/method.py")))
    if request.param == "as editable":
        (site / "toy.pth").write_text(f"{sources}\n")
        (facts / "RECORD").write_text("toy.pth,,\n")
    for path in {site, sources}:
        monkeypatch.syspath_prepend(path)
    yield sources
    for name in [name for name in sys.modules if name.split(".")[0].startswith("toy_")]:
        del sys.modules[name]


def code_as_installed() -> str:
    forget()
    points = [point for point in entry_points(group="pubench") if point.name == "toy"]
    found = Registry(points)
    code = code_of(found.infos(MethodInfo), found)
    for name in [name for name in sys.modules if name.split(".")[0].startswith("toy_")]:
        del sys.modules[name]
    return code.parts["method toy"]


@pytest.mark.parametrize(("source", "edited"), READ.values(), ids=READ)
def test_every_edit_of_what_a_method_reads_is_noticed(site: Path, source: str, edited: str) -> None:
    (site / "toy_plugin" / "method.py").write_text(f"{source}\n\n\nclass Toy:\n    pass\n")
    before = code_as_installed()
    text = (site / edited).read_text()
    number = "2.0" if "pubench_scale" in source else "3.0" if "follows" in source else "1.0"
    assert text.count(number) == 1
    (site / edited).write_text(text.replace(number, f"-{number}"))
    assert code_as_installed() != before


def test_formulas_that_methods_share_count_by_the_modules_that_are_imported() -> None:
    assert "pubench_formulas" in registry().packages


def test_a_description_that_no_code_reads_does_not_count(site: Path) -> None:
    (site / "toy_plugin" / "method.py").write_text("class Toy:\n    pass\n")
    before = code_as_installed()
    (site / "toy_plugin" / "__init__.py").write_text(INFO.replace("one", "two").replace("1.0", "4.0"))
    (site / "toy_plugin" / "words.py").write_text('"""2.0"""  # two\n')
    assert code_as_installed() == before
