"""``pubench new``: a package from a template, and the three commands to type next.

Everything is checked and rendered, then written, all or nothing. ``templates/README.md`` says how a template is
written; a wheel has them in the package, the repository at its top.
"""

from __future__ import annotations

import importlib.util
import keyword
import os
import re
import shlex
import shutil
import string
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from importlib.metadata import distributions, requires, version
from pathlib import Path, PurePosixPath

import typer

from pubench_core.errors import PluginError, RequestError, unknown
from pubench_core.plugins.info import MethodInfo
from pubench_core.plugins.registry import GROUP, TOOLS_GROUP, registry, tools

#: A file whose name ends so is filled in; others are copied.
SUFFIX = ".tmpl"
#: A folder of this name in a template becomes the package.
PACKAGE = "PACKAGE"
#: What a package outside of a checkout has in its pyproject.toml besides what every package has.
ALONE = "alone.toml.tmpl"
#: Longest key: the lines that hold it stay below 120 characters.
LONGEST = 40
#: Kind -> two commands that use a new plugin of it.
TRIALS = {
    "method": ("run --method {key} --data digits", "check {key}"),
    "dataset": ("run --method {some} --data {key} --c 0.5", "info {key}"),
    "mechanism": ("run --method {some} --data digits --mech {key}", "info {key}"),
    "metric": ("run --method {some} --data digits --select {key}", "info {key}"),
    "sink": ("run --method {some} --data digits --sinks {key}", "track --to {key}"),
    "command": ("run --method {some} --data digits", "{key}"),
}
#: Of a checkout: what writes the lists of packages.
_SCRIPT = Path(".ci", "metadata.py")
#: What a package outside a checkout is installed with; in front of it uv, where uv made the environment.
_WITH_TESTS = 'pip install -e ".[test]"    # uv pip install ..., where uv made the environment'


def create(
    kind: str, key: str, *, path: Path | None, in_repo: bool, template: str | None = None, family: str | None = None
) -> None:
    """Writes a new package and prints the three commands that come next.

    Raises RequestError for a key, a folder or a template that cannot be, with nothing written.
    """
    if in_repo and path is not None:
        raise RequestError("--in-repo and --path both say where the package goes; give one of them")
    refuse_unusable(key, is_command=kind == "command")
    chosen = find(kind, template, family)
    names = Names.of(key, taken=chosen.words())
    root = _checkout_around(Path.cwd()) if in_repo else None
    folder = Path("plugins", "tools" if kind == "command" else f"{kind}s", key)
    target = Path.cwd() / (path or "") / key if root is None else root / folder
    if root is not None:
        _refuse_taken(root, names)
    files = chosen.render(_values(names, chosen, None if root is None else folder))
    with ExitStack() as stack:
        stack.enter_context(_written(target, files))
        if root is not None:
            stack.enter_context(_entered(root))
    typer.echo(f"created {target}: {len(files)} files, of which README.md says what to replace; next:")
    there = [] if root in (None, Path.cwd()) else ["-C", str(root)]
    typer.echo(install(target) if root is None else shlex.join(["make", *there, "setup"]))
    for words in _trials(kind, key):
        typer.echo(_pubench(words, root))


# -------------------------------------------------------------------- templates


