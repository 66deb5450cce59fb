"""The templates: where they are, which there are, and the files that one of them makes.

``templates/README.md`` says how a template is written. A wheel has them in the package, the repository at its top.
"""

from __future__ import annotations

import re
import string
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from pubench_core.errors import PluginError, RequestError

#: A file whose name ends so is filled in; others are copied.
SUFFIX = ".tmpl"
#: A folder of this name in a template becomes the package.
PACKAGE = "PACKAGE"
#: What a package outside of a checkout has in its pyproject.toml besides what every package has.
ALONE = "alone.toml.tmpl"


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


def folder() -> Path:
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
    root = folder()
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
    if len(of_kind) == 1:
        raise RequestError(f"--template and --family are for a method; a {kind} has one template, leave them out")
    of_template = ", ".join(sorted(each.family for each in of_kind if each.template == template))
    of_family = ", ".join(sorted(each.template for each in of_kind if each.family == family))
    raise RequestError(
        f"there is no template '{template}' of the family '{family}'; --template {template} has the families "
        f"{of_template}, --family {family} has the templates {of_family}"
    )
