"""mkdocs hook: the pages of a run's and a record's fields, made from the models that read and write them."""

from __future__ import annotations

import json
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any, Union, get_args, get_origin

from page_parts import add_pages, markdown_of, render, table
from pubench_study.plan import FrozenPlan
from pubench_study.spec import StudySpec
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from pubench_core.results import RECORD_VERSION, Environment, Failure, Result
from pubench_core.specs import RunSpec
from pubench_core.specs.config import TrainingConfig
from pubench_core.specs.fields import about

if TYPE_CHECKING:
    from mkdocs.config.defaults import MkDocsConfig
    from mkdocs.structure.files import Files

SCHEMA = Path(__file__).parent / "pages" / "result.schema.json"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
#: Page -> the models on it; then follow those that their fields hold.
PAGES: dict[str, tuple[type[BaseModel], ...]] = {
    "record": (Result, Failure, Environment),
    "run": (RunSpec, TrainingConfig),
    "study": (StudySpec, FrozenPlan),
}


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Adds ``record-fields.md``, ``run-fields.md`` and ``study-fields.md``."""
    add_pages(files, config, {f"{name}-fields.md": page(name) for name in PAGES})
    return files


def schema() -> str:
    """The JSON Schema of ``result.json``: ``python docs/record_pages.py`` writes it."""
    return json.dumps({"$schema": DIALECT, **Result.model_json_schema()}, indent=1, sort_keys=True) + "\n"


def page(name: str) -> str:
    """Every model of a page with its fields, the inner ones after the one that holds them."""
    found = [*models(RunSpec), TrainingConfig] if name == "run" else models(*PAGES[name])
    return render(f"{name}-fields.md", version=RECORD_VERSION, models="\n".join(map(_section, found)))


def models(*outer: type[BaseModel]) -> list[type[BaseModel]]:
    """The models and all that their fields hold, each once, as far as they belong to the outer ones' package."""
    found: list[type[BaseModel]] = []
    packages = tuple(".".join(model.__module__.split(".")[:2]) for model in outer)
    for model in outer:
        if model in found:
            continue
        found.append(model)
        for field in model.model_fields.values():
            inner = [each for each in _inner(field.annotation) if each.__module__.startswith(packages)]
            found += [each for each in models(*inner) if each not in found]
    return found


def _inner(annotation: Any) -> list[type[BaseModel]]:
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return [annotation]
    return [model for argument in get_args(annotation) for model in _inner(argument)]


def _section(model: type[BaseModel]) -> str:
    said = " ".join(markdown_of((model.__doc__ or "").split("\n\n")[0]).split())
    rows = [
        (f"`{name}`", _words(field.annotation), _default(field, model), _meaning(field))
        for name, field in model.model_fields.items()
    ]
    return f"## {model.__name__}\n\n{said}\n\n{table(('field', 'type', 'default', 'meaning'), rows)}\n"


def _meaning(field: FieldInfo) -> str:
    return (field.description or "") + ("" if about(field, "identifies", True) else " (*not in the id*)")


def _default(field: FieldInfo, model: type[BaseModel]) -> str:
    if field.is_required():
        return {"run": "resolved", "study": "to be given", "record": "always there"}[_page_of(model)]
    value = field.get_default(call_default_factory=True)
    if isinstance(value, BaseModel):
        return "its defaults"
    return "none" if value in (None, "", (), {}) else f"`{value}`"


def _page_of(model: type[BaseModel]) -> str:
    """Which of the pages has a model."""
    if model.__module__.startswith("pubench_core.specs"):
        return "run"
    return "study" if model.__module__.startswith("pubench_study") else "record"


def _words(annotation: Any) -> str:
    """A type in words: ``list of number``, ``mapping of text to Measure``."""
    origin, arguments = get_origin(annotation), get_args(annotation)
    if origin in (Union, types.UnionType):
        return " or ".join(_words(a) for a in arguments if a is not type(None))
    if origin is tuple:
        return f"list of {_words(arguments[0])}"
    if origin is dict:
        return f"mapping of {_words(arguments[0])} to {_words(arguments[1])}"
    if arguments:
        return ", ".join(str(value) for value in arguments)
    if annotation is Any:
        return "anything"
    plain = {int: "whole number", float: "number", str: "text", bool: "true or false"}
    if annotation in plain:
        return plain[annotation]
    name = annotation.__name__
    if not issubclass(annotation, BaseModel):
        return f"`{name}`"
    return f"[{name}]({_page_of(annotation)}-fields.md#{name.lower()})"


if __name__ == "__main__":
    SCHEMA.write_text(schema(), encoding="utf-8")