@dataclass(frozen=True)
class Template:
    """A kind of plugin, or one way to write it."""

    kind: str
    template: str
    """What ``--template`` calls it; empty for a kind with one template."""
    family: str
    """What ``--family`` calls it."""
    folders: tuple[Path, ...]
    """Folders of its files; a later one's replace an earlier one's."""
    dependencies: tuple[str, ...]
    """Of the package, besides pubench-core."""

    def files(self) -> dict[PurePosixPath, Path]:
        """Path in the new package (``PACKAGE`` for its name) -> the file that it is made from."""
        found: dict[PurePosixPath, Path] = {}
        for folder in self.folders:
            for file in sorted(folder.rglob("*")):
                path = PurePosixPath(file.relative_to(folder).as_posix())
                if file.is_file() and str(path) != "template.toml" and "__pycache__" not in path.parts:
                    found[path.with_name(path.name.removesuffix(SUFFIX))] = file
        return found

    def words(self) -> frozenset[str]:
        """Every word in the Python files: names that have a meaning there."""
        texts = (file.read_text(encoding="utf-8") for path, file in self.files().items() if path.suffix == ".py")
        return frozenset(word for text in texts for word in re.findall(r"[^\W\d]\w*", text))

    def render(self, values: Mapping[str, str]) -> dict[PurePosixPath, bytes]:
        """Path in the new package -> content."""
        made: dict[PurePosixPath, bytes] = {}
        for path, file in self.files().items():
            target = PurePosixPath(*(values["package"] if part == PACKAGE else part for part in path.parts))
            made[target] = filled(file, values).encode() if file.name.endswith(SUFFIX) else file.read_bytes()
        return made


def filled(file: Path, values: Mapping[str, str]) -> str:
    """The text of a file with values for names. Raises PluginError if it uses a name that has none."""
    try:
        return string.Template(file.read_text(encoding="utf-8")).substitute(values)
    except (KeyError, ValueError) as error:
        raise PluginError(f"template {file}: {error} has no value; a dollar sign is written $$") from error


def folder_of_templates() -> Path:
    """The folder of all templates."""
    package = Path(__file__).parent
    places = (package / "templates", package.parents[4] / "templates")
    for place in places:
        if (place / ALONE).is_file():
            return place
    raise PluginError(f"no templates in {' or '.join(map(str, places))}; reinstall pubench-testkit")


def templates() -> list[Template]:
    """Every template, the default of its kind, its ``template`` or its ``family`` before others of the same."""
    found: list[tuple[bool, Template]] = []
    root = folder_of_templates()
    for description in sorted(root.glob("*/template.toml")):
        facts = tomllib.loads(description.read_text(encoding="utf-8"))
        folders = (*(root / part for part in facts["parts"]), description.parent)
        names = facts["kind"], facts.get("template", ""), facts.get("family", "")
        found.append((not facts.get("default", False), Template(*names, folders, tuple(facts["dependencies"]))))
    return [made for _, made in sorted(found, key=lambda pair: (pair[0], pair[1].template, pair[1].family))]


def find(kind: str, template: str | None = None, family: str | None = None) -> Template:
    """The template of a kind that is meant. Raises RequestError if there is none of this template and family."""
    of_kind = [each for each in templates() if each.kind == kind]
    for each in of_kind:
        if template in (None, each.template) and family in (None, each.family):
            return each
    if not of_kind:
        raise unknown("kind", kind, {each.kind for each in templates()})
    if len(of_kind) == 1:
        raise RequestError(f"--template and --family are for a method; a {kind} has one template, leave them out")
    for word, given in (("template", template), ("family", family)):
        if given not in (None, *(known := {getattr(each, word) for each in of_kind})):
            raise unknown(word, str(given), known)
    families = ", ".join(sorted(each.family for each in of_kind if each.template == template))
    raise RequestError(f"template '{template}' has no family '{family}'; expected one of {families}")


# -------------------------------------------------------------------- names


@dataclass(frozen=True)
class Names:
    """The names of a new package, all made from its key."""

    key: str
    name: str
    """My Method"""
    package: str
    """pubench_my_method"""
    distribution: str
    """pubench-my-method"""
    class_name: str
    """MyMethod"""

    @classmethod
    def of(cls, key: str, taken: frozenset[str] = frozenset()) -> Names:
        """``taken``: words that no class can be called, because the template means something else by them."""
        words = [word.capitalize() for word in key.split("-")]
        class_name = "".join(words)
        if class_name in taken or not class_name.isidentifier() or len(class_name) == 1:  # I and O look like numbers
            class_name = f"PU{class_name}"
        return cls(key, " ".join(words), f"pubench_{key.replace('-', '_')}", f"pubench-{key}", class_name)


