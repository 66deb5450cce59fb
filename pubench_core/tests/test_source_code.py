"""Code is what computes: tokens count, comments, docstrings and layout do not, and a metric is what it refers to."""

from __future__ import annotations

import importlib
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from pubench_core.errors import PluginError
from pubench_core.plugins import source_code
from pubench_core.plugins.source_code import hash_function, hash_package, token_hash, tokens_of

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
    assert token_hash(text) == token_hash(SOURCE)


@pytest.mark.parametrize("text", TELLING.values(), ids=TELLING)
def test_what_computes_changes_the_hash(text: str) -> None:
    assert token_hash(text) != token_hash(SOURCE)


def test_changed_sources_are_all_different_from_each_other() -> None:
    assert len({token_hash(text) for text in TELLING.values()}) == len(TELLING)


def test_the_indentation_of_a_block_counts_where_it_ends_it() -> None:
    inside, outside = "for k in x:\n    a()\n    b()\n", "for k in x:\n    a()\nb()\n"
    assert token_hash(inside) != token_hash(outside)


def test_neighboring_tokens_do_not_run_together() -> None:
    assert token_hash("ab = c\n") != token_hash("a = bc\n")
    assert token_hash("x = 1\ny = 2\n") != token_hash("x = 1; y = 2\n")


@pytest.mark.parametrize("head", ["def f():", "async def f():", "class F:", "def f(a, b=(1,)):"])
def test_a_definition_of_a_docstring_alone_is_one_whatever_it_says(head: str) -> None:
    one, other = (f'{head}\n    """{text}"""\n\nx = 1\n' for text in ("First.", "Second, longer: é."))
    assert token_hash(one) == token_hash(other)
    assert token_hash(one) != token_hash(one.replace("x = 1", "x = 2"))


def test_a_docstring_in_several_pieces_is_left_out_whole() -> None:
    assert token_hash('def f():\n    "a" "b"\n    return 1\n') == token_hash("def f():\n    return 1\n")


def test_an_f_string_is_one_token_as_written_in_every_version_of_python() -> None:
    tokens = list(tokens_of("x = f'{a!r:>{width}} é' f\"{b}\" + 'c'\n"))
    assert tokens == ["x", "=", "f'{a!r:>{width}} é'", 'f"{b}"', "+", "'c'", "NEWLINE"]
    assert list(tokens_of('x = f"""{a}\n  {b}"""\n')) == ["x", "=", 'f"""{a}\n  {b}"""', "NEWLINE"]
    assert list(tokens_of("x = f\"{f'{y}'}\"\n")) == ["x", "=", "f\"{f'{y}'}\"", "NEWLINE"]


def test_a_docstring_behind_characters_of_several_bytes_is_found() -> None:
    """Columns are counted in bytes by the syntax tree and in characters by the tokens."""
    one, other = (f'é = "ü"; x = 1\nclass Größe: "{text}"\ny = 2\n' for text in ("Maß: é", "Gewicht"))
    assert token_hash(one) == token_hash(other)
    assert token_hash(one) != token_hash(one.replace("ü", "u"))


@pytest.mark.parametrize("character", ["\x0c", "\x1c", "\u2028", "\x85"], ids=ascii)
def test_unicode_line_ends_that_python_ignores_end_no_line(character: str) -> None:
    before, after = (
        f'A = "é{character}é"\n\n\ndef f():\n    x = 1\n\n\nclass Größe: """{text}"""\n' for text in ("Maß", "é: 97.2")
    )
    assert token_hash(before) == token_hash(after)


def test_a_form_feed_between_sections_is_layout() -> None:
    assert token_hash("a = 1\n\x0c\nb = 2\n") == token_hash("a = 1\n\nb = 2\n")


def test_text_that_is_no_python_is_hashed_as_it_is() -> None:
    template = "class {{ name }}:\n    # a comment\n"
    assert token_hash(template) == token_hash(template) != token_hash(template.replace("# a comment", "# another"))


# ---------------------------------------------------------------- packages

Write = Callable[[str, str], Path]


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
    write("toy_pack/method.py", "from .help import shift\n\n\ndef fit(x):\n    return shift(x)\n")
    write("toy_pack/help.py", "def shift(x):\n    return x + 1\n")
    write("toy_pack/weights.csv", "1,2,3\n")
    return write("toy_pack/__init__.py", '"""Infos."""\n\nSUMMARY = "s"\n').parent


def code(**options: object) -> str:
    forget()
    return hash_package("toy_pack", "toy_pack", **options)  # type: ignore[arg-type]