def refuse_unusable(key: str, *, is_command: bool = False) -> None:
    """Raises RequestError for a key that no new plugin of this environment can have.

    Only a command must not be called like a command.
    """
    another = f"; choose another key, such as 'my-{key}'"
    if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", key):
        near = re.sub(r"[^a-z0-9]+", "-", key.lower()).strip("-")
        remedy = f", such as '{near}'" if near else ""
        raise RequestError(
            f"'{key}' is not a valid key; expected lower-case letters and digits, words joined by hyphens{remedy}"
        )
    if len(key) > LONGEST:
        raise RequestError(f"key '{key}' has {len(key)} characters; expected at most {LONGEST}; choose a shorter one")
    if keyword.iskeyword(key) or keyword.iskeyword(key.capitalize()):
        raise RequestError(f"'{key}' is a keyword of Python{another}")
    for entry in (tools() if is_command else registry()).named(key):
        what = f"{entry.kind} '{entry.key}'" if entry.kind else f"plugin '{entry.key}'"
        raise RequestError(f"'{key}' is taken by the {what} of {entry.distribution} {entry.version}{another}")
    names = Names.of(key)
    if importlib.util.find_spec(names.package) is not None:
        raise RequestError(f"package {names.package} would shadow the module of this name that is installed{another}")
    if any(distributions(name=names.distribution)):
        raise RequestError(f"a distribution {names.distribution} is installed already{another}")


def _values(names: Names, chosen: Template, folder: Path | None) -> dict[str, str]:
    """What stands for each name in a template. ``folder``: of the package in a checkout."""
    major, minor = version("pubench-core").split(".")[:2]
    bounds = f">={major}.{minor},<{int(major) + 1}"
    of_core = {re.split(r"[^\w-]", each)[0]: each.split(";")[0].strip() for each in requires("pubench-core") or ()}
    ours = {name: name + bounds for name in chosen.dependencies if name.startswith("pubench-")}
    others = ((of_core | ours).get(name, name) for name in chosen.dependencies)  # with core's bounds
    core = "pubench-core[train]" if "torch" in chosen.dependencies else "pubench-core"
    kinds = {"dataset": "data set", "mechanism": "labeling mechanism"}
    return {
        **vars(names),
        "kind": kinds.get(chosen.kind, chosen.kind),
        "template": chosen.template,
        "family": chosen.family,
        "dependencies": ", ".join(f'"{each}"' for each in (core + bounds, *others)),
        "group": f'"{TOOLS_GROUP}"' if chosen.kind == "command" else GROUP,
        "testkit": f"pubench-testkit[test]{bounds}",
        "tools": filled(folder_of_templates() / ALONE, vars(names)) if folder is None else "",
        "install": _WITH_TESTS if folder is None else "make setup",
        "test": "pytest" if folder is None else f"pytest {folder.as_posix()}",
    }


# -------------------------------------------------------------------- a checkout of pubench


def _checkout_around(place: Path) -> Path:
    """The top folder of the checkout that a folder is in. Raises RequestError if it is in none."""
    for above in (place, *place.parents):
        if (above / _SCRIPT).is_file() and (above / "plugins").is_dir() and (above / "pubench_core").is_dir():
            return above
    raise RequestError(
        f"--in-repo: {place} is not in a checkout of pubench; change into one, or leave --in-repo out and name a "
        "folder with --path"
    )


def _refuse_taken(root: Path, names: Names) -> None:
    """Raises RequestError if a package of the checkout, installed or not, has one of these names."""
    for manifest in (*root.glob("pubench_*/pyproject.toml"), *root.glob("plugins/*/*/pyproject.toml")):
        where = manifest.parent
        if tomllib.loads(manifest.read_text(encoding="utf-8")).get("project", {}).get("name") == names.distribution:
            raise RequestError(f"{where} is called {names.distribution} already; choose another key")
        if (where / "src" / names.package).exists():
            raise RequestError(f"{where} has a package {names.package} already; choose another key")


@contextmanager
def _entered(root: Path) -> Iterator[None]:
    """After the block, the lists of the root are those of the folders; as before it, if that fails."""
    manifest = root / "pyproject.toml"
    before = manifest.read_bytes()
    try:
        yield
        done = subprocess.run([sys.executable, str(_SCRIPT)], cwd=root, capture_output=True, text=True, check=False)
        if done.returncode:
            said = (done.stderr or done.stdout).strip().splitlines() or ["no reason given"]
            raise PluginError(f"{_SCRIPT} of {root} failed: {said[-1]}; nothing was written")
    except BaseException:
        if manifest.read_bytes() != before:
            manifest.write_bytes(before)
        raise


@contextmanager
def _written(target: Path, files: Mapping[PurePosixPath, bytes]) -> Iterator[None]:
    """Inside the block, the new folder ``target`` holds the files; whatever the block raises, it is gone again.

    Missing folders above it are made, and removed again likewise. Raises RequestError if the folder exists or cannot be
    written.
    """
    if os.path.lexists(target):
        raise RequestError(f"{target} exists already; choose another key or another folder")
    # Next to the target, so that the last step is a rename within one file system.
    aside = target.with_name(f".{target.name}.{os.getpid()}")
    above: list[Path] = []
    try:
        try:
            for place in reversed([place for place in target.parents if not place.exists()]):
                place.mkdir()
                above.append(place)
            aside.mkdir()
            for path, content in files.items():
                file = aside / path
                file.parent.mkdir(parents=True, exist_ok=True)
                file.write_bytes(content)
            aside.rename(target)
        except OSError as error:
            reason = (error.strerror or type(error).__name__).lower()
            raise RequestError(f"{target} cannot be written: {reason}; choose another folder") from error
        yield
    except BaseException:  # an interrupt too: nothing half-made stays
        for folder in (aside, target):
            shutil.rmtree(folder, ignore_errors=True)
        for place in reversed(above):
            place.rmdir()
        raise


# -------------------------------------------------------------------- commands that work as they are printed


def install(folder: Path) -> str:
    """The command that installs a package so that its source is what is run."""
    target = _shown(folder)
    has_pip = importlib.util.find_spec("pip") is not None
    if shutil.which("uv") and (sys.prefix != sys.base_prefix or not has_pip):
        # uv looks for the environment by itself, and need not find this one.
        here = os.environ.get("VIRTUAL_ENV")
        found = here is not None and Path(here).resolve() == Path(sys.prefix).resolve()
        return shlex.join(["uv", "pip", "install", *([] if found else ["--python", sys.executable]), "-e", target])
    executable = Path(sys.executable)
    python = next((name for name in ("python", "python3") if _is_found(executable.with_name(name))), str(executable))
    with_pip = shlex.join([python, "-m", "pip", "install", "-e", target])
    return with_pip if has_pip else f"{shlex.join([python, '-m', 'ensurepip'])} && {with_pip}"


def _pubench(words: list[str], root: Path | None) -> str:
    """A command of pubench, by the path of the script if its name alone would find none or another.

    In a checkout it is the one in the environment that ``make setup`` fills.
    """
    script = root / ".venv" / "bin" / "pubench" if root else Path(sys.executable).with_name("pubench")
    return shlex.join(["pubench" if _is_found(script) else _shown(script), *words])


def _trials(kind: str, key: str) -> list[list[str]]:
    """The words of two commands that use the new plugin."""
    methods = [info.key for info in registry().infos(MethodInfo) if "truth" not in info.needs]
    some = methods[0] if methods and "nnpu" not in methods else "nnpu"
    return [text.format(key=key, some=some).split() for text in TRIALS[kind]]


def _is_found(file: Path) -> bool:
    """Whether the name of a file alone runs it."""
    found = shutil.which(file.name)
    # Not resolved: the Python of a virtual environment is a link to another one.
    return found is not None and file.exists() and Path(found).parent.resolve() == file.parent.resolve()


def _shown(path: Path) -> str:
    """Below the current folder as ``./name``, elsewhere in full."""
    here = Path.cwd()
    return f"./{path.relative_to(here)}" if path.is_relative_to(here) and path != here else str(path)