def test_the_module_that_only_describes_is_left_out(pack: Path, write: Write) -> None:
    before = code()
    write("toy_pack/__init__.py", 'SUMMARY = "another summary, another preset"\n')
    assert code() == before
    assert hash_package("toy_pack") != before


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
    write("toy_pack/__init__.py", "SCALE = 1.0\n\n\ndef pubench_methods():\n    return ['a']\n")
    before = code()
    write("toy_pack/help.py", f"{imports}\n\n\ndef shift(x):\n    return x + 1\n")
    reading = code()
    write("toy_pack/__init__.py", "SCALE = -1.0\n\n\ndef pubench_methods():\n    return ['a']\n")
    other = code()
    assert len({before, reading, other}) == 3
    write("toy_pack/__init__.py", '"""Infos."""\n\nSCALE = -1.0\n\n\ndef pubench_methods():\n    return ["b"]\n')
    assert code() == other


def test_descriptions_are_left_out_if_only_their_own_package_imports_them(pack: Path, write: Write) -> None:
    write("toy_pack/method.py", "from . import help\nfrom .help import shift\nfrom toy_pack.help import shift as s\n")
    before = code()
    write("toy_pack/__init__.py", "SCALE = -1.0\n")
    assert code() == before


def test_what_another_plugin_describes_counts_if_hashed_code_imports_of_it(pack: Path, write: Write) -> None:
    write("toy_other/__init__.py", "SCALE = 1.0\n")
    write("toy_pack/method.py", "from toy_other import SCALE\n")
    before = code(others=("toy_other",))
    write("toy_other/__init__.py", "SCALE = 2.0\n")
    assert code(others=("toy_other",)) != before


def test_an_info_module_inside_the_package_is_left_out_but_not_its_parent(pack: Path, write: Write) -> None:
    write("toy_pack/plugin.py", "KEYS = 1\n")
    before = hash_package("toy_pack", "toy_pack.plugin")
    write("toy_pack/plugin.py", "KEYS = 2\n")
    assert hash_package("toy_pack", "toy_pack.plugin") == before
    write("toy_pack/__init__.py", "X = 2\n")
    assert hash_package("toy_pack", "toy_pack.plugin") != before


@pytest.mark.parametrize(
    ("path", "text"),
    [
        ("method.py", "from .help import shift\n\n\ndef fit(x):\n    return shift(x) + 1\n"),
        ("help.py", "def shift(x):\n    return x + 2\n"),
        ("weights.csv", "1,2,4\n"),
        ("deep/er.py", "X = 1\n"),
        ("table.json", "{}"),
    ],
)
def test_every_other_file_of_the_package_counts(pack: Path, write: Write, path: str, text: str) -> None:
    before = code()
    write(f"toy_pack/{path}", text)
    assert code() != before


@pytest.mark.parametrize(
    ("path", "text"),
    [
        (
            "method.py",
            '"""Doc."""\nfrom .help import shift\ndef fit(x):\n    "Measured: 97.2."\n    return shift(x)  # x\n',
        ),
        ("README.md", "# Toy\n"),
        ("py.typed", ""),
        ("method.pyi", "def fit(x): ...\n"),
        ("__pycache__/method.cpython-311.pyc", "x"),
        *((hidden, "X = 1\n") for hidden in (".method.py.swp", ".DS_Store", ".ipynb_checkpoints/method-checkpoint.py")),
    ],
)
def test_what_computes_nothing_does_not(pack: Path, write: Write, path: str, text: str) -> None:
    before = code()
    write(f"toy_pack/{path}", text)
    assert code() == before


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


OTHERS = ("toy_near", "toy_far", "toy_stranger")


@pytest.fixture
def shared(pack: Path, write: Write) -> str:
    """Three packages of formulas; toy_pack imports one module of toy_near, which imports one of toy_far. The hash."""
    for name in OTHERS:
        write(f"{name}/__init__.py", "")
        for module in ("used", "unused"):
            write(f"{name}/{module}.py", "X = 1\n")
    write("toy_pack/help.py", "def shift(x):\n    from toy_near.used import X\n    return x + X\n")
    write("toy_near/used.py", "import toy_far.used\n\nX = toy_far.used.X\n")
    return code(others=OTHERS)


@pytest.mark.parametrize("path", ["toy_near/used.py", "toy_far/used.py"])
def test_modules_of_other_plugins_count_if_they_are_imported(shared: str, write: Write, path: str) -> None:
    write(path, "X = 2\n")
    assert code(others=OTHERS) != shared


@pytest.mark.parametrize("path", ["toy_near/unused.py", "toy_far/unused.py", "toy_stranger/used.py", "toy_near/new.py"])
def test_modules_of_other_plugins_that_are_not_imported_do_not_count(shared: str, write: Write, path: str) -> None:
    write(path, "X = 2\n")
    assert code(others=OTHERS) == shared


def test_data_files_of_another_plugin_count_if_a_module_of_it_is_imported(shared: str, write: Write) -> None:
    write("toy_stranger/table.csv", "1,2\n")
    assert code(others=OTHERS) == shared
    write("toy_near/table.csv", "1,2\n")
    assert code(others=OTHERS) != shared


@pytest.mark.parametrize(
    "imports",
    [
        "from toy_near import unused",
        "from toy_near.unused import X",
        "import toy_near.unused",
        "import toy_near.unused as u",
        "if True:\n    from toy_near import unused as u",
        "from .more import u",
    ],
)
def test_every_way_to_import_a_module_of_another_plugin_is_followed(shared: str, write: Write, imports: str) -> None:
    write("toy_pack/more.py", "import toy_near.unused as u\n" if ".more" in imports else "")
    write("toy_pack/help.py", f"{imports}\n\n\ndef shift(x):\n    return x\n")
    before = code(others=OTHERS)
    write("toy_near/unused.py", "X = 2\n")
    assert code(others=OTHERS) != before


def test_packages_above_an_imported_module_count(shared: str, write: Write) -> None:
    write("toy_near/deep/__init__.py", "")
    write("toy_near/deep/er.py", "X = 1\n")
    write("toy_pack/help.py", "from toy_near.deep.er import X\n\n\ndef shift(x):\n    return x + X\n")
    before = code(others=OTHERS)
    write("toy_near/deep/__init__.py", "import toy_near.deep.er as er\n\ner.X = 2\n")
    assert code(others=OTHERS) != before


def test_an_imported_package_that_is_no_plugin_does_not_count(pack: Path, write: Write) -> None:
    write("toy_library/__init__.py", "X = 1\n")
    write("toy_pack/help.py", "import toy_library\n\n\ndef shift(x):\n    return x\n")
    before = code(others=("toy_near",))
    write("toy_library/__init__.py", "X = 2\n")
    assert code(others=("toy_near",)) == before


def test_of_another_plugin_s_package_the_info_module_does_not_count_either(pack: Path, write: Write) -> None:
    """What it holds is a description there too: editing it reruns neither plugin."""
    write("toy_near/__init__.py", 'SUMMARY = "s"\n')
    write("toy_near/formulas.py", "X = 1\n")
    write("toy_pack/help.py", "from toy_near.formulas import X\n\n\ndef shift(x):\n    return x + X\n")
    before = code(others=("toy_near",))
    write("toy_near/__init__.py", 'SUMMARY = "another"\n')
    assert code(others=("toy_near",)) == before


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


def test_files_that_stay_as_they_are_are_read_once(pack: Path, measures: Path, read_again: list[str]) -> None:
    long_ago(*pack.iterdir(), *measures.parent.glob("*.py"))
    first = code(), function()
    assert {"method.py", "help.py", "measures.py", "ranks.py"} <= set(read_again)
    read_again.clear()
    assert (code(), function()) == first
    assert read_again == []


def test_an_edited_file_is_read_again_and_no_other(pack: Path, measures: Path, read_again: list[str]) -> None:
    long_ago(*pack.iterdir(), *measures.parent.glob("*.py"))
    before = code(), function()
    read_again.clear()
    (pack / "help.py").write_text("def shift(x):\n    return x + 2\n")
    (measures.parent / "ranks.py").write_text("def ranked(x):\n    return -x\n")
    after = code(), function()
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
        found |= {code(), function()}
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
    before = code(), function()
    (pack / "help.py").write_text("def shift(x):\n    return x + 100\n")
    measures.write_text(MEASURES.replace("LIMIT = 3", "LIMIT = 100"))
    assert (code(), function()) == before
    for module in loaded:
        importlib.reload(module)
    after = code(), function()
    assert after[0] != before[0]
    assert after[1] != before[1]


# ---------------------------------------------------------------- functions

MEASURES = """\
from .ranks import ranked

LIMIT = 3


def clipped(x):
    return min(x, LIMIT)


def good(view):
    return clipped(ranked(view))


def better(view):
    return good(view) + 1


def neighbor(view):
    return 7
"""


@pytest.fixture
def measures(write: Write) -> Path:
    write("toy_metrics/__init__.py", "")
    write("toy_metrics/ranks.py", "def ranked(x):\n    return inner(x)\n\n\ndef inner(x):\n    return x\n\n\nY = 1\n")
    return write("toy_metrics/measures.py", MEASURES)


def function(name: str = "good") -> str:
    forget()
    return hash_function(f"toy_metrics.measures:{name}")


@pytest.mark.parametrize(
    ("counts", "file", "old", "new"),
    [
        (True, "measures", "clipped(ranked(view))", "clipped(ranked(view) + 1)"),
        (True, "measures", "min(x, LIMIT)", "max(x, LIMIT)"),
        (True, "measures", "LIMIT = 3", "LIMIT = 4"),
        (True, "measures", "def good(view)", "def good(view, power=2)"),
        (True, "measures", "def good", "@staticmethod\ndef good"),
        (True, "ranks", "return inner(x)", "return -inner(x)"),
        (True, "ranks", "    return x\n", "    return 2 * x\n"),
        (False, "measures", "return 7", "return 8"),
        (False, "measures", "good(view) + 1", "good(view) + 2"),
        (False, "measures", "def neighbor", "def newcomer(view):\n    return 0\n\n\ndef neighbor"),
        (False, "measures", "    return clipped", '    """Doc."""\n    # so it is\n    return clipped'),
        (False, "ranks", "Y = 1", "Y = 2"),
    ],
)
def test_a_function_is_hashed_with_what_it_refers_to_and_not_with_its_neighbors(
    measures: Path, write: Write, counts: bool, file: str, old: str, new: str
) -> None:
    before, path = function(), measures.with_name(f"{file}.py")
    assert old in path.read_text()
    write(f"toy_metrics/{file}.py", path.read_text().replace(old, new, 1))
    assert (function() != before) == counts


def test_whoever_uses_it_changes_with_it(measures: Path, write: Write) -> None:
    before = function("better"), function("neighbor")
    write("toy_metrics/measures.py", MEASURES.replace("clipped(ranked(view))", "ranked(view)"))
    assert function("better") != before[0]
    assert function("neighbor") == before[1]


@pytest.mark.parametrize(
    ("use", "helper"),
    [
        ("from .helpers import g\n\n\ndef good(view):\n    return g()\n", "def g():\n    return {}\n"),
        ("from . import helpers\n\n\ndef good(view):\n    return helpers.g()\n", "def g():\n    return {}\n"),
        ("from . import helpers as h\n\n\ndef good(view):\n    return h.g()\n", "def g():\n    return {}\n"),
        ("from toy_metrics import helpers\n\n\ndef good(v):\n    return helpers.g()\n", "def g():\n    return {}\n"),
        ("def good(view):\n    from .helpers import g\n    return g()\n", "def g():\n    return {}\n"),
        (
            "from .helpers import K\n\n\ndef good(view):\n    return K().g()\n",
            "class K:\n    def g(self):\n        {}\n",
        ),
        ("from .helpers import T\n\n\ndef good(view):\n    return T[0]\n", "T = (lambda: 1, {})\n"),
        ("from .helpers import g\n\ngood = g\n", "def g(view):\n    return {}\n"),
        ("import toy_metrics.helpers as h\n\n\ndef good(view):\n    return h.g()\n", "def g():\n    return {}\n"),
        (
            "import toy_metrics.helpers\n\n\ndef good(v):\n    return toy_metrics.helpers.g()\n",
            "def g():\n    return {}\n",
        ),
        ("from .helpers import good\n", "def good(view):\n    return {}\n"),
        ("from .between import g\n\n\ndef good(view):\n    return g()\n", "def g():\n    return {}\n"),
        (
            "from .helpers import g\n\n\ndef good(view):\n    return g()\n",
            "if True:\n    def g():\n        return {}\n",
        ),
        ("from .helpers import T\n\n\ndef good(view):\n    return T[0]\n", "T = {{}}\nT[0] = {}\n"),
    ],
    ids=[
        *("function", "module", "module as", "absolute", "in a function", "class", "value", "alias"),
        *("import as", "import", "the function itself is imported", "imported twice", "in an if", "set later"),
    ],
)
def test_a_helper_is_found_on_every_way_that_python_knows(measures: Path, write: Write, use: str, helper: str) -> None:
    write("toy_metrics/between.py", "from .helpers import g\n")
    write("toy_metrics/measures.py", use)
    write("toy_metrics/helpers.py", helper.format(1))
    before = function()
    write("toy_metrics/helpers.py", helper.format(2))
    assert function() != before


def test_two_functions_that_call_each_other_have_a_hash(measures: Path, write: Write) -> None:
    write("toy_metrics/measures.py", "def good(x):\n    return bad(x)\n\n\ndef bad(x):\n    return good(x)\n")
    assert function("good") != function("bad")


@pytest.mark.parametrize("load", ["toy_absent:good", "toy_metrics.measures:absent", "sys:exit", "_struct:pack"])
def test_a_function_without_source_is_a_plugin_error(measures: Path, load: str) -> None:
    with pytest.raises(PluginError):
        hash_function(load)
